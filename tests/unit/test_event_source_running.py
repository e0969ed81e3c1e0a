"""Polling, draining and running: every record is settled, whatever fails."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from threading import Event
from typing import Any

import pytest
from aws_lambda_powertools import Logger
from botocore.exceptions import ClientError, EndpointConnectionError
from hypothesis import given
from hypothesis import strategies as st

from adminview.local.event_source import RetryDelay, UnsettledRecordsError
from adminview.model.delivery import FOREVER, Delivery
from tests.support.stream_shards import FakeShard, Lab, failed, fails_with, refusal, rules


def test_a_shard_that_cannot_be_read_does_not_keep_the_others_from_their_turn() -> None:
    lab = Lab()
    lab.stream.put("A")
    lab.stream.put("B")
    lab.stream.refusals["A"] = [refusal("InternalServerError", 500)]

    with pytest.raises(ClientError, match="InternalServerError"):
        lab.source.poll()

    assert lab.batches == [["99"]]
    assert lab.source.drain() == 1


def test_draining_an_empty_stream_ends() -> None:
    lab = Lab()
    lab.stream.shards["A"] = FakeShard()

    assert lab.source.drain() == 0


def test_draining_polls_the_configured_number_of_times_before_it_takes_the_stream_for_empty() -> (
    None
):
    lab = Lab()
    polls: list[int] = []
    lab.stream.shards["A"] = FakeShard()
    real = lab.stream.get_records
    lab.stream.get_records = lambda **request: polls.append(1) or real(**request)  # type: ignore[method-assign,func-returns-value]  # a spy

    lab.source.drain(idle_passes=5)

    assert len(polls) == 5


def test_draining_gives_up_on_a_function_that_never_succeeds_and_says_where() -> None:
    lab = Lab(handler=fails_with("98"))
    lab.stream.put()

    with pytest.raises(UnsettledRecordsError, match=r"7 passes .* shard A at 98") as caught:
        lab.source.drain(attempts=7)

    assert isinstance(caught.value.__cause__, ValueError)


def test_draining_tries_as_often_as_allowed_and_no_more() -> None:
    lab = Lab(*[failed("98")] * 10)
    lab.stream.put()

    with pytest.raises(UnsettledRecordsError):
        lab.source.drain(attempts=7)

    assert len(lab.batches) == 7


class Shutdown(Event):
    """A stop signal that counts its waits, and comes by itself after some."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self.waits: list[float | None] = []
        self.after = after

    def wait(self, timeout: float | None = None) -> bool:
        """Note how long the wait would be, and do not wait."""
        self.waits.append(timeout)
        if len(self.waits) >= self.after:
            self.set()
        return self.is_set()


def test_running_goes_on_until_stopped_and_pauses_only_when_there_is_nothing() -> None:
    lab = Lab(delivery=rules(batch_size=1))
    lab.stream.put(count=3)
    stop = Shutdown(after=2)

    lab.source.run(stop, pause=7)

    assert len(lab.batches) == 3
    assert stop.waits == [7, 7]


def test_running_waits_no_longer_than_until_the_next_records_are_due() -> None:
    lab = Lab(ValueError(), backoff=RetryDelay(first=0.5))
    lab.stream.put()
    stop = Shutdown(after=1)

    lab.source.run(stop, pause=7)

    assert stop.waits == [0.5]


@pytest.mark.parametrize(
    "trouble",
    [
        refusal("InternalServerError", 500),
        refusal("LimitExceededException"),
        EndpointConnectionError(endpoint_url="http://127.0.0.1"),
    ],
)
def test_running_outlives_a_stream_that_cannot_be_read_for_a_while(trouble: Exception) -> None:
    lab = Lab()
    lab.stream.put()
    lab.stream.refusals["A"] = [trouble]

    lab.source.run(Shutdown(after=2))

    assert lab.batches == [["98"]]


def test_running_ends_when_the_stream_may_not_be_read() -> None:
    lab = Lab()
    lab.stream.put()
    lab.stream.refusals["A"] = [refusal("AccessDeniedException")]

    with pytest.raises(ClientError, match="AccessDenied"):
        lab.source.run(Shutdown(after=2))


