"""Reconcile an item: read the source again and write its rows. The only writes out of stream order.

Why it is correct: if the item is the same before and after the writes, the rows match the current
state of the source. Later changes arrive later, in order. Earlier ones that are still in the stream
end in this same state. So no versions and no tombstones are needed.

A write that ended without a response may still arrive later. The reconciler sends an in-doubt dead
letter for it, which is replayed when the write can no longer arrive. It does the same if a response
to any call about the item, even a read, may have belonged to another call.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import time

from adminview.aws.call_owners import Owners, calls_about
from adminview.aws.clients import Clients
from adminview.aws.dead_letter_producer import DeadLetterSink, LazyDeadLetterProducer
from adminview.aws.deadline import LONGEST_CALL, Deadline
from adminview.aws.row_store import RowStore
from adminview.aws.settings import Settings
from adminview.aws.source_tables import SourceReader
from adminview.model import Registry
from adminview.model.dead_letter import Origin, TouchedItem
from adminview.model.errors import (
    MovingItemError,
    OwnershipError,
    RecordError,
    RefusedRowError,
    RepairError,
    ServiceError,
)
from adminview.model.item import Image
from adminview.model.row import OWNER, Attributes, RowKey
from adminview.reconcile.equality import equivalent, equivalent_rows
from adminview.reconcile.expected_rows import expected_rows
from adminview.reconcile.item_ref import ItemRef, target_by_owner
from adminview.sync.dead_letter import in_doubt_letters
from adminview.sync.decode import Route, routes

ROUNDS = 10  # while the item keeps changing; then a MovingItemError
LETTER_SECONDS = 2 * LONGEST_CALL  # to send in-doubt dead letters
CLAIMED_TWICE = (
    "a row of this item belongs to another item; "
    "its PK and SK must name the one item it is derived from"
)


@dataclass(frozen=True, slots=True)
class ReconcilePlan:
    """An item's actual and expected rows, and the writes that make them equal."""

    item: Image | None
    current: Mapping[RowKey, Attributes]
    expected: Mapping[RowKey, Attributes]
    owner: str

    @property
    def puts(self) -> dict[RowKey, Attributes]:
        """The rows to write: missing or wrong ones."""
        return {
            key: row
            for key, row in self.expected.items()
            if key not in self.current or not equivalent_rows(self.current[key], row)
        }

    @property
    def deletes(self) -> set[RowKey]:
        """The rows to delete: rows of this item that it does not derive."""
        return {
            key for key in self.current.keys() - self.expected if not self.has_another_owner(key)
        }

    @property
    def claimed_twice(self) -> dict[RowKey, str]:
        """The expected rows that belong to another item, with that owner."""
        return {
            key: self.current[key][OWNER]["S"]
            for key in self.expected.keys() & self.current.keys()
            if self.has_another_owner(key)
        }

    def has_another_owner(self, key: RowKey) -> bool:
        """Return whether an existing row belongs to another item."""
        return self.current[key].get(OWNER, {"S": self.owner}) != {"S": self.owner}


@dataclass(frozen=True, slots=True)
class Reconciled:
    """How many rows a reconcile wrote."""

    put: int = 0
    deleted: int = 0

    def __add__(self, other: "Reconciled") -> "Reconciled":
        return Reconciled(self.put + other.put, self.deleted + other.deleted)

    @property
    def unchanged(self) -> bool:
        return not self.put and not self.deleted


