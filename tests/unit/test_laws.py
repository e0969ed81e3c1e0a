"""The laws of the design, over any history, any batches, any redelivery and any passing fault.

The delivery played here is Lambda's: batches in order, from the checkpoint that the sync reports.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from adminview.aws.batch_writers import Boto3BatchWriter
from adminview.handlers.sync import WRITES_RESERVE, sync
from adminview.model import Item, Registry, Row, Source, view
from adminview.sync.fold import Fold, Write
from adminview.sync.plan import sequence_at
from tests.support.fakes import (
    NETWORK_DOWN,
    Context,
    FakeDynamoDB,
    FakeQueue,
    RecordingObserver,
    make_runtime,
    refusal,
)
from tests.support.stream_records import SourceTable

things = Source("Things", partition_key="id")


@view(things)
def parts(item: Item) -> Iterator[Row]:
    """Derive a row per part; an item may be poison."""
    if item.get("poison"):
        msg = "secret-of-a-customer"
        raise ValueError(msg)
    for name, value in item["parts"].items():
        yield Row(f"THING#{item['id']}", name, data={"value": value})


def make_registry() -> Registry:
    module = ModuleType("things")
    module.__dict__.update(things=things, parts=parts)
    return Registry.of([module])


REGISTRY = make_registry()


def rows_of(item: dict[str, Any]) -> dict[tuple[str, str], Any]:
    """Say, apart from the code under test, which rows an item has."""
    if item.get("poison"):
        return {}
    return {(f"THING#{item['id']}", name): value for name, value in item["parts"].items()}


def union(table: SourceTable) -> dict[tuple[str, str], Any]:
    return {key: value for item in table.items.values() for key, value in rows_of(item).items()}


def shown(dynamodb: FakeDynamoDB) -> dict[tuple[str, str], Any]:
    return {key: row["data"]["M"]["value"]["S"] for key, row in dynamodb.rows.items()}


ids = st.sampled_from(["a", "b", "c"])
states = st.dictionaries(st.sampled_from(["P", "Q", "R"]), st.sampled_from(["1", "2"]))


@dataclass(frozen=True)
class Step:
    """A write to the source: new parts, poison, or a deletion."""

    id: str
    parts: dict[str, str] | None
    poison: bool = False

    def take(self, table: SourceTable) -> None:
        if self.parts is None:
            table.delete(self.id)
        else:
            poison = {"poison": True} if self.poison else {}
            table.put({"id": self.id, "parts": self.parts} | poison)


healthy = st.lists(st.builds(Step, ids, st.none() | states), max_size=14)
poisoned = st.lists(st.builds(Step, ids, st.none() | states, st.booleans()), max_size=14)


@dataclass
class Luck:
    """What befalls the deliveries: hypothesis decides, and shrinks it."""

    data: st.DataObject

    def size(self) -> int:
        return self.data.draw(st.integers(1, 5), label="batch size")

    def again_from(self, position: int) -> int:
        return position - self.data.draw(st.integers(0, min(position, 6)), label="redelivered")

    def context(self) -> Context:
        in_time = self.data.draw(st.booleans(), label="in time")
        # A second too late, so that a slow machine changes nothing.
        return Context(60_000 if in_time else int(WRITES_RESERVE * 1000) - 1000)

    def faults(self) -> list[Any]:
        some = st.sampled_from(
            [
                None,
                lambda requests: requests,
                lambda requests: requests[1:],
                refusal("ThrottlingException"),
                refusal("InternalServerError", status=500),
                NETWORK_DOWN,
                refusal("AccessDeniedException"),
            ]
        )
        return self.data.draw(st.lists(some, max_size=3), label="faults")

    def queue_failures(self) -> list[Any]:
        some = st.sampled_from([set(), {"0"}, refusal("AccessDenied"), NETWORK_DOWN])
        return self.data.draw(st.lists(some, max_size=2), label="queue failures")


def deliver(table: SourceTable, luck: Luck) -> tuple[FakeDynamoDB, FakeQueue, RecordingObserver]:
    """Deliver a whole stream as Lambda would, with bad luck for a while."""
    dynamodb, queue, received = FakeDynamoDB(), FakeQueue(), RecordingObserver()
    runtime = make_runtime(REGISTRY, dynamodb, queue, received)
    position, trials = 0, 0
    while position < len(table.stream):
        trials += 1
        lucky = trials > 12
        dynamodb.faults = [] if lucky else luck.faults()
        queue.failures = [] if lucky else luck.queue_failures()
        batch = table.stream[position : position + luck.size()]
        context = Context() if lucky else luck.context()
        failures = sync({"Records": batch}, context, runtime)["batchItemFailures"]
        if failures:
            ids = [record["dynamodb"]["SequenceNumber"] for record in batch]
            position += ids.index(failures[0]["itemIdentifier"])
        else:
            position += len(batch)
        if not lucky:
            position = luck.again_from(position)
    return dynamodb, queue, received


def make_table(steps: list[Step]) -> SourceTable:
    table = SourceTable(things)
    for step in steps:
        step.take(table)
    return table


@given(healthy, st.data())
def test_any_history_in_any_batches_ends_with_the_view_equal_to_the_union_of_rows(
    steps: list[Step], data: st.DataObject
) -> None:
    table = make_table(steps)
    dynamodb, queue, _ = deliver(table, Luck(data))
    assert shown(dynamodb) == union(table)
    assert queue.bodies == []


@given(healthy, st.data())
def test_every_row_says_whose_it_is_and_which_model_wrote_it(
    steps: list[Step], data: st.DataObject
) -> None:
    dynamodb, _, _ = deliver(make_table(steps), Luck(data))
    for (pk, _), row in dynamodb.rows.items():
        assert row["_owner"] == {"S": "Things/" + pk.removeprefix("THING#")}
        assert row["_model"] == {"S": "model-1"}


@given(poisoned, st.data())
def test_rows_that_poison_leaves_wrong_are_exactly_those_that_dead_letters_name(
    steps: list[Step], data: st.DataObject
) -> None:
    """Repairing the items that have dead letters, and no others, makes the view exact."""
    table = make_table(steps)
    dynamodb, queue, _ = deliver(table, Luck(data))
    letters = [json.loads(body) for body in queue.bodies]
    view = shown(dynamodb)
    for letter in letters:
        owned = {key for key, row in dynamodb.rows.items() if row["_owner"]["S"] == letter["owner"]}
        for key in owned | {tuple(row) for row in letter["rows"]}:
            view.pop(key, None)
    named = {letter["key"]["id"]["S"] for letter in letters}
    repaired = {key: row for key, row in union(table).items() if key[0][6:] in named}
    assert view | repaired == union(table)
    poison_now = {item["id"] for item in table.items.values() if item.get("poison")}
    assert poison_now <= named


@given(poisoned, st.data())
def test_counts_add_up_and_no_data_is_logged(steps: list[Step], data: st.DataObject) -> None:
    _, queue, received = deliver(make_table(steps), Luck(data))
    for tally in received.batches:
        outcomes = (
            tally.written,
            tally.unchanged,
            tally.no_view,
            tally.dead_lettered,
            tally.redelivered,
        )
        assert tally.records == sum(outcomes)
    reported = "".join(queue.bodies) + "".join(letter.reason for letter in received.letters)
    assert "secret" not in reported


@given(poisoned, st.data())
def test_a_poison_record_never_stops_its_neighbours(steps: list[Step], data: st.DataObject) -> None:
    """Items that were never poison are exact, whatever stood beside them in a batch."""
    table = make_table(steps)
    dynamodb, _, _ = deliver(table, Luck(data))
    healthy_ids = {"a", "b", "c"} - {step.id for step in steps if step.poison}
    for id_ in healthy_ids:
        expected = {key: row for key, row in union(table).items() if key[0] == f"THING#{id_}"}
        assert {k: v for k, v in shown(dynamodb).items() if k[0] == f"THING#{id_}"} == expected


def first_write_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    def add(self: Fold, position: int, owner: str, changes: Any) -> None:
        for key, row in changes.items():
            self._writes.setdefault(key, Write(key, owner, row, position, position))

    monkeypatch.setattr(Fold, "add", add)


def checkpoint_after(monkeypatch: pytest.MonkeyPatch) -> None:
    def next_sequence(records: Any, position: int) -> str:
        return sequence_at(records, min(position + 1, len(records) - 1))

    monkeypatch.setattr("adminview.handlers.sync.sequence_at", next_sequence)


def no_deletes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adminview.sync.plan.diff", lambda _, after: dict(after))


def unprocessed_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    send = Boto3BatchWriter._send

    def forget(*arguments: Any) -> Any:
        result = send(*arguments)
        return {"UnprocessedItems": {}} if isinstance(result, dict) else result

    monkeypatch.setattr(Boto3BatchWriter, "_send", forget)


@pytest.mark.parametrize(
    "plant", [first_write_wins, checkpoint_after, no_deletes, unprocessed_forgotten]
)
def test_the_first_law_catches_a_planted_fault(
    plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Show that the property at the top can fail."""
    plant(monkeypatch)

    @settings(derandomize=True, database=None, phases=[Phase.generate], max_examples=2000)
    @given(healthy, st.data())
    def first_law(steps: list[Step], data: st.DataObject) -> None:
        table = make_table(steps)
        dynamodb, _, _ = deliver(table, Luck(data))
        assert shown(dynamodb) == union(table)

    with pytest.raises(AssertionError):
        first_law()
