"""Rows to show beside the rows of an answer."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from adminview.model.attribute import PK, SK
from adminview.model.index import Index
from adminview.model.limits import PARTITION_LIMIT, SORT_LIMIT
from adminview.model.row import RESERVED, RowKey
from adminview.model.template import Template, parameters, render
from adminview.model.template import problems as template_problems


@dataclass(frozen=True, slots=True)
class Join:
    """Another row for each row of an answer: all of them are read together, each once.

    Templates are filled from the key attributes of the answer's rows:
    ``Join("profile", partition="{GSI2_SK}", sort="PROFILE")``. They escape as those of an access
    pattern do: ``{GSI2_SK}`` alone is a key already, and ``USER#{customerId}`` holds a plain value.
    """

    name: str
    partition: Template
    sort: Template

    def key(self, row: Mapping[str, Any]) -> RowKey | None:
        """Find the row to show beside *row*; None if that does not say."""
        values = {name: value["S"] for name, value in row.items() if "S" in value}
        if not values.keys() >= self._names():
            return None
        pk, sk = render(self.partition, values), render(self.sort, values)
        possible = len(pk.encode()) <= PARTITION_LIMIT and len(sk.encode()) <= SORT_LIMIT
        return (pk, sk) if possible else None

    def problems(self, index: Index | None) -> Iterator[str]:
        """Find what the answer's rows could not fill in."""
        unreadable = [
            *template_problems(PK, self.partition),
            *template_problems(SK, self.sort),
        ]
        if unreadable:
            yield f"join {self.name!r}: {unreadable[0]}"
            return
        texts = {key.name for key in (index.key if index else ()) if key.type == "S"}
        texts |= {PK.name, SK.name}
        for name in sorted(self._names() - texts):
            yield (
                f"join {self.name!r} needs {name!r}, which is no key attribute of text; "
                f"those are {', '.join(sorted(texts))}"
            )
        if not self.name.isidentifier():
            yield f"join {self.name!r}: its name is a word"
        if self.name in RESERVED | texts | {key.name for key in (index.key if index else ())}:
            yield f"join {self.name!r}: a row has that already; choose another name"

    def shape(self) -> list[str]:
        """Describe the join as plain data."""
        return [self.name, self.partition, self.sort]

    def _names(self) -> set[str]:
        return {*parameters(self.partition), *parameters(self.sort)}
