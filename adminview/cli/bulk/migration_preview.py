"""What a migration would do, from a look at some items or at all: nothing is written."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import ceil
from time import time
from typing import Any

from adminview.aws.deadline import Deadline
from adminview.aws.table_scanner import Sample, TableScanner
from adminview.model import Index, Migration, Registry
from adminview.model.errors import RecordError
from adminview.model.limits import row_size
from adminview.model.row import Attributes
from adminview.model.write_units import Units, write_units
from adminview.reconcile.equality import canonical, equivalent_rows
from adminview.reconcile.expected_rows import expected_rows
from adminview.sync.decode import Route
from adminview.sync.derive import complete

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
        # The indexes of the source table itself pay for the update too.
        described = self.reader.describe(self.route.table, _until())
        indexes = [index.declaration() for index in described.indexes]
        sample = Sample(self.reader, self.route.table, most, _until)
        for item in sample:
            self._add(found, item, indexes)
        found.whole, found.items = sample.whole, sample.count()
        return found

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
            if one is None or other is None or not equivalent_rows(one, other):
                total += write_units(one, other, self.model.indexes)
        return total

    def _rows(self, item: Attributes) -> dict[Any, Attributes]:
        owner = self.route.source.owner(item)
        rows = expected_rows(self.route, owner, item, time(), self.model.fingerprint)
        return {key: canonical(row) for key, row in rows.items()}


def _until() -> Deadline:
    return Deadline.after(CALL_SECONDS)
