"""Faulty variants of the product that look harmless. The simulation must catch each of them."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from adminview.aws.batch_writers import Boto3BatchWriter, Call, Result
from adminview.aws.deadline import Deadline
from adminview.aws.row_store import RowStore
from adminview.aws.table_scanner import ScanPage, owners_only
from adminview.bulk.backfill import PageOfItems
from adminview.bulk.lease_table import LeaseTable
from adminview.bulk.segment import SegmentState
from adminview.bulk.sweep import PageOfRows, Sweep
from adminview.bulk.worker import SegmentSession
from adminview.dead_letters.resolve import LetterResolver
from adminview.handlers.sync import sync
from adminview.model.dead_letter import RecordLetter
from adminview.model.item import Image
from adminview.reconcile.item_ref import ItemRef
from adminview.reconcile.reconciler import Reconciled, ReconcilePlan, Reconciler
from adminview.runtime import Runtime
from adminview.sync.decode import Route
from adminview.sync.fold import Fold, Write
from adminview.sync.plan import Batch, plan_batch, sequence_at
from tests.simulator.queue import Queue
from tests.support.fakes import key_of

Plant = Callable[[pytest.MonkeyPatch], None]


@dataclass(frozen=True, slots=True)
class Remembered(ItemRef):
    """An item, and its image in a dead letter."""

    image: Image | None = None


def reapply(monkeypatch: pytest.MonkeyPatch) -> None:
    """Apply the image of a dead letter, instead of reading the item again."""
    find, read = LetterResolver._target, Reconciler._read

    def remember(self: LetterResolver, letter: RecordLetter) -> ItemRef:
        target = find(self, letter)
        record = self.streams._client.find(letter.table, letter.sequence)  # type: ignore[attr-defined]
        if record is None:
            return target
        image = record["dynamodb"].get("NewImage")
        return Remembered(target.route, target.key, target.rows, image)

    def recall(self: Reconciler, target: ItemRef, deadline: Deadline) -> Image | None:
        return target.image if isinstance(target, Remembered) else read(self, target, deadline)

    monkeypatch.setattr(LetterResolver, "_target", remember)
    monkeypatch.setattr(Reconciler, "_read", recall)


def no_second_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Assume that the item did not change while its rows were written."""
    monkeypatch.setattr("adminview.reconcile.reconciler.equivalent", lambda *_: True)


def no_owner_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check only the rows that a dead letter names."""
    monkeypatch.setattr(RowStore, "find", lambda *_, **__: set())


def no_hints(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check only the rows that the owner index has."""
    reconcile = Reconciler.reconcile

    def forgetful(self: Reconciler, target: ItemRef, *, deadline: Deadline) -> Reconciled:
        return reconcile(self, replace(target, rows=frozenset()), deadline=deadline)

    monkeypatch.setattr(Reconciler, "reconcile", forgetful)


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget in each round of a reconcile what the round before wrote."""
    plan = Reconciler._plan

    def forgetful(
        self: Reconciler,
        target: ItemRef,
        item: Image | None,
        _: object,
        deadline: Deadline,
        *,
        owners_only: bool,
    ) -> ReconcilePlan:
        return plan(self, target, item, target.rows, deadline, owners_only=owners_only)

    monkeypatch.setattr(Reconciler, "_plan", forgetful)


def letters_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send the dead letters of a batch before its writes."""
    runtime: list[Runtime] = []

    def remember(event: Any, context: Any, called_with: Runtime) -> Any:
        runtime[:] = [called_with]
        return sync(event, context, called_with)

    def send(batch: Batch, routes: Mapping[str, Route]) -> Iterator[Fold]:
        for writes in plan_batch(batch, routes):
            post = runtime[0].dead_letters
            batch.letters, _ = post.send(batch.letters, deadline=Deadline.after(60))
            yield writes

    monkeypatch.setattr("tests.simulator.pollers.sync", remember)
    monkeypatch.setattr("adminview.handlers.sync.plan_batch", send)


def no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replay a dead letter, and replay it again, before the owner index has caught up."""
    monkeypatch.setattr(Queue, "first_try", 0)
    monkeypatch.setattr(Queue, "next_try", 20)


def no_intent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a page without storing its intent first."""
    save = LeaseTable.save

    def silent(self: LeaseTable, record: SegmentState, **how: Any) -> SegmentState:
        return replace(save(self, replace(record, intent=[]), **how), intent=record.intent)

    monkeypatch.setattr(LeaseTable, "save", silent)


def no_reread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Assume that no item of a page changed while it was written."""
    monkeypatch.setattr(PageOfItems, "_changed_items", lambda *_: [])


def no_redo(monkeypatch: pytest.MonkeyPatch) -> None:
    """Continue after a crash without recovering the intent."""

    def go_on(self: SegmentSession) -> None:
        self.record = replace(self.record, intent=[])

    monkeypatch.setattr(SegmentSession, "recover", go_on)


def no_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take over a segment at once, even if another worker is active."""

    def take(self: LeaseTable, state: SegmentState, *, deadline: Deadline) -> SegmentState:
        return self.save(state, deadline=deadline)

    monkeypatch.setattr(LeaseTable, "take_over", take)


