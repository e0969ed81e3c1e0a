"""Browsing the queue leaves it unchanged."""

from typing import Any

import pytest

from adminview.aws.deadline import Deadline
from adminview.dead_letters.letter_filter import LetterFilter
from adminview.dead_letters.peek import HIDE_SECONDS, browse
from adminview.model.errors import ServiceError
from tests.support.dead_letter_queue import Lab, lambdas_own, letter_body
from tests.support.fakes import refusal

ALL = LetterFilter()


@pytest.fixture
def lab() -> Lab:
    """Begin with dead letters of each kind."""
    lab = Lab()
    lab.sqs.add(letter_body("a"), lambdas_own(), "no letter", letter_body("b"))
    return lab


def look(lab: Lab, letter_filter: LetterFilter = ALL, limit: int | None = None) -> Any:
    by = lab.replayer
    deadline = Deadline.after(60)
    return browse(
        by.consumer,
        by.resolver,
        letter_filter=letter_filter,
        now=by.now,
        deadline=deadline,
        limit=limit,
    )


def test_dead_letters_are_sorted_into_those_that_are_understood_and_others(lab: Lab) -> None:
    with look(lab) as peeked:
        assert [resolved.message.id for resolved in peeked.matched] == ["m-1", "m-2", "m-4"]
        ((unknown, why),) = peeked.unknown
        assert (unknown.id, why) == ("m-3", "it is not JSON")
        assert (len(peeked), peeked.complete) == (4, True)


def test_only_dead_letters_that_match_the_filter_are_shown(lab: Lab) -> None:
    with look(lab, LetterFilter(key="b")) as peeked:
        assert [resolved.message.id for resolved in peeked.matched] == ["m-4"]
        assert peeked.unknown == []
    assert lab.sqs.hidden() == set()


def test_dead_letters_are_invisible_meanwhile_and_visible_afterwards(lab: Lab) -> None:
    with look(lab):
        assert len(lab.sqs.hidden()) == 4
        lab.sqs.now += HIDE_SECONDS
        assert lab.sqs.hidden() == set(), "even if this one is killed"
        lab.sqs.now -= HIDE_SECONDS
    assert lab.sqs.hidden() == set()
    assert len(lab.sqs.bodies) == 4


def test_dead_letters_are_released_even_if_their_reader_fails(lab: Lab) -> None:
    with pytest.raises(LookupError), look(lab):
        raise LookupError
    assert lab.sqs.hidden() == set()


def test_dead_letters_are_released_even_if_the_queue_fails_half_way(lab: Lab) -> None:
    lab.sqs.add(*(letter_body(f"i{number}") for number in range(10)))
    receive = lab.sqs.receive_message

    def once(**request: Any) -> Any:
        lab.sqs.faults["receive"] = [refusal("AccessDenied", "ReceiveMessage")]
        lab.sqs.receive_message = receive  # type: ignore[method-assign]
        return {"Messages": [lab.sqs._message("m-1")]} if request else {}

    lab.sqs.receive_message = once  # type: ignore[method-assign]
    with pytest.raises(ServiceError, match="AccessDenied"), look(lab):
        pass
    assert lab.log == ["put back m-1"]


def test_looking_ends_soon_after_the_limit_and_says_that_there_may_be_more(lab: Lab) -> None:
    lab.sqs.add(*(letter_body(f"i{number}") for number in range(30)))
    with look(lab, limit=5) as peeked:
        assert len(peeked) == 10
        assert not peeked.complete
    assert lab.sqs.hidden() == set()


def test_dead_letters_that_do_not_match_do_not_count_for_the_limit(lab: Lab) -> None:
    lab.sqs.add(*(letter_body(f"i{number}") for number in range(30)), letter_body("last"))
    with look(lab, LetterFilter(key="last"), limit=1) as peeked:
        assert len(peeked) == 1


def test_dead_letters_that_are_delivered_again_are_shown_once_and_end_it(lab: Lab) -> None:
    receive = lab.sqs.receive_message
    lab.sqs.receive_message = lambda **request: receive(**request | {"VisibilityTimeout": 0})  # type: ignore[method-assign]
    with look(lab) as peeked:
        assert len(peeked) == 4


def test_dead_letters_that_were_deleted_meanwhile_stay_deleted(lab: Lab) -> None:
    with look(lab, LetterFilter(id="m-3")) as peeked:
        messages = [message for message, _ in peeked.unknown]
        lab.replayer.consumer.delete(messages, deadline=Deadline.after(60))
    assert [*lab.sqs.bodies] == ["m-1", "m-2", "m-4"]


def test_a_peek_calls_neither_tables_nor_streams(lab: Lab) -> None:
    lab.streams.error = ServiceError("AccessDeniedException", "read the stream again")
    with look(lab) as peeked:
        assert len(peeked.matched) == 3
    assert lab.log == [f"put back m-{number}" for number in range(1, 5)]
