"""Waves: how a `cdk deploy` in the middle of a plan differs from the declared model."""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from adminview.aws.table_description import TableIndex
from adminview.cli.deployment.facts import PendingPatterns


@dataclass(frozen=True, slots=True)
class Phase:
    """What is still there, what is not there yet, and what is not to be answered yet."""

    keep: tuple[TableIndex, ...] = ()  # indexes that are no longer declared
    without: tuple[str, ...] = ()  # declared indexes
    pending: PendingPatterns = field(default_factory=dict)

    def data(self) -> dict[str, Any]:
        """Write it as the CDK app reads it."""
        return {
            "keep": [index.shape() for index in self.keep],
            "without": list(self.without),
            "pending": dict(self.pending),
        }

    def indexes(self, declared: Mapping[str, TableIndex]) -> dict[str, TableIndex]:
        """List the indexes that the table has after a deployment with it."""
        there = {name: index for name, index in declared.items() if name not in self.without}
        return there | {index.name: index for index in self.keep}

    @contextmanager
    def file(self) -> Iterator[Path]:
        """Write it into a file for as long as a deployment takes."""
        with TemporaryDirectory(prefix="adminview-") as folder:
            path = Path(folder, "wave.json")
            path.write_text(json.dumps(self.data(), indent=2), encoding="utf-8")
            yield path


def phase_of(
    table: Iterable[TableIndex], declared: Mapping[str, TableIndex], pending: PendingPatterns
) -> Phase:
    """Describe how a table differs from what is declared."""
    there = {index.name: index for index in table if index.ours}
    return Phase(
        tuple(index for name, index in there.items() if name not in declared),
        tuple(name for name, index in declared.items() if name not in there and not index.local),
        pending,
    )
