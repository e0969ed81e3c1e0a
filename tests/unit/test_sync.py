"""The handler under each fault: rows written, record reported, dead letters sent."""

import json
from typing import Any

import pytest

from adminview.aws.deadline import LONGEST_CALL
from adminview.aws.retry import Backoff
from adminview.handlers import sync as function
from adminview.handlers.sync import LETTERS_RESERVE, WRITES_RESERVE, sync
from adminview.model.errors import UnreadableRecordError
from tests.support.fakes import (
    TABLE,
    Context,
    FakeDynamoDB,
    FakeQueue,
    RecordingObserver,
    make_runtime,
    refusal,
)
from tests.support.model import USER, registry
from tests.support.stream_records import record

users = registry().source("Users")
DONE: dict[str, Any] = {"batchItemFailures": []}


def user(n: int, **more: Any) -> dict[str, Any]:
    return {"userId": f"u{n}", "name": f"name-{n}"} | more


def inserts(count: int, poison: tuple[int, ...] = ()) -> list[dict[str, Any]]:
    """Make records of users; those of *poison* have an address that no view can read."""
    return [
        record(users, None, user(n, addresses=[{}]) if n in poison else user(n), n + 1)
        for n in range(count)
    ]


def at(position: int) -> dict[str, Any]:
    return {"batchItemFailures": [{"itemIdentifier": f"{position + 1:021d}"}]}


def run(records: list[dict[str, Any]], **with_: Any) -> Any:
    context = with_.pop("context", Context())
    return sync({"Records": records}, context, make_runtime(registry(), **with_))


def unprocessed(*names: str) -> Any:
    """Leave the rows of the named users unprocessed, for ever."""
    owners = {f"USER#{name}" for name in names}
    return lambda requests: [r for r in requests if r["PutRequest"]["Item"]["PK"]["S"] in owners]


def test_a_batch_that_is_wholly_written_reports_nothing() -> None:
    dynamodb, received = FakeDynamoDB(), RecordingObserver()
    assert run(inserts(60), dynamodb=dynamodb, observer=received) == DONE
    assert len(dynamodb.rows) == 60
    (tally,) = received.batches
    assert (tally.records, tally.written, tally.rows_put, tally.lag_seconds) == (60, 60, 60, 10.0)


def test_an_empty_batch_is_done() -> None:
    assert run([]) == DONE


def test_what_stays_unprocessed_is_reported_at_the_earliest_record() -> None:
    forever = [unprocessed("u2", "u5")] * 100_000
    brief = Context(int(WRITES_RESERVE * 1000) + 100)
    dynamodb, received = FakeDynamoDB(forever), RecordingObserver()
    assert run(inserts(8), dynamodb=dynamodb, context=brief, observer=received) == at(2)
    assert sorted(pk for pk, _ in dynamodb.rows) == [f"USER#u{n}" for n in (0, 1, 3, 4, 6, 7)]
    (tally,) = received.batches
    assert (tally.written, tally.redelivered) == (2, 6)


def test_a_folded_row_is_reported_at_its_first_record() -> None:
    """The row of u1 was to be written by records 1 and 3: neither is in the view."""
    records = [*inserts(3), record(users, user(1), user(1, name="new"), 4)]
    brief = Context(int(WRITES_RESERVE * 1000) + 100)
    dynamodb = FakeDynamoDB([unprocessed("u1")] * 100_000)
    assert run(records, dynamodb=dynamodb, context=brief) == at(1)


def test_throttling_that_passes_is_waited_out() -> None:
    slept: list[float] = []
    dynamodb = FakeDynamoDB([refusal("ThrottlingException")] * 5)
    assert run(inserts(3), dynamodb=dynamodb, backoff=Backoff(sleep=slept.append)) == DONE
    assert len(slept) == 5
    assert len(dynamodb.rows) == 3


def test_a_table_that_cannot_be_written_to_keeps_the_whole_batch_in_the_stream() -> None:
    received = RecordingObserver()
    dynamodb = FakeDynamoDB([refusal("AccessDeniedException")])
    assert run(inserts(3), dynamodb=dynamodb, observer=received) == at(0)
    assert received.errors == {"AccessDeniedException"}


def test_a_handler_out_of_time_writes_nothing_and_reports_the_first_record() -> None:
    dynamodb, queue = FakeDynamoDB(), FakeQueue()
    answer = run(inserts(3, poison=(0,)), dynamodb=dynamodb, queue=queue, context=Context(10))
    assert (answer, dynamodb.rows, queue.bodies) == (at(0), {}, [])


def test_a_refused_row_sets_its_record_aside_and_the_others_are_written() -> None:
    records = [*inserts(3), record(users, None, USER, 4)]
    dynamodb, queue, received = FakeDynamoDB(bad={"ADDRESS#work"}), FakeQueue(), RecordingObserver()
    assert run(records, dynamodb=dynamodb, queue=queue, observer=received) == DONE
    (letter,) = map(json.loads, queue.bodies)
    assert letter["error"]["kind"] == "RefusedRowError"
    assert letter["owner"] == "Users/user-123"
    assert ["USER#user-123", "ADDRESS#work"] in letter["rows"]
    assert len(letter["rows"]) == 3
    assert len(dynamodb.rows) == 5
    (tally,) = received.batches
    assert (tally.written, tally.dead_lettered) == (3, 1)


