"""A call without a response may still arrive: an in-doubt dead letter has its items checked."""

import json
from dataclasses import replace
from functools import cached_property
from typing import Any, cast

import pytest
from botocore.exceptions import (
    BotoCoreError,
    ChecksumError,
    ClientError,
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    IncompleteReadError,
    NoCredentialsError,
    ReadTimeoutError,
    SSLError,
)

from adminview.aws.batch_writers import Boto3BatchWriter, HttpBatchWriter
from adminview.aws.clients import Clients
from adminview.aws.dead_letter_producer import DeadLetterProducer, LazyDeadLetterProducer
from adminview.aws.deadline import LONGEST_CALL, Deadline
from adminview.aws.responses import NotFromAwsError, is_in_doubt
from adminview.aws.view_table import ViewTable
from adminview.cli.output.dead_letters import item_of
from adminview.handlers.sync import WRITES_RESERVE, sync
from adminview.model.dead_letter import (
    IN_DOUBT,
    InDoubtLetter,
    Origin,
    TouchedItem,
    from_json,
)
from adminview.model.delivery import IN_DOUBT_SECONDS
from adminview.model.errors import RowError
from adminview.sync.dead_letter import in_doubt_letters
from tests.support.dead_letter_queue import Lab
from tests.support.dynamodb_writers import HASTY, client, make_http_client
from tests.support.fakes import (
    NO_WAIT,
    TABLE,
    Context,
    FakeDynamoDB,
    FakeQueue,
    RecordingObserver,
    a_put,
    key_of,
    make_runtime,
    refusal,
)
from tests.support.faulty_server import Faulty, answer, healthy, refuse, reset, wait
from tests.support.model import registry
from tests.support.stream_records import record

URL = "http://127.0.0.1"
TIMEOUT = ReadTimeoutError(endpoint_url=URL)
users = registry().source("Users")
DONE: dict[str, Any] = {"batchItemFailures": []}


def inserts(count: int) -> list[dict[str, Any]]:
    return [record(users, None, {"userId": f"u{n}", "name": "x"}, n + 1) for n in range(count)]


