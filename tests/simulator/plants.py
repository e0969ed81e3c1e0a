"""Wrong variants of the product that look harmless. The simulation must catch each of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from lambdas.aws.deadline import Deadline
from lambdas.aws.owned_rows import OwnedRows
from lambdas.aws.runtime import Runtime
from lambdas.aws.view_table import ViewTable
from lambdas.model.item import Image
from lambdas.pipeline.decode import Route, StreamRecord
from lambdas.pipeline.fold import Fold, Write
from lambdas.pipeline.prepare import Batch, prepare, sequence_at
from lambdas.repair.reconcile import Plan, Reconciled, Reconciler
from lambdas.repair.replay.errands import Errands
from lambdas.repair.replay.letters import RecordLetter
from lambdas.repair.target import Target
from lambdas.sync import sync
from tests.simulator.backfill import Backfill
from tests.simulator.queue import Queue

Plant = Callable[[pytest.MonkeyPatch], None]


@dataclass(frozen=True, slots=True)
class Remembered(Target):
    """An item, and the image of it that a letter was about."""

    image: Image | None = None


def reapply(monkeypatch: pytest.MonkeyPatch) -> None:
    """Apply the image a letter is about, instead of reading the item again."""
    find, read = Errands._target, Reconciler._read

    def remember(self: Errands, letter: RecordLetter) -> Target:
        target = find(self, letter)
        record = self.streams._client.find(letter.table, letter.facts["sequence"])  # type: ignore[attr-defined]
        if record is None:
            return target
        image = record["dynamodb"].get("NewImage")
        return Remembered(target.route, target.key, target.rows, image)

    def recall(self: Reconciler, target: Target, until: Deadline) -> Image | None:
        return target.image if isinstance(target, Remembered) else read(self, target, until)

    monkeypatch.setattr(Errands, "_target", remember)
    monkeypatch.setattr(Reconciler, "_read", recall)


def no_second_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Believe that the item did not change while its rows were written."""
    monkeypatch.setattr("lambdas.repair.reconcile.same", lambda *_: True)


def no_owner_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look only at the rows that a letter names."""
    monkeypatch.setattr(OwnedRows, "find", lambda *_, **__: set())


def no_hints(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look only at the rows that the owner index knows."""
    reconcile = Reconciler.reconcile

    def forgetful(self: Reconciler, target: Target, *, until: Deadline) -> Reconciled:
        return reconcile(self, replace(target, rows=frozenset()), until=until)

    monkeypatch.setattr(Reconciler, "reconcile", forgetful)


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget in each round of a reconcile what the one before wrote."""
    plan = Reconciler._plan

    def forgetful(
        self: Reconciler, target: Target, item: Image | None, _: object, until: Deadline
    ) -> Plan:
        return plan(self, target, item, target.rows, until)

    monkeypatch.setattr(Reconciler, "_plan", forgetful)


def letters_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send the letters of a batch before its writes are in."""
    runtime: list[Runtime] = []

    def remember(event: Any, context: Any, with_: Runtime) -> Any:
        runtime[:] = [with_]
        return sync(event, context, with_)

    def send(records: Sequence[StreamRecord], routes: Mapping[str, Route], model: str) -> Batch:
        batch = prepare(records, routes, model)
        post = runtime[0].dead_letters
        batch.letters, _ = post.send(batch.letters, until=Deadline.after(60))
        return batch

    monkeypatch.setattr("tests.simulator.pollers.sync", remember)
    monkeypatch.setattr("lambdas.sync.prepare", send)


def no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try a letter, and try it again, before the owner index has caught up."""
    monkeypatch.setattr(Queue, "first_try", 0)
    monkeypatch.setattr(Queue, "next_try", 20)


def no_intent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a page without noting first, where it outlives a crash, whose it is."""
    work = Backfill._work

    def start_anew(self: Backfill, until: Deadline) -> None:
        self.note([])
        work(self, until)

    monkeypatch.setattr(Backfill, "_work", start_anew)


def unprocessed_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send unprocessed items a second time, and take that for done."""
    send = ViewTable._send

    def send_twice(self: ViewTable, writes: Sequence[Write]) -> Sequence[Write]:
        if left := send(self, writes):
            send(self, left)
        return ()

    monkeypatch.setattr(ViewTable, "_send", send_twice)


def checkpoint_after(monkeypatch: pytest.MonkeyPatch) -> None:
    """Report the record after the earliest unwritten one."""

    def next_sequence(records: Any, position: int) -> str:
        return sequence_at(records, min(position + 1, len(records) - 1))

    monkeypatch.setattr("lambdas.sync.sequence_at", next_sequence)


def first_write_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the first instead of the last write to a row."""

    def add(self: Fold, position: int, owner: str, changes: Any) -> None:
        for key, attributes in changes.items():
            self._writes.setdefault(key, Write(key, owner, attributes, position, position))

    monkeypatch.setattr(Fold, "add", add)


PLANTS: dict[str, Plant] = {
    "reapply": reapply,
    "noverify": no_second_read,
    "noowner": no_owner_index,
    "nohints": no_hints,
    "forget": forget,
    "lettersfirst": letters_first,
    "nowait": no_wait,
    "nointent": no_intent,
    "unprocessed retried once": unprocessed_tried_once,
    "checkpoint after": checkpoint_after,
    "first write wins": first_write_wins,
}