def test_dead_letters_are_sent_after_the_writes() -> None:
    dynamodb = FakeDynamoDB()

    class Watching(FakeQueue):
        def send_message_batch(self, *call: Any, **named: Any) -> dict[str, Any]:
            assert len(dynamodb.rows) == 2
            return super().send_message_batch(*call, **named)

    queue = Watching()
    assert run(inserts(3, poison=(0,)), dynamodb=dynamodb, queue=queue) == DONE
    assert len(queue.bodies) == 1


def test_dead_letters_behind_the_checkpoint_wait_for_their_record_to_be_redelivered() -> None:
    brief = Context(int(WRITES_RESERVE * 1000) + 100)
    dynamodb, queue = FakeDynamoDB([unprocessed("u2")] * 100_000), FakeQueue()
    answer = run(inserts(5, poison=(1, 3)), dynamodb=dynamodb, queue=queue, context=brief)
    assert answer == at(2)
    assert [json.loads(body)["owner"] for body in queue.bodies] == ["Users/u1"]


def test_a_record_whose_dead_letter_the_queue_refuses_is_reported() -> None:
    queue, received = FakeQueue([refusal("AccessDenied")]), RecordingObserver()
    assert run(inserts(5, poison=(2, 4)), queue=queue, observer=received) == at(2)
    assert received.errors == {"dead-letter queue: AccessDenied"}
    (tally,) = received.batches
    assert (tally.dead_lettered, tally.redelivered, tally.letters) == (0, 3, 0)


def test_time_is_reserved_for_a_hung_call_and_for_the_dead_letters() -> None:
    assert LETTERS_RESERVE > LONGEST_CALL
    assert WRITES_RESERVE >= LETTERS_RESERVE + LONGEST_CALL


def test_an_event_that_is_none_of_a_stream_is_refused_in_words() -> None:
    with pytest.raises(UnreadableRecordError, match="takes events of DynamoDB Streams"):
        sync({}, Context(), make_runtime(registry()))  # type: ignore[typeddict-item]  # on purpose


def test_the_deployed_handler_makes_its_runtime_once(monkeypatch: pytest.MonkeyPatch) -> None:
    dynamodb = FakeDynamoDB()
    monkeypatch.setattr(function, "runtime", lambda: make_runtime(registry(), dynamodb))
    assert function.handle({"Records": inserts(1)}, Context()) == DONE
    assert len(dynamodb.rows) == 1


def test_many_refused_rows_of_one_record_make_one_dead_letter() -> None:
    many = USER | {"addresses": [{"id": f"{n}"} for n in range(60)]}
    bad = {f"ADDRESS#{n}" for n in range(60)}
    queue = FakeQueue()
    assert run([record(users, None, many)], dynamodb=FakeDynamoDB(bad=bad), queue=queue) == DONE
    (letter,) = map(json.loads, queue.bodies)
    assert len(letter["rows"]) == 61


def test_a_record_whose_row_a_refused_one_replaced_is_not_counted_as_written() -> None:
    records = [record(users, None, USER, 1), record(users, USER, USER | {"name": "x"}, 2)]
    received = RecordingObserver()
    run(records, dynamodb=FakeDynamoDB(bad={"PROFILE"}), observer=received)
    assert (received.batches[0].written, received.batches[0].dead_lettered) == (0, 2)


def test_a_batch_too_large_for_one_call_is_halved() -> None:
    too_large = refusal("413", status=413)
    dynamodb = FakeDynamoDB([too_large, too_large])
    assert run(inserts(20), dynamodb=dynamodb) == DONE
    assert len(dynamodb.rows) == 20


def test_a_row_that_no_request_can_hold_is_dead_lettered_alone() -> None:
    class Picky(FakeDynamoDB):
        def batch_write_item(self, RequestItems: dict[str, Any]) -> dict[str, Any]:  # noqa: N803 - boto3's
            if any("USER#u1" in str(request) for request in RequestItems[TABLE]):
                raise RecursionError
            return super().batch_write_item(RequestItems)

    dynamodb, queue = Picky(), FakeQueue()
    assert run(inserts(5), dynamodb=dynamodb, queue=queue) == DONE
    assert len(dynamodb.rows) == 4
    assert "RecursionError" in queue.bodies[0]


@pytest.mark.parametrize("id_", ["bad\uffff", "bad\ud800", "bad\x00", "Ünï"])
def test_any_key_fits_into_a_dead_letter(id_: str) -> None:
    queue = FakeQueue()
    assert run([record(users, None, {"userId": id_, "addresses": [{}]})], queue=queue) == DONE
    assert json.loads(queue.bodies[0])["key"] == {"userId": {"S": id_}}