def in_doubt(queue: FakeQueue) -> list[list[str]]:
    """List the owners that each in-doubt dead letter names."""
    letters = [json.loads(body) for body in queue.bodies]
    return [
        [item["owner"] for item in letter["items"]]
        for letter in letters
        if letter["kind"] == IN_DOUBT
    ]


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (TIMEOUT, True),
        (ConnectionClosedError(endpoint_url=URL), True),
        (IncompleteReadError(actual_bytes=1, expected_bytes=2), True),
        (ChecksumError(checksum_type="crc32", expected_checksum="1", actual_checksum="2"), True),
        (NotFromAwsError(operation="PutItem", member="ConsumedCapacity"), True),
        (refusal("504", status=504), True),
        (refusal("502", status=502), True),
        (ConnectTimeoutError(endpoint_url=URL), False),
        (EndpointConnectionError(endpoint_url=URL), False),
        (SSLError(endpoint_url=URL, error=OSError("DECRYPTION_FAILED")), True),
        (SSLError(endpoint_url=URL, error=OSError("[SSL: CERTIFICATE_VERIFY_FAILED]")), False),
        (refusal("", status=500), True),
        (refusal("None", status=503), True),
        (NoCredentialsError(), False),
        (refusal("InternalServerError", status=500), False),
        (refusal("ThrottlingException"), False),
        (refusal("413", status=413), False),
    ],
)
def test_a_call_is_in_doubt_if_it_may_have_been_sent_and_dynamodb_did_not_answer(
    error: ClientError | BotoCoreError,
    expected: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    assert is_in_doubt(error) is expected


def test_one_dead_letter_per_call_names_its_owners_and_waits_until_the_call_cannot_arrive() -> None:
    dynamodb, queue, received = FakeDynamoDB([TIMEOUT]), FakeQueue(), RecordingObserver()
    runtime = make_runtime(registry(), dynamodb, queue, received)
    assert sync({"Records": inserts(3)}, Context(), runtime) == DONE
    assert len(dynamodb.rows) == 3, "the call was repeated"
    assert in_doubt(queue) == [["Users/u0", "Users/u1", "Users/u2"]]
    assert queue.delays == [IN_DOUBT_SECONDS]
    assert IN_DOUBT_SECONDS >= 6 * 60
    (tally,) = received.batches
    assert (tally.written, tally.dead_lettered, tally.in_doubt) == (3, 0, 1)
    (letter,) = (json.loads(body) for body in queue.bodies)
    assert [item["key"] for item in letter["items"]] == [
        {"userId": {"S": f"u{n}"}} for n in (0, 1, 2)
    ]
    assert [item["rows"] for item in letter["items"]] == [
        [[f"USER#u{n}", "PROFILE"]] for n in (0, 1, 2)
    ]


def test_a_call_that_times_out_repeatedly_is_one_dead_letter() -> None:
    queue = FakeQueue()
    runtime = make_runtime(registry(), FakeDynamoDB([TIMEOUT] * 9), queue)
    sync({"Records": inserts(2)}, Context(), runtime)
    assert in_doubt(queue) == [["Users/u0", "Users/u1"]]


def test_a_call_that_was_never_sent_or_was_answered_leaves_no_dead_letter() -> None:
    queue = FakeQueue()
    faults = [ConnectTimeoutError(endpoint_url=URL), refusal("ThrottlingException")]
    sync({"Records": inserts(2)}, Context(), make_runtime(registry(), FakeDynamoDB(faults), queue))
    assert queue.bodies == []


def test_what_stays_unwritten_is_in_doubt_too() -> None:
    """Its redelivery writes the rows again, and knows nothing of the call that may arrive."""
    queue = FakeQueue()
    denied = refusal("AccessDeniedException")
    runtime = make_runtime(registry(), FakeDynamoDB([TIMEOUT, denied]), queue)
    response = sync({"Records": inserts(2)}, Context(), runtime)
    assert response["batchItemFailures"] == [{"itemIdentifier": f"{1:021d}"}]
    assert in_doubt(queue) == [["Users/u0", "Users/u1"]]


def test_a_dead_letter_that_the_queue_refuses_keeps_the_batch_and_is_sent_later() -> None:
    queue = FakeQueue([refusal("AccessDenied", "SendMessageBatch")])
    runtime = make_runtime(registry(), FakeDynamoDB([TIMEOUT]), queue)
    response = sync({"Records": inserts(2)}, Context(), runtime)
    assert response["batchItemFailures"] == [{"itemIdentifier": f"{1:021d}"}]
    assert queue.bodies == []
    other = [record(users, None, {"userId": "other", "name": "x"}, 7)]
    assert sync({"Records": other}, Context(), runtime) == DONE
    assert in_doubt(queue) == [["Users/u0", "Users/u1"]]
    assert sync({"Records": other}, Context(), runtime) == DONE
    assert len(queue.bodies) == 1, "once"


def test_a_kept_dead_letter_is_sent_before_the_next_invocation_writes() -> None:
    """An invocation that is killed while it writes can then lose no doubt but its own."""
    queue, received = FakeQueue([refusal("AccessDenied", "SendMessageBatch")]), RecordingObserver()
    sent_before_writing: list[int] = []

    class Watched(FakeDynamoDB):
        def _fail(self, requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
            sent_before_writing.append(len(queue.bodies))
            return super()._fail(requests)

    runtime = make_runtime(registry(), Watched([TIMEOUT]), queue, received)
    sync({"Records": inserts(2)}, Context(), runtime)
    assert queue.bodies == []
    assert sync({"Records": inserts(2)}, Context(), runtime) == DONE
    assert sent_before_writing == [0, 0, 1]
    assert received.batches[-1].letters == 1, "it is counted, and logged, by whoever sent it"


def test_an_unsent_in_doubt_dead_letter_moves_no_checkpoint_past_an_unwritten_record() -> None:
    """The first call is refused for good, the second is in doubt, and the queue is closed."""
    faults: dict[int, list[Exception]] = {0: [refusal("AccessDeniedException")], 1: [TIMEOUT]}

    class ByCall(FakeDynamoDB):
        def _fail(self, requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
            first = int(key_of(requests[0])[0].removeprefix("USER#u")) // 25
            if faults.get(first):
                raise faults[first].pop()
            return []

    queue = FakeQueue([refusal("AccessDenied", "SendMessageBatch")])
    runtime = make_runtime(registry(), ByCall(), queue)
    response = sync({"Records": inserts(60)}, Context(), runtime)
    assert response["batchItemFailures"] == [{"itemIdentifier": f"{1:021d}"}]


@pytest.mark.parametrize("surprise", [MemoryError(), RuntimeError("a bug")])
def test_a_call_in_doubt_is_reported_though_the_invocation_fails(surprise: Exception) -> None:
    queue = FakeQueue()

    class Failing(Boto3BatchWriter):
        def send(self, table: str, calls: Any, deadline: Deadline) -> Any:
            if sent:
                raise surprise
            sent.append(calls)
            return super().send(table, calls, deadline)

    sent: list[Any] = []
    runtime = make_runtime(registry(), FakeDynamoDB([TIMEOUT]), queue)
    view = ViewTable(Failing(cast("Any", FakeDynamoDB([TIMEOUT]))), TABLE, NO_WAIT)
    with pytest.raises(type(surprise)):
        sync({"Records": inserts(3)}, Context(), replace(runtime, view=view))
    assert in_doubt(queue) == [["Users/u0", "Users/u1", "Users/u2"]]


def test_a_call_that_hangs_at_the_last_moment_leaves_time_to_make_the_queues_client(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Then boto3 is loaded for the first time, which takes long."""
    now, queue = [1000.0], FakeQueue()

    def hang(_: Any) -> Any:
        now[0] += LONGEST_CALL
        raise TIMEOUT

    class Slow(Clients):
        @cached_property
        def sqs(self) -> Any:
            now[0] += 1.9
            return queue

    class Clock(Deadline):
        @classmethod
        def after(cls, seconds: float, *_: Any) -> Deadline:
            return Deadline.after(seconds, lambda: now[0])

    monkeypatch.setattr("adminview.handlers.sync.Deadline", Clock)
    runtime = make_runtime(registry(), FakeDynamoDB([hang]))
    brief = Context(int(WRITES_RESERVE * 1000) + 1)
    with_ = replace(runtime, dead_letters=LazyDeadLetterProducer(Slow(), "queue"))
    response = sync({"Records": inserts(2)}, brief, with_)
    assert response["batchItemFailures"] == [{"itemIdentifier": f"{1:021d}"}]
    assert in_doubt(queue) == [["Users/u0", "Users/u1"]]
    end = 1000.0 + brief.remaining_ms / 1000
    assert end - now[0] > LONGEST_CALL, "the call of SQS may hang, too"


@pytest.mark.parametrize("fault", [wait, reset, answer(200, "<html>"), answer(502, "<html>")])
@pytest.mark.parametrize("client_kind", ["direct", "boto3"])
def test_both_clients_report_a_call_without_a_response(fault: Any, client_kind: str) -> None:
    with Faulty([fault]) as server:
        writer: Any = (
            HttpBatchWriter(make_http_client(server.url, HASTY))
            if client_kind == "direct"
            else Boto3BatchWriter(client(server.url, HASTY))
        )
        outcome = ViewTable(writer, TABLE, NO_WAIT).write(
            [a_put(n) for n in range(3)], deadline=Deadline.after(60)
        )
    assert outcome.written == 3
    assert outcome.in_doubt == {("P", str(n)): "o" for n in range(3)}
    assert outcome.unanswered == 1


@pytest.mark.parametrize("fault", [healthy, refuse("ThrottlingException"), refuse("X", 500)])
def test_a_response_of_dynamodb_leaves_no_doubt(fault: Any) -> None:
    with Faulty([fault]) as server:
        view = ViewTable(HttpBatchWriter(make_http_client(server.url)), TABLE, NO_WAIT)
        outcome = view.write([a_put(0)], deadline=Deadline.after(60))
    assert (outcome.written, outcome.in_doubt) == (1, {})


ORIGIN = Origin(source="Things", table="Things", at=1.0, model="m")


def touched(name: str, rows: int = 1) -> TouchedItem:
    keys = frozenset(("P", str(n)) for n in range(rows))
    return TouchedItem(key={"id": {"S": name}}, owner=f"Things/{name}", rows=keys)


def test_an_in_doubt_dead_letter_is_read_back_as_it_was_written() -> None:
    (written,) = in_doubt_letters(0, ORIGIN, [touched("a", 2), touched("b")])
    letter = from_json(written.body)
    assert isinstance(letter, InDoubtLetter)
    assert letter.items == (touched("a", 2), touched("b"))
    assert letter.latest_error.kind == "UnansweredCallError"


def test_dead_letters_stay_small_whatever_a_call_held() -> None:
    many = [touched(f"{n}", 20_000) for n in range(60)]
    letters = [*in_doubt_letters(0, ORIGIN, many)]
    assert all(len(letter.body) < 256 * 1024 for letter in letters)
    named = [
        item["key"]["id"]["S"] for letter in letters for item in json.loads(letter.body)["items"]
    ]
    assert named == [f"{n}" for n in range(60)]


def test_a_replay_reconciles_every_item_of_an_in_doubt_dead_letter_and_deletes_it() -> None:
    lab = Lab()
    (written,) = in_doubt_letters(0, ORIGIN, [touched("a"), touched("b")])
    lab.sqs.add(written.body)
    summary = lab.replay()
    assert {"reconcile Things/a", "reconcile Things/b"} <= {*lab.log}
    assert (summary.items, lab.letters()) == (2, [])


def test_of_an_in_doubt_dead_letter_only_the_item_that_fails_stays_in_the_queue() -> None:
    lab = Lab()
    (written,) = in_doubt_letters(0, ORIGIN, [touched("a"), touched("poison")])
    lab.sqs.add(written.body)
    lab.fail("poison", RowError("planted"))
    lab.replay()
    (left,) = lab.letters()
    assert (left["kind"], left["owner"]) == ("adminview.letter/1", "Things/poison")


def test_the_commands_show_an_in_doubt_dead_letter() -> None:
    lab = Lab()
    (written,) = in_doubt_letters(0, ORIGIN, [touched("a"), touched("b"), touched("c")])
    lab.sqs.add(written.body)
    (message,) = lab.replayer.consumer.take(deadline=Deadline.after(60))
    resolved = lab.replayer.resolver.resolve(message)
    assert item_of(resolved) == "Things/a and 2 more"
    assert resolved.letter.latest_error.reason.startswith("a write ended without a response")


class Answering:
    """An SQS that gives some responses, and then takes everything."""

    def __init__(self, *responses: dict[str, Any]) -> None:
        self.responses = [*responses]
        self.calls = 0

    def send_message_batch(self, Entries: Any, **_: Any) -> dict[str, Any]:  # noqa: N803 - boto3's
        """Give the next response."""
        self.calls += 1
        if self.responses:
            return self.responses.pop(0)
        return {"Successful": [{"Id": entry["Id"]} for entry in Entries]}


def send_one(sqs: Answering) -> tuple[int, set[str], int]:
    """Send one dead letter; return how many are left, the errors, and the number of calls."""
    letters = [*in_doubt_letters(0, ORIGIN, [touched("a")])]
    now = iter(range(100))
    deadline = Deadline(10.0, lambda: float(next(now)))
    unsent, codes = DeadLetterProducer(cast("Any", sqs), "queue", NO_WAIT).send(
        letters, deadline=deadline
    )
    return len(unsent), codes, sqs.calls


# A proxy's page, of which boto3 makes an empty dict, and what else names no success.
UNCONFIRMED: list[dict[str, Any]] = [
    {},
    {"Successful": None},
    {"Successful": None, "Failed": None},
    {"Successful": [{}]},
]


@pytest.mark.parametrize("response", UNCONFIRMED)
def test_a_send_that_nobody_confirmed_is_not_sent(response: dict[str, Any]) -> None:
    unsent, codes, _ = send_one(Answering(*[response] * 100))
    assert (unsent, codes) == (1, {"NotFromAwsError"})


@pytest.mark.parametrize("response", UNCONFIRMED)
def test_a_send_that_nobody_confirmed_is_repeated(response: dict[str, Any]) -> None:
    assert send_one(Answering(response)) == (0, {"NotFromAwsError"}, 2)


def test_a_failure_is_the_senders_only_if_sqs_says_so() -> None:
    silent = {"Failed": [{"Id": "0", "Code": "InternalError"}]}
    assert send_one(Answering(silent)) == (0, {"InternalError"}, 2), "tried again"
    ours = {"Failed": [{"Id": "0", "Code": "InvalidMessage", "SenderFault": True}]}
    assert send_one(Answering(ours)) == (1, {"InvalidMessage"}, 1), "in vain"
    nameless = {"Failed": [{"Id": "0"}]}
    assert send_one(Answering(nameless)) == (0, {"Unknown"}, 2)
