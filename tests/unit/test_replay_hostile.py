"""No message and no failure of the queue stops a replay or loses a dead letter."""

import json
from collections.abc import Iterator
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adminview.aws.deadline import Deadline
from adminview.aws.streams import Streams
from adminview.cli.output import dead_letters as shown
from adminview.dead_letters.letter_filter import LetterFilter
from adminview.dead_letters.replay_summary import LetterOutcome
from adminview.dead_letters.resolve import LetterResolver
from adminview.model.dead_letter import from_json, retried
from adminview.model.errors import (
    ExpiredRecordsError,
    ServiceError,
    UnknownLetterError,
    ViewError,
)
from tests.support.dead_letter_queue import (
    ROUTES,
    FakeStreams,
    Lab,
    batch_facts,
    facts,
    lambdas_own,
    letter_body,
    message,
)
from tests.support.fakes import NO_WAIT, refusal

ERROR = {"kind": "E", "reason": "r"}
ATTEMPTS = {"attempts": {"count": 1, "at": "2026-01-01T00:00:00+00:00", "error": ERROR}}
POISON = ViewError(LookupError())
HOSTILE = {
    "a long number": "1" * 5000,
    "a deep list": "[" * 100_000,
    "a time of text": letter_body(at="x"),
    "no time at all": letter_body(at=float("nan")),
    "a source that is a list": letter_body(source=["x"]),
    "a count of text": letter_body(attempts={"count": "x", "error": ERROR}),
    "a count without end": letter_body(attempts={"count": float("inf"), "error": ERROR}),
    "a key without types": letter_body(key={"id": "a"}),
    "a key of a wrong type": letter_body(key={"id": {"S": 5}}),
    "a key that cannot be sent": letter_body(key={"id": {"S": "\ud800"}}),
    "an empty key": letter_body(key={"id": {"S": ""}}),
    "a key of another source": letter_body(key={"other": {"S": "a"}}),
    "a row that no table can hold": letter_body(rows=[["", "x"]]),
    "a row with too long a key": letter_body(rows=[["x", "x" * 1025]]),
    "a batch without end": lambdas_own(batchSize=float("inf")),
    "a batch that ends before it begins": lambdas_own(5, 1),
    "a sequence number without end": lambdas_own(endSequenceNumber="9" * 5000),
    "a batch tried so often": json.dumps(batch_facts() | {"attempts": {"count": "x"}}),
}


@pytest.fixture
def lab() -> Lab:
    """Begin with an empty queue."""
    return Lab()


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_message_is_left_and_harms_no_other(lab: Lab, body: str) -> None:
    lab.sqs.add(letter_body("b"), body, letter_body("c"))
    summary = lab.replay()
    assert summary.outcomes == {LetterOutcome.RECONCILED: 2, LetterOutcome.UNKNOWN: 1}
    assert list(lab.sqs.bodies.values()) == [body]


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_message_can_be_shown(body: str) -> None:
    assert shown.letter_table(body)


def test_a_dead_letter_of_any_depth_is_resolved_or_left() -> None:
    for depth in range(900, 1000, 3):
        lab = Lab()
        lab.fail("a", POISON)
        lab.sqs.add(letter_body()[:-1] + ', "x": ' + "[" * depth + "]" * depth + "}")
        assert lab.replay().outcomes.total() == 1


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda some: (
        st.lists(some)
        | st.dictionaries(
            st.sampled_from(["S", "N", "B", "id", "count", "error", "kind", "reason"]), some
        )
    ),
    max_leaves=6,
)


