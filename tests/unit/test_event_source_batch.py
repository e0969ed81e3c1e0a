"""The batches that follow each response, and the on-failure message at the end."""

from collections.abc import Iterable
from typing import Any

import pytest

from adminview.local.event_source.batch import BatchResult, Failure, StreamBatch
from adminview.local.event_source.event import StreamRecord
from adminview.local.event_source.on_failure import BatchOrigin, Condition, failure_message
from adminview.model.delivery import FOREVER, Delivery

ERROR = BatchResult(0, Failure.FUNCTION_ERROR)
WHOLE = Delivery(bisect=False, retries=2)
HALVES = Delivery(bisect=True, retries=2)
# The second is the smaller number, but the greater text.
NUMBERS = ["98", "99", "100", "101"]


def batch(*sequences: str, **more: Any) -> StreamBatch:
    return StreamBatch(tuple(StreamRecord(number, 0.0, "{}", 2) for number in sequences), **more)


def numbers(batches: Iterable[StreamBatch]) -> list[list[str]]:
    return [[record.sequence for record in batch.records] for batch in batches]


def report(*identifiers: object) -> dict[str, Any]:
    return {"batchItemFailures": [{"itemIdentifier": identifier} for identifier in identifiers]}


@pytest.mark.parametrize("response", [None, {}, report(), {"batchItemFailures": None}])
def test_an_empty_response_settles_the_whole_batch(response: object) -> None:
    assert batch(*NUMBERS).read(response) == BatchResult(4)


@pytest.mark.parametrize("reported", [["99"], ["100", "99"], ["101", "99", "100"]])
def test_the_lowest_reported_sequence_number_is_the_checkpoint(reported: list[str]) -> None:
    assert batch(*NUMBERS).read(report(*reported)) == BatchResult(1, Failure.PARTIAL)


@pytest.mark.parametrize(
    "response",
    [
        report("7"),
        report("99", "7"),
        report(""),
        report(None),
        report(["99"]),
        report(99),
        {"batchItemFailures": [{"wrongKey": "99"}]},
        {"batchItemFailures": ["99"]},
        {"batchItemFailures": "99"},
        {"batchItemFailures": {"itemIdentifier": "99"}},
        {"batchItemFailures": 5},
        {"failures": []},
        [],
        "done",
        False,
    ],
)
def test_a_response_that_names_no_record_of_the_batch_fails_it_as_a_whole(response: object) -> None:
    assert batch(*NUMBERS).read(response) == BatchResult(0, Failure.MALFORMED)


def test_a_batch_that_is_done_leaves_nothing() -> None:
    assert batch(*NUMBERS).after(BatchResult(4), HALVES) == ()


@pytest.mark.parametrize("failure", [Failure.FUNCTION_ERROR, Failure.MALFORMED])
def test_a_failed_batch_is_halved_without_using_up_a_retry(failure: Failure) -> None:
    halves = batch("1", "2", "3", "4", "5").after(BatchResult(0, failure), HALVES)

    assert numbers(halves) == [["1", "2"], ["3", "4", "5"]]
    assert [half.failures for half in halves] == [0, 0]
    assert [half.invocations for half in halves] == [1, 1]


def test_a_single_record_that_fails_uses_up_a_retry() -> None:
    [again] = batch("1").after(ERROR, HALVES)

    assert again.failures == 1


def test_without_bisect_a_failed_batch_stays_whole_and_uses_up_a_retry() -> None:
    [again] = batch(*NUMBERS).after(ERROR, WHOLE)

    assert numbers([again]) == [NUMBERS]
    assert again.failures == 1


def test_with_bisect_a_partial_failure_cuts_the_batch_without_using_up_a_retry() -> None:
    [rest] = batch(*NUMBERS, failures=1).after(BatchResult(2, Failure.PARTIAL), HALVES)

    assert numbers([rest]) == [["100", "101"]]
    assert rest.failures == 1


