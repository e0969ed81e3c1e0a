"""What a migration would do, from a look at some items or at all: nothing is written."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import ceil
from time import time
from typing import Any

from adminview.aws.deadline import Deadline
from adminview.aws.table_scanner import TableScanner
from adminview.model import Attribute, Index, Migration, Registry
from adminview.model.errors import RecordError
from adminview.model.limits import row_size
from adminview.model.row import Attributes
from adminview.model.write_units import Units, write_units
from adminview.reconcile.equality import canonical, same_row
from adminview.reconcile.expected_rows import wanted
from adminview.sync.complete import complete
from adminview.sync.decode import Route

SPREAD = 8  # places of a table that the sample is taken from
SHOWN = 5
READ_UNIT = 8192  # bytes that a scan reads for one unit
CALL_SECONDS = 30.0


@dataclass(slots=True)
class Preview:
    """What was seen of a table, and what follows for all of it."""

    migration: Migration
    table: str
    items: int = 0  # about, unless all were looked at
    sampled: int = 0
    whole: bool = True
    changing: int = 0
    failing: int = 0
    bytes: int = 0
    source: Units = field(default_factory=Units)
    view: Units = field(default_factory=Units)
    examples: list[tuple[Attributes, Attributes]] = field(default_factory=list)
    failures: list[tuple[Attributes, RecordError]] = field(default_factory=list)

    def of_all(self, number: float) -> int:
        """Reckon from the sample what it comes to for all items."""
        return round(number * self.items / self.sampled) if self.sampled else 0

    @property
    def read_units(self) -> int:
        """Read units of a scan of the whole table."""
        return ceil(self.of_all(self.bytes) / READ_UNIT)


@dataclass(frozen=True, slots=True)
class Previewer:
    """A migration, its table, and the view that hears of each update through the stream."""

    migration: Migration
    route: Route
    model: Registry
    reader: TableScanner

    def look(self, most: int | None) -> Preview:
        """Look at so many items, from several places of the table, or at all of them."""
        found = Preview(self.migration, self.route.table)
        indexes = self._indexes()
        for number in range(SPREAD):
            left = ceil(most / SPREAD) if most else None
            for item in self._segment(number, left, found):
                self._add(found, item, indexes)
        counted = found.sampled
        if not found.whole:
            counted = self.reader.count(self.route.table, until=_until())
        found.items = max(counted, found.sampled)
        return found

    def _segment(self, number: int, left: int | None, found: Preview) -> Iterator[Attributes]:
        start = None
        while True:
            page = self.reader.page(
                self.route.table, (number, SPREAD), start, until=_until, limit=left
            )
            yield from page.items
            start = page.last
            if start is None:
                return
            if left is not None:
                left -= len(page.items)
                if left <= 0:
                    found.whole = False
                    return

    def _add(self, found: Preview, item: Attributes, indexes: Iterable[Index]) -> None:
        """Count what one item would come to."""
        found.sampled += 1
        found.bytes += row_size(item)
        key = self.migration.source.key_of(item)
        try:
            update = complete(self.migration, item)
        except RecordError as error:
            found.failing += 1
            if found.failing <= SHOWN:
                found.failures.append((key, error))
            return
        if update is None:
            return
        found.changing += 1
        if found.changing <= SHOWN:
            found.examples.append((key, update.sets))
        after = canonical(update.applied(item))
        found.source += write_units(canonical(item), after, indexes, list(key))
        found.view += self._of_rows(item, after)

    def _of_rows(self, before: Attributes, after: Attributes) -> Units:
        """Count what the view's rows take when the update comes through the stream."""
        total = Units()
        try:
            old, new = (self._rows(item) for item in (before, after))
        except RecordError:
            return total  # a dead letter instead, as for any other change of this item
        for key in {*old, *new}:
            one, other = old.get(key), new.get(key)
            if one is None or other is None or not same_row(one, other):
                total += write_units(one, other, self.model.indexes)
        return total

    def _rows(self, item: Attributes) -> dict[Any, Attributes]:
        owner = self.route.source.owner(item)
        rows = wanted(self.route, owner, item, time(), self.model.fingerprint)
        return {key: canonical(row) for key, row in rows.items()}

    def _indexes(self) -> list[Index]:
        """Find the indexes of the source table itself, which pay for the update too."""
        table = self.reader.describe(self.route.table, _until())
        types = {
            one["AttributeName"]: one["AttributeType"] for one in table["AttributeDefinitions"]
        }
        return [
            _index(one, types)
            for kind in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes")
            for one in table.get(kind, [])
        ]


def _index(found: Any, types: dict[str, str]) -> Index:
    """Read an index as DescribeTable tells it."""
    sides: dict[str, list[Attribute]] = {"HASH": [], "RANGE": []}
    for key in found["KeySchema"]:
        name = key["AttributeName"]
        sides[key["KeyType"]].append(Attribute(name, types[name]))
    projection = found["Projection"]
    return Index(
        found["IndexName"],
        partition=sides["HASH"],
        sort=sides["RANGE"],
        include=projection.get("NonKeyAttributes", ()),
        all_because="it is so" if projection["ProjectionType"] == "ALL" else "",
    )


def _until() -> Deadline:
    return Deadline.after(CALL_SECONDS)