def paths(part: Any, at: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name in part if isinstance(part, dict) else ():
        yield (*at, name)
        yield from paths(part[name], (*at, name))


mutations = st.sampled_from([facts("a", "X") | ATTEMPTS, batch_facts() | ATTEMPTS]).flatmap(
    lambda whole: st.tuples(st.just(whole), st.sampled_from([*paths(whole)]), json_values)
)


@given(mutations)
def test_a_dead_letter_with_a_wrong_part_is_sound_or_not_understood(mutation: Any) -> None:
    whole, path, value = mutation
    part = whole = json.loads(json.dumps(whole))
    for name in path[:-1]:
        part = part[name]
    part[path[-1]] = value
    resolver = LetterResolver(ROUTES, cast("Any", FakeStreams()))
    try:
        resolved = resolver.resolve(message(json.dumps(whole)))
    except UnknownLetterError:
        return
    assert len([*resolver.targets(resolved, Deadline.after(60))]) <= 1
    assert isinstance(resolved.about, str)
    for letter_filter in (
        LetterFilter(key="a"),
        LetterFilter(older_than=1),
        LetterFilter(error="E"),
    ):
        assert letter_filter.matches(resolved, 5.0) in (True, False)
    again = retried(resolved.letter, POISON, 5.0)
    assert again.failed_replays == resolved.letter.failed_replays + 1
    assert from_json(again.to_json()).attempts == again.attempts


def test_a_key_with_more_in_it_is_chosen_by_its_own_parts(lab: Lab) -> None:
    lab.sqs.add(letter_body("a", key={"id": {"S": "a"}, "more": {"S": "c"}}), letter_body("c"))
    assert lab.replay(LetterFilter(key="c")).outcomes == {LetterOutcome.RECONCILED: 1}


class StubStream:
    """A shard that answers with the same records, page after page."""

    def __init__(self, *sequences: int) -> None:
        self.sequences = sequences

    def get_shard_iterator(self, **_: Any) -> Any:
        return {"ShardIterator": "x"}

    def get_records(self, **_: Any) -> Any:
        records = [{"dynamodb": {"SequenceNumber": f"{number:021d}"}} for number in self.sequences]
        return {"Records": records, "NextShardIterator": "x"}


def test_a_batch_whose_records_are_not_there_is_never_deleted(lab: Lab) -> None:
    lab.streams = cast("Any", Streams(cast("Any", StubStream(10)), NO_WAIT))
    lab.sqs.add(lambdas_own(1, 9))
    assert lab.replay().outcomes == {LetterOutcome.EXPIRED: 1}
    assert len(lab.sqs.bodies) == 1


def test_a_shard_that_says_nothing_is_not_read_for_ever(lab: Lab) -> None:
    lab.streams = cast("Any", Streams(cast("Any", StubStream()), NO_WAIT))
    lab.sqs.add(lambdas_own(1, 9))
    assert lab.replay().outcomes == {LetterOutcome.LEFT: 1}


def test_dead_letters_that_cannot_be_deleted_do_not_multiply(lab: Lab) -> None:
    lab.sqs.add(*(letter_body(id_) for id_ in "abcdefgh"))
    for id_ in "abcdefgh":
        lab.fail(id_, POISON)
    lab.sqs.faults["delete"] = [refusal("AccessDenied", "DeleteMessageBatch")]
    with pytest.raises(ServiceError):
        lab.replay()
    assert len(lab.sqs.bodies) == 9, "one was written anew before the first refusal"


def test_what_was_taken_is_seen_to_though_the_queue_gives_no_more(lab: Lab) -> None:
    lab.sqs.add(*(letter_body(f"i{number}") for number in range(5)))
    clock = [0.0]
    receive = lab.sqs.receive_message

    def throttled(**request: Any) -> Any:
        if lab.sqs.requests:
            clock[0] = 2.0
            raise refusal("RequestThrottled", "ReceiveMessage")
        return receive(**request)

    lab.sqs.receive_message = throttled  # type: ignore[method-assign]  # a fault
    deadline = Deadline(1.0, lambda: clock[0])
    assert lab.replay(deadline=deadline).outcomes.total() == 5


def test_a_courtesy_that_fails_costs_no_summary(lab: Lab) -> None:
    lab.sqs.add("x", letter_body("a"))
    lab.sqs.faults["change"] = [refusal("AccessDenied", "ChangeMessageVisibilityBatch")]
    assert lab.replay().outcomes == {LetterOutcome.UNKNOWN: 1, LetterOutcome.RECONCILED: 1}


def test_every_dead_letter_is_counted_though_its_item_failed_before(lab: Lab) -> None:
    lab.sqs.add(
        letter_body("a"), *(letter_body(f"i{number}") for number in range(99)), letter_body("a")
    )
    lab.fail("a", POISON)
    assert lab.replay().outcomes.total() == 101


def test_a_run_that_had_to_end_early_says_so(lab: Lab) -> None:
    lab.sqs.add(*(letter_body(f"i{number}") for number in range(300)))
    deadline = Deadline(15, lambda: float(len(lab.sqs.requests)))
    assert not lab.replay(deadline=deadline).complete
    lab.sqs.now += 361
    assert lab.replay().complete


def test_an_expired_batch_names_the_commands_and_the_time_range(lab: Lab) -> None:
    lab.streams.error = ExpiredRecordsError("gone")
    lab.sqs.add(lambdas_own())
    (reason,) = lab.replay().reasons
    assert "2026-09-21T14:13:20Z to 2026-09-21T14:14:20Z" in reason
    assert "adminview verify --source Things --repair" in reason
    assert "adminview dlq discard --source Things --error ExpiredRecordsError" in reason


def test_one_dead_letter_without_a_response_does_not_hold_up_the_others_for_ever(lab: Lab) -> None:
    lab.sqs.add(letter_body("a"))
    lab.replay(deadline=Deadline.after(10_000), end=Deadline.after(10_000))
    (deadline,) = lab.reconciler.deadlines
    assert deadline.remaining <= 60