def test_the_context_says_what_lambda_would_say() -> None:
    seen: list[Any] = []

    def handler(_: Any, context: Any) -> None:
        lab.now += 1.5
        seen.append(context)
        seen.append(context.get_remaining_time_in_millis())

    lab = Lab(handler=handler, function_name="sync", timeout_seconds=30)
    lab.stream.put()
    lab.source.drain()

    context, remaining = seen
    assert remaining == 28_500
    assert context.function_name == "sync"
    assert context.invoked_function_arn.endswith(":function:sync")
    assert context.function_version == "$LATEST"
    assert context.log_group_name == "/aws/lambda/sync"
    assert context.aws_request_id in context.log_stream_name


def test_powertools_can_log_with_the_context() -> None:
    logger = Logger(service="test")
    lab = Lab(handler=logger.inject_lambda_context(lambda *_: None))
    lab.stream.put()

    lab.source.drain()

    assert logger.get_current_keys()["function_name"] == "adminview-sync"


@dataclass
class Whim:
    """A handler that succeeds, reports any record, answers nonsense, or raises, as drawn."""

    outcomes: Iterator[str | int]
    settled: list[str] = field(default_factory=list)

    def __call__(self, event: dict[str, Any], _: Any) -> Any:
        """Answer one invocation."""
        numbers = [record["dynamodb"]["SequenceNumber"] for record in event["Records"]]
        outcome = next(self.outcomes, "success")
        if outcome == "raise":
            raise ValueError
        if outcome == "nonsense":
            return failed("?")
        done = len(numbers) if isinstance(outcome, str) else outcome % len(numbers)
        self.settled += numbers[:done]
        return failed(*numbers[done:])


OUTCOMES = st.lists(
    st.sampled_from(["success", "raise", "raise", "nonsense"]) | st.integers(0, 10), max_size=30
)


@given(
    shards=st.lists(st.tuples(st.integers(0, 8), st.booleans()), min_size=1, max_size=4),
    outcomes=OUTCOMES,
    refusals=st.lists(st.booleans(), max_size=5),
    delivery=st.builds(
        Delivery,
        batch_size=st.integers(1, 10),
        window_seconds=st.integers(0, 2),
        bisect=st.booleans(),
        retries=st.sampled_from([FOREVER, 0, 1, 3]),
        max_age_seconds=st.sampled_from([FOREVER, 60]),
    ),
)
def test_every_record_is_settled_once_by_success_or_one_dead_letter_in_order_per_shard(
    shards: Sequence[tuple[int, bool]],
    outcomes: Sequence[str | int],
    refusals: Sequence[bool],
    delivery: Delivery,
) -> None:
    whim, refused, lines = Whim(iter(outcomes)), iter(refusals), dict[str, list[str]]()

    def on_failure(letter: dict[str, Any]) -> None:
        if next(refused, False):
            raise OSError
        info = letter["DDBStreamBatchInfo"]
        line = lines[info["shardId"]]
        first = line.index(info["startSequenceNumber"])
        last = line.index(info["endSequenceNumber"])
        assert info["batchSize"] == last - first + 1
        whim.settled.extend(line[first : last + 1])

    lab = Lab(handler=whim, on_failure=on_failure, delivery=delivery)
    for number, (size, follows) in enumerate(shards):
        parent = str(number - 1) if follows else None
        if parent in lab.stream.shards:
            lab.stream.shards[parent].closed = True
        lab.stream.shards[str(number)] = FakeShard(parent)
        lab.stream.put(str(number), size)
    for name, shard in lab.stream.shards.items():
        before = lines.get(shard.parent, []) if shard.parent else []
        lines[name] = before + [record["dynamodb"]["SequenceNumber"] for record in shard.records]

    settled = lab.source.drain(attempts=100)

    assert settled == len(whim.settled) == sum(size for size, _ in shards)
    for line in lines.values():  # a shard's records, and before them those of its parents
        assert [number for number in whim.settled if number in line] == line
