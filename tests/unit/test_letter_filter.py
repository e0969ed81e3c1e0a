"""A filter matches the dead letters that have all its fields."""

import pytest

from adminview.dead_letters.letter_filter import LetterFilter
from tests.support.dead_letter_queue import lambdas_own, letter_body, message, resolved
from tests.support.stream_records import AT

NOW = AT + 100.0
OURS = resolved(letter_body("a"), "4f2a-1")
LAMBDAS = resolved(lambdas_own(), "4f2a-2")


@pytest.mark.parametrize(
    ("letter_filter", "takes"),
    [
        (LetterFilter(), True),
        (LetterFilter(id="4f2a-1"), True),
        (LetterFilter(id="4f2a"), True),
        (LetterFilter(id="2a-1"), False),
        (LetterFilter(source="Things"), True),
        (LetterFilter(source="Thing"), False),
        (LetterFilter(error="ViewError"), True),
        (LetterFilter(error="View"), False),
        (LetterFilter(key="Things/a"), True),
        (LetterFilter(key="a"), True),
        (LetterFilter(key="Things"), False),
        (LetterFilter(older_than=99), True),
        (LetterFilter(older_than=100), False),
        (LetterFilter(newer_than=101), True),
        (LetterFilter(newer_than=100), False),
        (LetterFilter(older_than=99, newer_than=101), True),
        (LetterFilter(older_than=99, source="Other"), False),
        (LetterFilter(id="4f2a", source="Things", error="ViewError", key="a"), True),
    ],
)
def test_a_dead_letter_matches_if_it_has_all_fields_of_the_filter(
    letter_filter: LetterFilter,
    takes: bool,  # noqa: FBT001 - a parameter
) -> None:
    assert letter_filter.matches(OURS, NOW) is takes


@pytest.mark.parametrize(
    ("letter_filter", "takes"),
    [
        (LetterFilter(source="Things"), True),
        (LetterFilter(error="RetryAttemptsExhausted"), True),
        (LetterFilter(older_than=99, newer_than=101), True),
        (LetterFilter(key="a"), False),
        (LetterFilter(key="Things/a"), False),
    ],
)
def test_lambdas_dead_letter_has_a_source_an_error_and_an_age_but_no_key(
    letter_filter: LetterFilter,
    takes: bool,  # noqa: FBT001 - a parameter
) -> None:
    assert letter_filter.matches(LAMBDAS, NOW) is takes


def test_a_dead_letter_without_a_time_is_as_old_as_its_message() -> None:
    timeless = resolved(letter_body(at=None), sent=NOW - 10)
    assert LetterFilter(older_than=9).matches(timeless, NOW)
    assert not LetterFilter(older_than=11).matches(timeless, NOW)


def test_a_retried_dead_letter_is_matched_by_its_newest_error() -> None:
    attempts = {"count": 1, "at": "", "error": {"kind": "MovingItemError", "reason": ""}}
    tried = resolved(letter_body(attempts=attempts))
    assert LetterFilter(error="MovingItemError").matches(tried, NOW)
    assert not LetterFilter(error="ViewError").matches(tried, NOW)


def test_a_dead_letter_without_an_owner_is_matched_by_a_value_of_its_key() -> None:
    assert LetterFilter(key="a").matches(resolved(letter_body(owner=None)), NOW)


@pytest.mark.parametrize(
    ("letter_filter", "takes"),
    [
        (LetterFilter(), True),
        (LetterFilter(id="4f2a"), True),
        (LetterFilter(id="5"), False),
        (LetterFilter(source="Things"), False),
        (LetterFilter(id="4f2a", source="Things"), False),
        (LetterFilter(key="a"), False),
        (LetterFilter(error="UnknownLetterError"), True),
        (LetterFilter(error="ViewError"), False),
        (LetterFilter(older_than=99), True),
        (LetterFilter(older_than=100), False),
        (LetterFilter(newer_than=100), False),
    ],
)
def test_an_unreadable_message_matches_by_id_by_error_and_by_the_time_since_it_was_sent(
    letter_filter: LetterFilter,
    takes: bool,  # noqa: FBT001 - a parameter
) -> None:
    unreadable = message("no letter", "4f2a-3", sent=NOW - 100)
    assert letter_filter.matches_unresolved(unreadable, NOW) is takes
