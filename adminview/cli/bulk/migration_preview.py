"""Estimate a migration from a sample of items, or from all. Writes nothing."""

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
from adminview.totals.units import contribution_units

SHOWN = 5
READ_UNIT = 8192  # bytes that an eventually consistent scan reads for one unit
CALL_SECONDS = 30.0


@dataclass(slots=True)
class Preview:
    """Counts of the sampled items, and estimates for the whole table."""

    migration: Migration
    table: str
    items: int = 0  # estimated, unless all were read
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
        """Extrapolate a number from the sample to all items."""
        return round(number * self.items / self.sampled) if self.sampled else 0

    @property
    def read_units(self) -> int:
        """Read units of a scan of the whole table."""
        return ceil(self.of_all(self.bytes) / READ_UNIT)


@dataclass(frozen=True, slots=True)
class Previewer:
    """A migration, its table, and the model that receives each update through the stream."""

    migration: Migration
    route: Route
    model: Registry
    reader: TableScanner

    def preview(self, most: int | None) -> Preview:
        """Estimate from at most *most* items, spread over the table, or from all of them."""
        preview = Preview(self.migration, self.route.table)
        # An update also consumes write units of the source table's own indexes.
        described = self.reader.describe(self.route.table, _deadline())
        indexes = [index.declaration() for index in described.indexes]
        sample = Sample(self.reader, self.route.table, most, _deadline)
        for item in sample:
            self._add(preview, item, indexes)
        preview.whole, preview.items = sample.whole, sample.count()
        return preview

    def _add(self, preview: Preview, item: Attributes, indexes: Iterable[Index]) -> None:
        preview.sampled += 1
        preview.bytes += row_size(item)
        key = self.migration.source.key_of(item)
        try:
            update = complete(self.migration, item)
        except RecordError as error:
            preview.failing += 1
            if preview.failing <= SHOWN:
                preview.failures.append((key, error))
            return
        if update is None:
            return
        preview.changing += 1
        if preview.changing <= SHOWN:
            preview.examples.append((key, update.sets))
        after = canonical(update.applied(item))
        preview.source += write_units(canonical(item), after, indexes, list(key))
        preview.view += self._view_units(item, after)

    def _view_units(self, before: Attributes, after: Attributes) -> Units:
        """Return the write units of the view and its totals when the update arrives."""
        total = Units()
        try:
            old_rows, new_rows = (self._rows(item) for item in (before, after))
        except RecordError:
            return total  # the change is dead-lettered, as any other change of this item
        for key in {*old_rows, *new_rows}:
            old, new = old_rows.get(key), new_rows.get(key)
            if old is None or new is None or not equivalent_rows(old, new):
                total += write_units(old, new, self.model.indexes) + contribution_units(old, new)
        return total

    def _rows(self, item: Attributes) -> dict[Any, Attributes]:
        owner = self.route.source.owner(item)
        rows = expected_rows(self.route, owner, item, time(), self.model.fingerprint)
        return {key: canonical(row) for key, row in rows.items()}


def _deadline() -> Deadline:
    return Deadline.after(CALL_SECONDS)
