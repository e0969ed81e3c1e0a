"""Joins: related rows that a query returns with each of its rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adminview.model.attribute import PK, SK, Attribute
from adminview.model.limits import PARTITION_LIMIT, SORT_LIMIT
from adminview.model.row import RESERVED, RowKey
from adminview.model.template import Template, parameters, render
from adminview.model.template import problems as template_problems


@dataclass(frozen=True, slots=True)
class Join:
    """A related row for each row of a query result. Each related row is read once.

    Templates are filled from the key attributes of the result's rows:
    ``Join("profile", partition="{GSI2_SK}", sort="PROFILE")``. They escape values as an access
    pattern does: ``{GSI2_SK}`` alone is a whole key, ``USER#{customerId}`` escapes its value.
    """

    name: str
    partition: Template
    sort: Template

    def key(self, row: Mapping[str, Any]) -> RowKey | None:
        """Return the key of the row related to *row*; None if *row* lacks an attribute for it."""
        values = {name: value["S"] for name, value in row.items() if "S" in value}
        if not values.keys() >= self._names():
            return None
        pk, sk = render(self.partition, values), render(self.sort, values)
        possible = len(pk.encode()) <= PARTITION_LIMIT and len(sk.encode()) <= SORT_LIMIT
        return (pk, sk) if possible else None

    def problems(self, keys: Sequence[Attribute]) -> Iterator[str]:
        """Yield what is wrong with the join, if rows have *keys* besides PK and SK."""
        unreadable = [
            *template_problems(PK, self.partition),
            *template_problems(SK, self.sort),
        ]
        if unreadable:
            yield f"join {self.name!r}: {unreadable[0]}"
            return
        texts = {key.name for key in keys if key.type == "S"}
        texts |= {PK.name, SK.name}
        for name in sorted(self._names() - texts):
            yield (
                f"join {self.name!r} needs {name!r}, which is not a text key attribute of the rows "
                f"(those are {', '.join(sorted(texts))}); query an index that has {name!r} as its "
                "last sort attribute"
            )
        if not self.name.isidentifier():
            yield f"join {self.name!r}: its name must be an identifier, such as 'profile'"
        if self.name in RESERVED | texts | {key.name for key in keys}:
            yield f"join {self.name!r} and an attribute of the rows have one name; rename the join"

    def shape(self) -> list[str]:
        return [self.name, self.partition, self.sort]

    def _names(self) -> set[str]:
        return {*parameters(self.partition), *parameters(self.sort)}