def short_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    """Recover the intent of another worker before the owner index has caught up."""
    monkeypatch.setattr("adminview.bulk.lease_table.LEASE_SECONDS", 2.0)


def no_work_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep writing after the lease has expired."""
    monkeypatch.setattr(SegmentSession, "work_until", property(lambda hand: hand.end))


def no_drain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start the backfill while the old code may still write."""
    monkeypatch.setattr("tests.simulator.change.DRAIN_SECONDS", 0)


def no_backfill(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave it to later changes to write the rows of another model."""
    monkeypatch.setattr("tests.simulator.change.build", lambda *_: None)


def no_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the rows of the old model."""
    monkeypatch.setattr("tests.simulator.change.sweep", lambda *_: None)


def _delete(page: PageOfRows, deadline: Deadline) -> Counter[str]:
    for owner, rows in page.candidates:
        for row in rows:
            page.task.reconciler.rows.delete(owner, row, deadline=deadline)
    return Counter()


def sweep_by_age(monkeypatch: pytest.MonkeyPatch) -> None:
    """Delete the rows that an older model wrote."""

    def candidate(_: Sweep, targets: Sequence[ItemRef], *__: Any) -> list[Any]:
        return [(target.owner, sorted(target.rows)) for target in targets]

    monkeypatch.setattr(Sweep, "_underived", candidate)
    monkeypatch.setattr(PageOfRows, "execute", _delete)


def sweep_other_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check only the rows that do not carry the fingerprint of the deployed model."""
    read = Sweep.read

    def read_older(self: Sweep, *arguments: Any) -> ScanPage:
        def older(source: str | None) -> dict[str, Any]:
            return {
                **owners_only(source),
                "FilterExpression": "#model <> :model",
                "ExpressionAttributeValues": {":model": {"S": self.reconciler.model}},
            }

        monkeypatch.setattr("adminview.bulk.sweep.owners_only", older)
        return read(self, *arguments)

    monkeypatch.setattr(Sweep, "read", read_older)


def sweep_by_a_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Delete the rows that an item did not derive when it was first read."""
    monkeypatch.setattr(PageOfRows, "execute", _delete)


def unprocessed_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send unprocessed items a second time, and assume that all are accepted."""
    send = Boto3BatchWriter._send

    def send_twice(self: Boto3BatchWriter, table: str, deadline: Deadline, call: Call) -> Result:
        result = send(self, table, deadline, call)
        if isinstance(result, dict) and (left := result["UnprocessedItems"].get(table)):
            keys = {key_of(request) for request in left}
            send(self, table, deadline, [write for write in call if write.key in keys])
            return {"UnprocessedItems": {}}
        return result

    monkeypatch.setattr(Boto3BatchWriter, "_send", send_twice)


def checkpoint_after(monkeypatch: pytest.MonkeyPatch) -> None:
    """Report the record after the earliest unwritten one."""

    def next_sequence(records: Any, position: int) -> str:
        return sequence_at(records, min(position + 1, len(records) - 1))

    monkeypatch.setattr("adminview.handlers.sync.sequence_at", next_sequence)


def first_write_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the first instead of the last write to a row."""

    def add(self: Fold, position: int, owner: str, changes: Any) -> None:
        for key, row in changes.items():
            self._writes.setdefault(key, Write(key, owner, row, position, position))

    monkeypatch.setattr(Fold, "add", add)


def no_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget a call that ended without a response once it was repeated."""
    for module in ("view_table", "retry"):
        monkeypatch.setattr(f"adminview.aws.{module}.is_in_doubt", lambda _: False)


def doubt_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replay an in-doubt dead letter while the call may still arrive."""
    monkeypatch.setattr("adminview.sync.dead_letter.IN_DOUBT_SECONDS", 30)


def no_doubt_after_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    """Assume that no call of a killed worker can arrive after its page was recovered."""
    report = Reconciler.report_in_doubt

    def report_some(self: Reconciler, targets: Sequence[ItemRef], deadline: Deadline) -> None:
        if any(target.rows for target in targets):
            report(self, targets, deadline)

    monkeypatch.setattr(Reconciler, "report_in_doubt", report_some)


def shown_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Show a dead letter again while calls of the killed replay may still arrive."""
    monkeypatch.setattr(Queue, "hidden", 60)


PLANTS: dict[str, Plant] = {
    "nodoubt": no_doubt,
    "doubtearly": doubt_early,
    "no doubt after a crash": no_doubt_after_crash,
    "dead letters shown early": shown_early,
    "reapply": reapply,
    "noverify": no_second_read,
    "noowner": no_owner_index,
    "nohints": no_hints,
    "forget": forget,
    "lettersfirst": letters_first,
    "nowait": no_wait,
    "nointent": no_intent,
    "page not read again": no_reread,
    "note without redo": no_redo,
    "redo at once": no_lease,
    "lease too short": short_lease,
    "writes after the lease": no_work_limit,
    "nodrain": no_drain,
    "no backfill": no_backfill,
    "no sweep": no_sweep,
    "sweep by age": sweep_by_age,
    "sweep of other models": sweep_other_models,
    "sweep by a look": sweep_by_a_look,
    "unprocessed retried once": unprocessed_tried_once,
    "checkpoint after": checkpoint_after,
    "first write wins": first_write_wins,
}
