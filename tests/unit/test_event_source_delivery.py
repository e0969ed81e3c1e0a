"""Which records are delivered together, and how the response is parsed."""

from typing import Any

import pytest

from tests.support.stream_shards import Lab, failed, rules


def test_records_come_in_order_and_in_batches_of_the_configured_size() -> None:
    lab = Lab(delivery=rules(batch_size=2))
    lab.stream.put(count=5)

    assert lab.source.drain() == 5
    assert lab.batches == [["98", "99"], ["100", "101"], ["102"]]
    assert lab.letters == []


def test_a_batch_larger_than_one_page_of_the_stream_is_gathered_from_several() -> None:
    lab = Lab(delivery=rules(batch_size=2500))
    lab.stream.put(count=3000)

    lab.source.drain()

    assert [len(batch) for batch in lab.batches] == [2500, 500]


def test_a_batch_takes_no_more_records_than_fit_in_6_mb() -> None:
    lab = Lab(delivery=rules(batch_size=100))
    lab.stream.put(count=5, size=2_500_000)

    lab.source.drain()

    assert [len(batch) for batch in lab.batches] == [2, 2, 1]


def test_a_pass_makes_one_invocation_and_counts_what_it_settled() -> None:
    lab = Lab(delivery=rules(batch_size=2))
    lab.stream.put(count=3)

    assert [lab.source.poll(), lab.source.poll(), lab.source.poll()] == [2, 1, 0]


def test_records_wait_for_a_fuller_batch_until_the_window_is_over() -> None:
    lab = Lab(delivery=rules(batch_size=10, window_seconds=5))
    lab.stream.put()
    lab.source.poll()
    lab.now += 4.9
    lab.stream.put()
    lab.source.poll()
    assert lab.batches == []

    lab.now += 0.1
    lab.source.poll()

    assert lab.batches == [["98", "99"]]


def test_the_window_of_the_next_batch_begins_with_its_own_first_record() -> None:
    lab = Lab(delivery=rules(batch_size=10, window_seconds=5))
    lab.stream.put()
    lab.source.drain()
    lab.now += 100
    lab.stream.put()

    lab.source.poll()
    assert lab.batches == [["98"]]

    assert lab.source.drain() == 1
    assert lab.sleeps == [5, 5]


def test_a_full_batch_waits_for_no_window() -> None:
    lab = Lab(delivery=rules(batch_size=2, window_seconds=300))
    lab.stream.put(count=2)

    assert lab.source.poll() == 2


def test_a_batch_of_6_mb_waits_for_no_window() -> None:
    lab = Lab(delivery=rules(batch_size=100, window_seconds=300))
    lab.stream.put(count=3, size=2_500_000)

    assert lab.source.poll() == 2


def test_the_last_records_of_a_closed_shard_wait_for_no_window() -> None:
    lab = Lab(delivery=rules(window_seconds=300))
    lab.stream.put()
    lab.stream.shards["A"].closed = True

    assert lab.source.poll() == 1


def test_everything_from_the_reported_record_on_comes_again() -> None:
    lab = Lab(failed("101", "99"), delivery=rules(batch_size=4))
    lab.stream.put(count=6)

    assert lab.source.drain() == 6
    assert lab.batches == [["98", "99", "100", "101"], ["99", "100", "101"], ["102", "103"]]


@pytest.mark.parametrize("response", [failed("7"), failed(""), {"failures": []}, "done", {1, 2}])
def test_a_response_that_cannot_be_read_fails_the_whole_batch(response: object) -> None:
    lab = Lab(response, delivery=rules(bisect=False))
    lab.stream.put(count=2)

    lab.source.drain()

    assert lab.batches == [["98", "99"], ["98", "99"]]


def test_a_response_that_json_has_no_word_for_is_a_function_error() -> None:
    lab = Lab({"batchItemFailures": {1, 2}}, delivery=rules(retries=0))
    lab.stream.put()

    lab.source.drain()

    assert lab.letters[0]["responseContext"]["functionError"] == "Unhandled"


def test_a_handler_cannot_spoil_the_records_for_the_next_delivery() -> None:
    seen = []

    def invalidate(event: dict[str, Any], _: Any) -> Any:
        seen.append(event["Records"][0]["dynamodb"].pop("NewImage"))
        return failed("98") if len(seen) == 1 else None

    lab = Lab(handler=invalidate)
    lab.stream.put()

    lab.source.drain()

    assert seen[0] == seen[1]


def test_a_handler_that_answers_after_its_time_has_failed() -> None:
    lab: Lab = Lab(lambda *_: lab.sleep(31), timeout_seconds=30)
    lab.stream.put()

    lab.source.drain()

    assert lab.batches == [["98"], ["98"]]
