"""What is deployed, as far as a plan has to know it. Plain facts: who reads them is elsewhere."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

from adminview.aws.table_description import TableIndex
from adminview.cli.model_lock.model_diff import Description, Shape

PendingPatterns: TypeAlias = Mapping[str, str | None]  # by question, as the API takes it


@dataclass(frozen=True, slots=True)
class Marker:
    """Which model's backfill has gone through a source, and the digest of the code it ran."""

    model: str
    code: str  # "" once other code may have written rows of the source


@dataclass(frozen=True, slots=True)
class RowCounts:
    """Rows of the view that were looked at, by source and by the model that wrote them."""

    counts: Mapping[tuple[str, str], int] = field(default_factory=dict)

    def sources(self) -> set[str]:
        """List the sources that rows name."""
        return {source for source, _ in self.counts}

    def older(self, source: str, model: str) -> int:
        """Count the rows of a source that another model wrote."""
        return sum(
            count for (one, by), count in self.counts.items() if one == source and by != model
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployed:
    """A deployment. None is for a part that is not there."""

    sync: Description | None = None  # the model behind the sync function
    recovery: str | None = None  # the fingerprint behind the functions that repair
    api: Description | None = None  # the model behind the API
    pending: PendingPatterns = field(default_factory=dict)
    watch: str | None = None  # what the alarms look at
    indexes: tuple[TableIndex, ...] | None = None  # of the view's table
    tables: frozenset[str] = frozenset()  # sources whose tables are in the Sources stack
    imported: frozenset[str] = frozenset()  # sources whose tables are somebody else's
    markers: Mapping[str, Marker] = field(default_factory=dict)
    # By source: the attributes that rows may have which nobody derives any more; None if it was
    # swept since.
    sweeps: Mapping[str, frozenset[str] | None] = field(default_factory=dict)
    rows: RowCounts = field(default_factory=RowCounts)
    code_at: float | None = None  # when older code of functions that write was replaced
    busy_until: float = 0.0  # so long a bulk worker of another model may be at work
    api_at: float | None = None  # when older code of the API was replaced

    def index(self, name: str | None) -> TableIndex | None:
        """Find an index of the table."""
        return next((one for one in self.indexes or () if one.name == name), None)

    def live(self) -> Iterator[tuple[str, Shape, str | None]]:
        """List the questions that the API answers now: name, shape, and the index that it asks."""
        for shape in self.api["patterns"] if self.api else ():
            name = shape["name"]
            fallback_index = self.pending.get(name)
            asked = fallback_index or shape["index"]
            lost = asked and self.indexes is not None and not self.index(asked)
            if (name not in self.pending or fallback_index) and not lost:
                yield name, shape, asked


@dataclass(frozen=True)
class Declared:
    """The model of the view files here, as a plan looks at it."""

    model: Description

    @property
    def fingerprint(self) -> str:
        """Identify it."""
        return str(self.model["fingerprint"])

    @property
    def code(self) -> dict[str, str]:
        """The digest of the code of each source."""
        code: dict[str, str] = self.model["code"]
        return code

    @property
    def sources(self) -> list[str]:
        """Name the sources."""
        return [shape["name"] for shape in self.model["sources"]]

    @cached_property
    def indexes(self) -> dict[str, TableIndex]:
        """The indexes, as DynamoDB is to have them."""
        return {shape["name"]: TableIndex.of(shape) for shape in self.model["indexes"]}

    @property
    def questions(self) -> list[Shape]:
        """The questions."""
        return list(self.model["patterns"])

    def unbuilt(self, deployed: Deployed) -> list[str]:
        """List the sources whose rows may be others than this model derives."""
        return [name for name in self.sources if not self._is_built(name, deployed)]

    def _is_built(self, source: str, deployed: Deployed) -> bool:
        marker, sync = deployed.markers.get(source), deployed.sync
        if marker is None or marker.code != self.code[source]:
            return False
        # Somebody may have deployed other code since, and that writes other rows.
        return sync is None or sync["code"].get(source) == marker.code


def shards_of(shape: Mapping[str, Any]) -> tuple[int, int]:
    """Say into how many shards an index is written, and how many a question asks."""
    now, before = shape.get("shards", (1, 0))
    return now, max(now, before)
