"""Reconcile: the one way to write out of order. It reads the source again, and never re-applies.

Why it is right: when the second read of the item agrees with the first, the view was written from
the state the source still has. Changes made later arrive later, in order; earlier ones that are
still in the stream end, in order, in this same state. So it needs no versions and no tombstones.

A write that ended without a response may still arrive after all that. The reconciler sends an
in-doubt dead letter for it, which is replayed when it can no longer arrive. It does the same for an
item if a response to any of its calls, also to a read, may have been another's.
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

ROUNDS = 10  # while the item moves; a hotter one is tried again later
LETTER_SECONDS = 2 * LONGEST_CALL  # to send in-doubt letters in
CLAIMED_TWICE = (
    "a row of this item belongs to another item; "
    "its PK and SK must name the one item it is derived from"
)


@dataclass(frozen=True, slots=True)
class ReconcilePlan:
    """What an item's rows are, what they should be, and so what is to be written and deleted."""

    item: Image | None
    found: Mapping[RowKey, Attributes]
    expected: Mapping[RowKey, Attributes]
    owner: str

    @property
    def puts(self) -> dict[RowKey, Attributes]:
        """The rows to be written: those that are missing or wrong."""
        return {
            key: row
            for key, row in self.expected.items()
            if key not in self.found or not equivalent_rows(self.found[key], row)
        }

    @property
    def deletes(self) -> set[RowKey]:
        """The rows to be deleted: its own, that it should not have."""
        return {key for key in self.found.keys() - self.expected if not self.is_anothers(key)}

    @property
    def claimed_twice(self) -> dict[RowKey, str]:
        """The rows it should have that are another's, and whose they are."""
        return {
            key: self.found[key][OWNER]["S"]
            for key in self.expected.keys() & self.found.keys()
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

    sources: SourceReader
    rows: RowStore
    model: str
    post: DeadLetterSink
    now: Callable[[], float] = time
    routes: Collection[Route] = ()  # by which the owners of rows name their items

    def plan(self, target: ItemRef, *, deadline: Deadline) -> ReconcilePlan:
        """Work out what a reconcile would do, and do nothing."""
        item = self._read(target, deadline)
        return self._plan(target, item, target.rows, deadline, owners_only=False)

    def reconcile(self, target: ItemRef, *, deadline: Deadline) -> Reconciled:
        """Make an item's rows what its source says now.

        Raises a RecordError if its views cannot derive them, a MovingItemError if it changes
        faster than they can be written, and a ServiceError if AWS goes on refusing, or if a write
        may still arrive and the queue did not take the letter that says so.
        """
        touched = set(target.rows)
        in_doubt: set[RowKey] = set()
        try:
            with calls_about((target.owner,)):
                return self._repeat(target, touched, in_doubt, deadline)
        except (RecordError, RepairError) as error:
            # A letter about it must name them: the owner index may not know them when it is read.
            error.touched = frozenset(touched)
            raise
        finally:
            if in_doubt:
                self.report_in_doubt([replace(target, rows=frozenset(in_doubt))], deadline)
            self.report_calls(self.rows.find_in_doubt(), deadline)

    def report_calls(self, calls: Sequence[Owners], deadline: Deadline) -> None:
        """Send in-doubt letters about the owners of calls; if that fails, keep them and raise."""
        targets: dict[str, list[ItemRef]] = {}
        for owner in {owner for call in calls for owner in call}:
            if target := target_by_owner(self.routes, owner):
                targets.setdefault(target.route.source.name, []).append(target)
        try:
            for some in targets.values():
                self.report_in_doubt(some, deadline)
        except BaseException:
            self.rows.keep_in_doubt(calls)
            raise

    def report_in_doubt(self, targets: Sequence[ItemRef], deadline: Deadline) -> None:
        """Send in-doubt letters about items of one source; raise a ServiceError if that fails."""
        route = targets[0].route
        origin = Origin(
            source=route.source.name, table=route.table, at=self.now(), model=self.model
        )
        items = [TouchedItem(key=one.key, owner=one.owner, rows=one.rows) for one in targets]
        letters = [*in_doubt_letters(0, origin, items)]
        # The writes used up their time. Whoever set it has kept some for letters.
        later = Deadline.after(LETTER_SECONDS, deadline.clock)
        unsent, codes = self.post.send(letters, deadline=later)
        if unsent:
            raise ServiceError(min(codes, default="Unsent"), "send in-doubt letters")

    def _repeat(
        self, target: ItemRef, touched: set[RowKey], in_doubt: set[RowKey], deadline: Deadline
    ) -> Reconciled:
        """Write an item's rows until it did not change meanwhile; *touched* grows by them."""
        done = Reconciled()
        item = self._read(target, deadline)
        for _ in range(ROUNDS):
            plan = self._plan(target, item, touched, deadline, owners_only=True)
            touched.update(plan.expected)  # the owner index may not know yet what this round writes
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
        """Compare an item's rows; with *owners_only*, read little of those that are to go."""
        # As DynamoDB itself spells the key, if there is an item to tell.
        owner = target.route.source.owner(item) if item else target.owner
        rows = expected_rows(target.route, owner, item, self.now(), self.model)
        others = {*self.rows.find(owner, deadline=deadline), *touched} - rows.keys()
        found = self.rows.read(rows.keys(), deadline=deadline)
        found |= self.rows.read(others, deadline=deadline, owners_only=owners_only)
        return ReconcilePlan(item, found, rows, owner)

    def _apply(self, plan: ReconcilePlan, in_doubt: set[RowKey], deadline: Deadline) -> Reconciled:
        """Write what a plan says. A row that cannot be written keeps no other from it."""
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
    """Connect the sources to their rows; in-doubt letters go to *post*, or else to the queue."""
    return Reconciler(
        sources=SourceReader(clients.dynamodb),
        rows=RowStore(clients.dynamodb, settings.view_table),
        model=settings.model,
        post=post or LazyDeadLetterProducer(clients, settings.dead_letter_queue_url),
        routes=[*routes(model, settings.sources).values()],
    )