def test_with_bisect_a_partial_failure_of_the_first_record_has_nothing_to_cut_and_is_a_retry() -> (
    None
):
    [again] = batch(*NUMBERS).after(BatchResult(0, Failure.PARTIAL), HALVES)

    assert numbers([again]) == [NUMBERS]
    assert again.failures == 1


def test_without_bisect_a_partial_failure_is_a_retry_of_the_rest() -> None:
    [rest] = batch(*NUMBERS).after(BatchResult(3, Failure.PARTIAL), WHOLE)

    assert numbers([rest]) == [["101"]]
    assert rest.failures == 1


@pytest.mark.parametrize(
    ("failures", "retries", "exhausted"),
    [(0, 0, False), (1, 0, True), (2, 2, False), (3, 2, True), (10_000, FOREVER, False)],
)
def test_a_batch_is_tried_once_and_then_retried_as_often_as_allowed(
    failures: int, retries: int, *, exhausted: bool
) -> None:
    assert batch("1", failures=failures).exhausted(Delivery(retries=retries)) is exhausted


def test_only_records_at_the_front_expire_and_only_past_the_limit() -> None:
    mixed = StreamBatch(
        tuple(StreamRecord(str(at), at, "{}", 2) for at in (100.0, 120.0, 140.0, 100.0)),
    )

    assert mixed.expired(Delivery(max_age_seconds=60), now=160.0) == 0
    assert mixed.expired(Delivery(max_age_seconds=60), now=190.0) == 2
    assert mixed.expired(Delivery(max_age_seconds=60), now=1000.0) == 4
    assert mixed.expired(Delivery(max_age_seconds=FOREVER), now=1e12) == 0


ADDRESS = BatchOrigin("arn:aws:lambda:us-east-1:1:function:sync", "arn:stream", "shardId-1")


def test_a_dead_letter_has_lambdas_shape_and_no_data() -> None:
    tried = StreamBatch(
        (
            StreamRecord("4421584500000000017450439091", 1_767_225_600.0, "{}", 2),
            StreamRecord("4421584500000000017450439092", 1_767_225_661.0, "{}", 2),
        ),
        failures=4,
        invocations=4,
        last=BatchResult(0, Failure.FUNCTION_ERROR, "request-4"),
    )

    assert failure_message(tried, Condition.RETRIES, ADDRESS, 1_767_225_700.25) == {
        "requestContext": {
            "requestId": "request-4",
            "functionArn": "arn:aws:lambda:us-east-1:1:function:sync",
            "condition": "RetryAttemptsExhausted",
            "approximateInvokeCount": 4,
        },
        "responseContext": {
            "statusCode": 200,
            "executedVersion": "$LATEST",
            "functionError": "Unhandled",
        },
        "version": "1.0",
        "timestamp": "2026-01-01T00:01:40.250Z",
        "DDBStreamBatchInfo": {
            "shardId": "shardId-1",
            "startSequenceNumber": "4421584500000000017450439091",
            "endSequenceNumber": "4421584500000000017450439092",
            "approximateArrivalOfFirstRecord": "2026-01-01T00:00:00Z",
            "approximateArrivalOfLastRecord": "2026-01-01T00:01:01Z",
            "batchSize": 2,
            "streamArn": "arn:stream",
        },
    }


def test_a_dead_letter_names_no_function_error_when_the_function_reported_the_failure_itself() -> (
    None
):
    tried = batch("1", invocations=1, last=BatchResult(0, Failure.PARTIAL, "request-1"))

    written = failure_message(tried, Condition.RETRIES, ADDRESS, 0.0)

    assert written["responseContext"] == {"statusCode": 200, "executedVersion": "$LATEST"}


def test_a_dead_letter_about_records_that_were_never_delivered_has_no_response() -> None:
    written = failure_message(batch("1"), Condition.AGE, ADDRESS, 0.0)

    assert written["requestContext"]["condition"] == "RecordAgeExceeded"
    assert written["requestContext"]["approximateInvokeCount"] == 0
    assert written["requestContext"]["requestId"]
    assert "responseContext" not in written
