"""Parent shards are read first, and lost records are reported."""

import pytest

from adminview.local.event_source import RetryDelay
from tests.support.stream_shards import FakeShard, Lab, rules


def test_a_child_is_read_only_after_its_parent_is_closed_and_settled() -> None:
    lab = Lab(delivery=rules(batch_size=1))
    lab.stream.shards["child"] = FakeShard(parent="parent")
    lab.stream.put("parent", 2)
    lab.stream.put("child", 1)

    assert lab.source.drain() == 2  # the parent is still open

    lab.stream.put("parent")
    lab.stream.shards["parent"].closed = True
    assert lab.source.drain() == 2
    assert lab.batches == [["98"], ["99"], ["101"], ["100"]]


def test_a_child_waits_while_a_record_of_its_closed_parent_fails() -> None:
    lab = Lab(*[ValueError()] * 3)
    lab.stream.put("parent")
    lab.stream.shards["parent"].closed = True
    lab.stream.shards["child"] = FakeShard(parent="parent")
    lab.stream.put("child")

    lab.source.drain()

    assert lab.batches == [["98"]] * 4 + [["99"]]


def test_a_child_waits_for_records_at_hand_of_a_parent_that_the_stream_forgot() -> None:
    lab = Lab(*[ValueError()] * 8, backoff=RetryDelay(first=10))
    lab.stream.put("parent")
    lab.stream.shards["child"] = FakeShard(parent="parent")
    lab.stream.put("child")
    lab.source.poll()

    del lab.stream.shards["parent"]
    lab.source.drain()

    assert lab.batches == [["98"]] * 9 + [["99"]]


def test_a_child_of_a_parent_that_is_long_gone_is_read_at_once() -> None:
    lab = Lab()
    lab.stream.shards["child"] = FakeShard(parent="gone")
    lab.stream.put("child")

    assert lab.source.poll() == 1


def test_generations_of_closed_shards_are_followed_to_the_last() -> None:
    lab = Lab()
    for name, parent in (("c", "b"), ("b", "a"), ("a", None)):
        lab.stream.shards[name] = FakeShard(parent, closed=name != "c")
    for name in ("a", "b", "c"):
        lab.stream.put(name)

    assert lab.source.drain() == 3
    assert lab.batches == [["98"], ["99"], ["100"]]


def test_a_shard_that_appears_later_is_found() -> None:
    lab = Lab()
    lab.stream.put("A")
    lab.source.drain()

    lab.stream.put("B")
    lab.now += 10

    assert lab.source.drain() == 1


def test_a_settled_shard_is_not_read_again() -> None:
    lab = Lab()
    lab.stream.put()
    lab.stream.shards["A"].closed = True
    lab.source.drain()
    lab.now += 100

    assert lab.source.drain() == 0


def test_reading_goes_on_behind_the_last_record_when_an_iterator_expired() -> None:
    lab = Lab()
    lab.stream.put(count=2)
    lab.source.drain()
    lab.stream.generation += 1
    lab.stream.put()

    lab.source.drain()

    assert lab.batches == [["98", "99"], ["100"]]


def test_an_iterator_that_expired_before_any_record_begins_at_the_oldest_again() -> None:
    lab = Lab()
    lab.stream.shards["A"] = FakeShard()
    lab.source.drain()
    lab.stream.generation += 1
    lab.stream.put()

    assert lab.source.drain() == 1


@pytest.mark.parametrize("expired", [0, 1])
def test_trimmed_records_are_reported_lost_and_reading_goes_on_at_the_oldest(
    expired: int, caplog: pytest.LogCaptureFixture
) -> None:
    lab = Lab()
    lab.stream.put()
    lab.source.drain()
    lab.stream.put(count=3)
    lab.stream.shards["A"].trimmed = 3
    lab.stream.generation += expired

    lab.source.drain()

    assert lab.batches == [["98"], ["101"]]
    assert "records were lost" in caplog.text
    assert "shard A after 98" in caplog.text


def test_a_shard_that_vanished_is_reported_lost_and_its_child_begins(
    caplog: pytest.LogCaptureFixture,
) -> None:
    lab = Lab()
    lab.stream.put("A")
    lab.source.drain()
    lab.stream.shards = {"B": FakeShard(parent="A")}
    lab.stream.put("B")

    assert lab.source.drain() == 1
    assert "the shard is gone" in caplog.text
