"""Failing records are retried, split and given up as Lambda does."""

from typing import Any

import pytest

from adminview.local.event_source import RetryDelay
from tests.support.stream_shards import ARN, NOW, Lab, failed, fails_with, rules


def test_a_failing_batch_is_halved_until_the_bad_record_stands_alone() -> None:
    delivered: list[list[str]] = []

    def handler(event: dict[str, Any], context: Any) -> None:
        delivered.append([record["dynamodb"]["SequenceNumber"] for record in event["Records"]])
        fails_with("100")(event, context)

    lab = Lab(handler=handler, delivery=rules(retries=1))
    lab.stream.put(count=4)

    assert lab.source.drain() == 4
    assert delivered == [
        ["98", "99", "100", "101"],
        ["98", "99"],
        ["100", "101"],
        ["100"],
        ["100"],  # the one retry: splitting took none
        ["101"],
    ]
    assert lab.ranges == [("RetryAttemptsExhausted", "100", "100")]


def test_without_bisect_a_batch_that_keeps_failing_goes_aside_whole_and_the_shard_goes_on() -> None:
    lab = Lab(*[ValueError()] * 3, delivery=rules(batch_size=2, bisect=False, retries=2))
    lab.stream.put(count=3)

    assert lab.source.drain() == 3
    assert lab.batches == [["98", "99"]] * 3 + [["100"]]
    assert lab.ranges == [("RetryAttemptsExhausted", "98", "99")]
    assert lab.letters[0]["requestContext"]["approximateInvokeCount"] == 3
    assert lab.letters[0]["DDBStreamBatchInfo"]["shardId"] == "A"
    assert lab.letters[0]["DDBStreamBatchInfo"]["streamArn"] == ARN


def test_with_no_retries_the_first_failure_is_the_last() -> None:
    lab = Lab(ValueError(), delivery=rules(retries=0))
    lab.stream.put()

    assert lab.source.poll() == 1
    assert lab.ranges == [("RetryAttemptsExhausted", "98", "98")]


def test_a_batch_is_retried_for_ever_without_a_limit() -> None:
    lab = Lab(*[failed("98")] * 500)
    lab.stream.put()

    assert lab.source.drain(attempts=1000) == 1
    assert len(lab.batches) == 501
    assert lab.letters == []


def test_records_that_are_too_old_are_not_delivered_but_put_aside() -> None:
    lab = Lab(delivery=rules(max_age_seconds=60))
    lab.stream.put(count=2, at=NOW - 61)
    lab.stream.put(at=NOW - 60)

    assert lab.source.drain() == 3
    assert lab.batches == [["100"]]
    assert lab.ranges == [("RecordAgeExceeded", "98", "99")]


def test_a_record_that_grows_too_old_while_it_fails_is_put_aside_and_the_next_goes_on() -> None:
    lab = Lab(handler=fails_with("98"), delivery=rules(batch_size=1, max_age_seconds=60))
    lab.stream.put()
    lab.stream.put(at=NOW + 50)

    assert lab.source.drain(attempts=100) == 2
    assert lab.ranges == [("RecordAgeExceeded", "98", "98")]
    assert lab.letters[0]["responseContext"]["functionError"] == "Unhandled"
    assert NOW + 60 < lab.now < NOW + 75


def test_records_stay_when_their_dead_letter_is_refused_and_the_function_is_not_invoked_again() -> (
    None
):
    letters: list[Any] = []

    def refuse_twice(letter: dict[str, Any]) -> None:
        letters.append(letter)
        if len(letters) < 3:
            raise OSError

    lab = Lab(ValueError(), on_failure=refuse_twice, delivery=rules(batch_size=1, retries=0))
    lab.stream.put(count=2)

    assert [lab.source.poll(), lab.source.poll()] == [0, 0]
    assert lab.batches == [["98"]]
    assert lab.source.drain() == 2
    assert lab.batches == [["98"], ["99"]]
    assert len(letters) == 3


def test_waits_between_retries_double_up_to_a_limit_and_are_reset_by_a_success() -> None:
    lab = Lab(*[ValueError()] * 5, None, ValueError(), backoff=RetryDelay(first=1, limit=4))
    lab.stream.put()
    lab.source.drain()
    lab.stream.put()

    lab.source.drain()

    assert lab.sleeps == [1, 2, 4, 4, 4, 1]


def test_a_shard_that_waits_is_not_tried_before_its_time() -> None:
    lab = Lab(ValueError(), backoff=RetryDelay(first=1))
    lab.stream.put()
    lab.source.poll()
    lab.now += 0.9

    assert lab.source.poll() == 0
    assert len(lab.batches) == 1


def test_nothing_passes_a_failing_record_of_its_shard_while_other_shards_go_on() -> None:
    lab = Lab(handler=None)
    settled: list[str] = []

    def handler(event: dict[str, Any], context: Any) -> None:
        if lab.now < NOW + 3:
            fails_with("98")(event, context)
        settled.extend(record["dynamodb"]["SequenceNumber"] for record in event["Records"])

    lab.source.handler = handler
    lab.source.delivery = rules(batch_size=1)
    lab.stream.put("A", 2)
    lab.stream.put("B", 2)

    lab.source.drain()

    assert settled == ["100", "101", "98", "99"]


def test_an_interrupt_loses_no_record() -> None:
    lab = Lab(KeyboardInterrupt())
    lab.stream.put()

    with pytest.raises(KeyboardInterrupt):
        lab.source.poll()

    assert lab.source.drain() == 1
    assert lab.batches == [["98"], ["98"]]