@dataclass(frozen=True, slots=True)
class Reconciler:
    sources: SourceReader
    rows: RowStore
    model: str
    post: DeadLetterSink
    now: Callable[[], float] = time
    routes: Collection[Route] = ()  # to find the items of owners

    def plan(self, target: ItemRef, *, deadline: Deadline) -> ReconcilePlan:
        """Return what a reconcile would do. Writes nothing."""
        item = self._read(target, deadline)
        return self._plan(target, item, target.rows, deadline, owners_only=False)

    def reconcile(self, target: ItemRef, *, deadline: Deadline) -> Reconciled:
        """Make an item's rows match its source.

        Raises a RecordError if its views cannot derive them, a MovingItemError if the item keeps
        changing, and a ServiceError if AWS keeps refusing, or if the queue did not accept the
        dead letter about a write in doubt.
        """
        touched = set(target.rows)
        in_doubt: set[RowKey] = set()
        try:
            with calls_about((target.owner,)):
                return self._repeat(target, touched, in_doubt, deadline)
        except (RecordError, RepairError) as error:
            # A dead letter must name these rows: the owner index may not have them yet.
            error.touched = frozenset(touched)
            raise
        finally:
            if in_doubt:
                self.report_in_doubt([replace(target, rows=frozenset(in_doubt))], deadline)
            self.report_calls(self.rows.find_in_doubt(), deadline)

    def report_calls(self, calls: Sequence[Owners], deadline: Deadline) -> None:
        """Send in-doubt dead letters about the owners of *calls*; if that fails, keep *calls*."""
        targets: dict[str, list[ItemRef]] = {}
        for owner in {owner for call in calls for owner in call}:
            if target := target_by_owner(self.routes, owner):
                targets.setdefault(target.route.source.name, []).append(target)
        try:
            for refs in targets.values():
                self.report_in_doubt(refs, deadline)
        except BaseException:
            self.rows.keep_in_doubt(calls)
            raise

    def report_in_doubt(self, targets: Sequence[ItemRef], deadline: Deadline) -> None:
        """Send in-doubt dead letters about items of one source; raise a ServiceError on failure."""
        route = targets[0].route
        origin = Origin(
            source=route.source.name, table=route.table, at=self.now(), model=self.model
        )
        items = [TouchedItem(key=ref.key, owner=ref.owner, rows=ref.rows) for ref in targets]
        letters = [*in_doubt_letters(0, origin, items)]
        # The writes may have used up the deadline. Callers reserve time for dead letters.
        later = Deadline.after(LETTER_SECONDS, deadline.clock)
        unsent, codes = self.post.send(letters, deadline=later)
        if unsent:
            raise ServiceError(min(codes, default="Unsent"), "send in-doubt dead letters")

    def _repeat(
        self, target: ItemRef, touched: set[RowKey], in_doubt: set[RowKey], deadline: Deadline
    ) -> Reconciled:
        """Write an item's rows until the item stays the same; add their keys to *touched*."""
        done = Reconciled()
        item = self._read(target, deadline)
        for _ in range(ROUNDS):
            plan = self._plan(target, item, touched, deadline, owners_only=True)
            touched.update(plan.expected)  # the owner index may not have them yet
            done += self._apply(plan, in_doubt, deadline)
            again = self._read(target, deadline)
            if equivalent(item, again):
                return done
            item = again
        msg = f"the item changed {ROUNDS} times while its rows were written"
        raise MovingItemError(msg)

    def _read(self, target: ItemRef, deadline: Deadline) -> Image | None:
        return self.sources.read(target.route.table, dict(target.key), deadline=deadline)

    def _plan(
        self,
        target: ItemRef,
        item: Image | None,
        touched: Iterable[RowKey],
        deadline: Deadline,
        *,
        owners_only: bool,
    ) -> ReconcilePlan:
        """Compare an item's rows; with *owners_only*, read only the owners of rows to delete."""
        # From the stored item, if there is one: DynamoDB normalizes numbers in keys.
        owner = target.route.source.owner(item) if item else target.owner
        rows = expected_rows(target.route, owner, item, self.now(), self.model)
        others = {*self.rows.find(owner, deadline=deadline), *touched} - rows.keys()
        current = self.rows.read(rows.keys(), deadline=deadline)
        current |= self.rows.read(others, deadline=deadline, owners_only=owners_only)
        return ReconcilePlan(item, current, rows, owner)

    def _apply(self, plan: ReconcilePlan, in_doubt: set[RowKey], deadline: Deadline) -> Reconciled:
        """Execute a plan. If a row is refused, write the others first, then raise."""
        problems: list[RecordError] = []
        put = deleted = 0
        for key, row in plan.puts.items():
            doubt = partial(in_doubt.add, key)
            try:
                if not self.rows.put(plan.owner, row, deadline=deadline, on_doubt=doubt):
                    problems.append(OwnershipError(CLAIMED_TWICE))
                put += 1
            except RefusedRowError as error:
                problems.append(error)
        for key in sorted(plan.deletes):
            doubt = partial(in_doubt.add, key)
            deleted += self.rows.delete(plan.owner, key, deadline=deadline, on_doubt=doubt)
        for problem in problems:
            raise problem
        return Reconciled(put, deleted)


def make_reconciler(
    model: Registry, settings: Settings, clients: Clients, post: DeadLetterSink | None = None
) -> Reconciler:
    """Connect sources and rows; in-doubt dead letters go to *post*, by default to the queue."""
    return Reconciler(
        sources=SourceReader(clients.dynamodb),
        rows=RowStore(clients.dynamodb, settings.view_table),
        model=settings.model,
        post=post or LazyDeadLetterProducer(clients, settings.dead_letter_queue_url),
        routes=[*routes(model, settings.sources).values()],
    )
