"""Each write reaches the table once, whatever BatchWriteItem leaves unprocessed."""

import gc
import threading
from base64 import b64encode
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import boto3
import pytest
from botocore.exceptions import EndpointConnectionError, NoCredentialsError
from botocore.stub import Stubber

from adminview.aws.attribute_codec import for_boto3, from_boto3
from adminview.aws.batch_writers import Boto3BatchWriter
from adminview.aws.concurrency import MAX_CONCURRENCY
from adminview.aws.deadline import Deadline
from adminview.aws.retry import LONGEST_PAUSE, Backoff, is_transient
from adminview.aws.view_table import BATCH_LIMIT, ViewTable
from adminview.sync.fold import Write
from tests.support.fakes import (
    NETWORK_DOWN,
    NO_WAIT,
    TABLE,
    FakeDynamoDB,
    a_put,
    a_write,
    refusal,
)


def puts(count: int, start: int = 0) -> list[Write]:
    return [a_put(n) for n in range(start, start + count)]


def table(dynamodb: Any, backoff: Backoff = NO_WAIT) -> ViewTable:
    return ViewTable(Boto3BatchWriter(dynamodb), TABLE, backoff)


SOON = 30.0
BLOB = b64encode(b"\x00\xff").decode()


@pytest.mark.parametrize("count", [0, 1, 25, 26, 260])
def test_writes_go_out_in_calls_of_twenty_five(count: int) -> None:
    dynamodb = FakeDynamoDB()
    outcome = table(dynamodb).write(puts(count), deadline=Deadline.after(SOON))
    assert len(dynamodb.rows) == outcome.written == count
    assert len(dynamodb.calls) == -(-count // BATCH_LIMIT)


def test_a_deletion_removes_its_row() -> None:
    dynamodb = FakeDynamoDB()
    table(dynamodb).write(puts(2), deadline=Deadline.after(SOON))
    table(dynamodb).write([a_write(("P", "0"), None)], deadline=Deadline.after(SOON))
    assert list(dynamodb.rows) == [("P", "1")]


def test_unprocessed_items_are_sent_again_until_all_are_in() -> None:
    dynamodb = FakeDynamoDB([lambda r: r[1:], lambda r: r[:-1], lambda r: r, lambda r: r[2:]])
    outcome = table(dynamodb).write(puts(25), deadline=Deadline.after(SOON))
    assert dynamodb.calls == [25, 24, 23, 23, 21]
    assert len(dynamodb.rows) == outcome.written == 25
    assert outcome.unwritten == []


@pytest.mark.parametrize(
    "error",
    [
        refusal("ProvisionedThroughputExceededException"),
        refusal("ThrottlingException"),
        refusal("RequestLimitExceeded"),
        refusal("InternalServerError", status=500),
        refusal("SomethingNew", status=503),
        NETWORK_DOWN,
        EndpointConnectionError(endpoint_url="http://127.0.0.1"),
    ],
)
def test_what_passes_is_tried_again(error: Exception) -> None:
    dynamodb = FakeDynamoDB([error, error])
    outcome = table(dynamodb).write(puts(3), deadline=Deadline.after(SOON))
    assert outcome.written == 3
    assert dynamodb.calls == [3, 3, 3]


@pytest.mark.parametrize(
    "error",
    [
        refusal("AccessDeniedException"),
        refusal("ResourceNotFoundException"),
        refusal("UnrecognizedClientException"),
        NoCredentialsError(),
    ],
)
def test_what_is_nobodys_row_is_not_tried_again_and_stays_in_the_stream(error: Exception) -> None:
    dynamodb = FakeDynamoDB([error])
    outcome = table(dynamodb).write(puts(3), deadline=Deadline.after(SOON))
    assert len(outcome.unwritten) == 3
    assert outcome.refused == []
    assert dynamodb.calls == [3]
    assert len([*outcome.errors]) == 1


def test_what_is_not_in_by_the_deadline_is_returned() -> None:
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += max(seconds, 0.5)

    dynamodb = FakeDynamoDB([refusal("ThrottlingException")] * 1000)
    deadline = Deadline(10.0, lambda: now[0])
    outcome = table(dynamodb, Backoff(sleep=sleep)).write(puts(30), deadline=deadline)
    assert len(outcome.unwritten) == 30
    assert {*outcome.errors} == {"ThrottlingException"}
    assert 10.0 <= now[0] < 11.5


def test_past_its_deadline_nothing_is_sent() -> None:
    dynamodb = FakeDynamoDB()
    outcome = table(dynamodb).write(puts(3), deadline=Deadline.after(-1))
    assert (dynamodb.calls, len(outcome.unwritten)) == ([], 3)


def test_a_refused_call_is_halved_until_the_bad_row_stands_alone() -> None:
    dynamodb = FakeDynamoDB(bad={"7", "8"})
    outcome = table(dynamodb).write(puts(25), deadline=Deadline.after(SOON))
    assert [(write.key[1], code) for write, code in outcome.refused] == [
        ("7", "ValidationException"),
        ("8", "ValidationException"),
    ]
    assert len(dynamodb.rows) == outcome.written == 23
    assert len(dynamodb.calls) <= 2 * 2 * 6


def test_a_row_that_botocore_itself_refuses_is_refused_alone() -> None:
    client = boto3.client(
        "dynamodb", region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x"
    )
    good, bad = a_put(0), a_put(1, odd={"S": 5})
    with Stubber(client) as stub:
        stub.add_response("batch_write_item", {"UnprocessedItems": {}})
        stub.add_response("batch_write_item", {"UnprocessedItems": {}})  # never used
        outcome = table(client).write([good, bad], deadline=Deadline.after(SOON))
    assert [write for write, _ in outcome.refused] == [bad]
    assert outcome.written == 1


@pytest.mark.parametrize("value", [{"B": "no base64"}, {}, {"L": [{"B": 5}]}])
def test_a_row_that_cannot_be_put_into_a_request_is_refused_alone(value: dict[str, Any]) -> None:
    dynamodb = FakeDynamoDB()
    writes = puts(5)
    writes[3] = a_put(3, data={"M": {"blob": {"B": BLOB}, "odd": value}})
    outcome = table(dynamodb).write(writes, deadline=Deadline.after(SOON))
    assert [(write.key[1], code) for write, code in outcome.refused] == [
        ("3", "UnsendableRowError")
    ]
    assert len(dynamodb.rows) == 4


def test_a_fault_of_our_own_is_no_rows_fault() -> None:
    dynamodb = FakeDynamoDB([ValueError("not about any row")])
    with pytest.raises(ValueError, match="not about any row"):
        table(dynamodb).write(puts(3), deadline=Deadline.after(SOON))


class Crowd(FakeDynamoDB):
    """Lets calls through only when as many as expected wait together."""

    def __init__(self, expected: int) -> None:
        super().__init__()
        self.map_concurrently = threading.Barrier(expected, timeout=20)

    def batch_write_item(self, RequestItems: dict[str, Any]) -> dict[str, Any]:  # noqa: N803 - boto3's
        self.map_concurrently.wait()
        return super().batch_write_item(RequestItems)


def test_calls_of_one_batch_run_at_once() -> None:
    dynamodb = Crowd(MAX_CONCURRENCY)
    outcome = table(dynamodb).write(
        puts(BATCH_LIMIT * MAX_CONCURRENCY), deadline=Deadline.after(SOON)
    )
    assert outcome.written == BATCH_LIMIT * MAX_CONCURRENCY


class Slow(FakeDynamoDB):
    """Fails its first call while others are under way, and counts those that are."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error: Exception | None = error
        self.others, self.failed = threading.Event(), threading.Event()
        self.under_way = 0

    def batch_write_item(self, RequestItems: dict[str, Any]) -> dict[str, Any]:  # noqa: N803 - boto3's
        with self._lock:
            error, self.error = self.error, None
            self.under_way += 1
        try:
            if error:
                assert self.others.wait(20)
                raise error
            self.others.set()
            self.failed.wait(0.2)  # so that it lasts for longer than the one that fails
            return super().batch_write_item(RequestItems)
        finally:
            with self._lock:
                self.under_way -= 1


@pytest.mark.parametrize("error", [MemoryError(), refusal("AccessDeniedException")])
def test_no_call_is_under_way_when_write_ends_however_it_ends(error: Exception) -> None:
    dynamodb = Slow(error)
    view = table(dynamodb)
    with suppress(MemoryError):
        view.write(puts(400), deadline=Deadline.after(SOON))
    assert dynamodb.under_way == 0
    written = len(dynamodb.rows)
    assert view.write(puts(200, start=1000), deadline=Deadline.after(SOON)).written == 200
    assert len(dynamodb.rows) == written + 200, "nothing of the first write came after it"


def test_threads_are_kept_between_writes_and_end_with_the_table() -> None:
    before = set(threading.enumerate())
    view = table(FakeDynamoDB())
    for _ in range(5):
        view.write(puts(400), deadline=Deadline.after(SOON))
    kept = set(threading.enumerate()) - before
    assert 0 < len(kept) <= MAX_CONCURRENCY
    del view
    gc.collect()
    for thread in kept:
        thread.join(20)
    assert not any(thread.is_alive() for thread in kept)


def test_pauses_grow_with_full_jitter_and_end_at_the_deadline() -> None:
    slept: list[float] = []
    bounds: list[float] = []

    def jitter(low: float, high: float) -> float:
        assert low == 0
        bounds.append(high)
        return high

    backoff = Backoff(sleep=slept.append, jitter=jitter)
    for attempt in (0, 1, 2, 30):
        backoff.pause(attempt, Deadline.after(SOON))
    assert bounds == [0.05, 0.1, 0.2, LONGEST_PAUSE]
    backoff.pause(30, Deadline(1.0, lambda: 0.5))
    backoff.pause(30, Deadline(1.0, lambda: 2.0))
    assert slept[-2:] == [0.5, 0.0]


def test_credentials_that_are_missing_do_not_pass_by_themselves() -> None:
    assert not is_transient(NoCredentialsError())


@pytest.mark.parametrize("untyped", [{"L": [{}, {"S": "x"}]}, {}, {"M": {"a": {}}}])
def test_a_map_that_an_engine_left_untyped_gets_its_type_back(untyped: Any) -> None:
    restored = from_boto3({"a": untyped})
    assert all(_values({"M": restored}))


def _values(value: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Go through all values within one."""
    yield value
    for kind, content in value.items():
        inner = content.values() if kind == "M" else content if kind == "L" else ()
        for element in inner:
            yield from _values(element)


def test_binary_becomes_bytes_for_boto3_and_text_again() -> None:
    row: dict[str, Any] = {
        "B": {"S": "named like a type"},
        "x": {"M": {"deep": {"L": [{"B": BLOB}, {"BS": [BLOB]}, {"N": "1"}]}}},
    }
    sent = for_boto3(row)
    assert sent["x"]["M"]["deep"]["L"][0] == {"B": b"\x00\xff"}
    assert sent["x"]["M"]["deep"]["L"][1] == {"BS": [b"\x00\xff"]}
    assert from_boto3(sent) == row


def test_a_row_without_binary_is_not_copied() -> None:
    row = {"x": {"M": {"deep": {"S": "y"}}}}
    assert for_boto3(row) is row
