"""Reconcile: the one way to write out of order. It reads the source again, and never re-applies.

Why it is right: when the second read of the item agrees with the first, the view was written from
the state the source still has. Changes made later arrive later, in order; earlier ones that are
still in the stream end, in order, in this same state. So it needs no versions and no tombstones.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from time import time

from lambdas.aws.deadline import Deadline
from lambdas.aws.owned_rows import OwnedRows
from lambdas.aws.source_tables import SourceTables
from lambdas.model.errors import (
    MovingItemError,
    OwnershipError,
    RecordError,
    RefusedRowError,
    RepairError,
)
from lambdas.model.item import Image
from lambdas.model.row import OWNER, Attributes, RowKey
from lambdas.repair.compare import same, same_row
from lambdas.repair.target import Target
from lambdas.repair.wanted import wanted

ROUNDS = 10  # while the item moves; a hotter one is tried again later
CLAIMED_TWICE = (
    "a row of this item belongs to another item; "
    "its PK and SK must name the one item it is derived from"
)


@dataclass(frozen=True, slots=True)
class Plan:
    """What an item's rows are, what they should be, and so what is to be written and deleted."""

    item: Image | None
    found: Mapping[RowKey, Attributes]
    wanted: Mapping[RowKey, Attributes]
    owner: str

    @property
    def puts(self) -> dict[RowKey, Attributes]:
        """The rows to be written: those that are missing or wrong."""
        return {
            key: row
            for key, row in self.wanted.items()
            if key not in self.found or not same_row(self.found[key], row)
        }

    @property
    def deletes(self) -> set[RowKey]:
        """The rows to be deleted: its own, that it should not have."""
        return {key for key in self.found.keys() - self.wanted if not self.is_anothers(key)}

    @property
    def claimed_twice(self) -> dict[RowKey, str]:
        """The rows it should have that are another's, and whose they are."""
        return {
            key: self.found[key][OWNER]["S"]
            for key in self.wanted.keys() & self.found.keys()
            if self.is_anothers(key)
        }

    @property
    def changes_nothing(self) -> bool:
        """Tell whether all rows are as they should be."""
        return not self.puts and not self.deletes

    def is_anothers(self, key: RowKey) -> bool:
        """Tell whether a row that was found belongs to another item."""
        return self.found[key].get(OWNER, {"S": self.owner}) != {"S": self.owner}


@dataclass(frozen=True, slots=True)
class Reconciled:
    """What a reconcile came to."""

    put: int = 0
    deleted: int = 0

    def __add__(self, other: "Reconciled") -> "Reconciled":
        """Count the writes of several rounds."""
        return Reconciled(self.put + other.put, self.deleted + other.deleted)

    @property
    def unchanged(self) -> bool:
        """Tell whether all rows were right before."""
        return not self.put and not self.deleted


@dataclass(frozen=True, slots=True)
class Reconciler:
    """The sources, the rows, and the model that derives one from the other."""

    sources: SourceTables
    rows: OwnedRows
    model: str
    now: Callable[[], float] = time

    def plan(self, target: Target, *, until: Deadline) -> Plan:
        """Work out what a reconcile would do, and do nothing."""
        return self._plan(target, self._read(target, until), target.rows, until)

    def reconcile(self, target: Target, *, until: Deadline) -> Reconciled:
        """Make an item's rows what its source says now.

        Raises a RecordError if its views cannot derive them, a MovingItemError if it changes
        faster than they can be written, and a ServiceError if AWS goes on refusing.
        """
        touched = set(target.rows)
        try:
            return self._repeat(target, touched, until)
        except (RecordError, RepairError) as error:
            # A letter about it must name them: the owner index may not know them when it is read.
            error.touched = frozenset(touched)
            raise

    def _repeat(self, target: Target, touched: set[RowKey], until: Deadline) -> Reconciled:
        """Write an item's rows until it did not change meanwhile; *touched* grows by them."""
        done = Reconciled()
        item = self._read(target, until)
        for _ in range(ROUNDS):
            plan = self._plan(target, item, touched, until)
            touched.update(plan.wanted)  # the owner index may not know yet what this round writes
            done += self._apply(plan, until)
            again = self._read(target, until)
            if same(item, again):
                return done
            item = again
        msg = f"the item changed {ROUNDS} times while its rows were written"
        raise MovingItemError(msg)

    def _read(self, target: Target, until: Deadline) -> Image | None:
        return self.sources.read(target.route.table, dict(target.key), until=until)

    def _plan(
        self, target: Target, item: Image | None, touched: Iterable[RowKey], until: Deadline
    ) -> Plan:
        # As DynamoDB itself spells the key, if there is an item to tell.
        owner = target.route.source.owner(item) if item else target.owner
        rows = wanted(target.route, owner, item, self.now(), self.model)
        known = {*self.rows.find(owner, until=until), *touched, *rows}
        return Plan(item, self.rows.read(known, until=until), rows, owner)

    def _apply(self, plan: Plan, until: Deadline) -> Reconciled:
        """Write what a plan says. A row that cannot be written keeps no other from it."""
        problems: list[RecordError] = []
        put = deleted = 0
        for row in plan.puts.values():
            try:
                if not self.rows.put(plan.owner, row, until=until):
                    problems.append(OwnershipError(CLAIMED_TWICE))
                put += 1
            except RefusedRowError as error:
                problems.append(error)
        for key in sorted(plan.deletes):
            deleted += self.rows.delete(plan.owner, key, until=until)
        for problem in problems:
            raise problem
        return Reconciled(put, deleted)
