"""Positions compare as the sequence numbers do, and expire when the stream has dropped them."""

from base64 import b64decode, b64encode

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from adminview.totals.position import (
    HOUR,
    LIVE_HOURS,
    TIME_UNIT,
    encode_position,
    expired,
    lower_bound,
    position_name,
    positions_of,
    sequence_of,
    time_of,
)

DAY = 24 * HOUR
AT = 1_790_000_000.0

numbers = st.integers(1, 40).flatmap(lambda digits: st.integers(10 ** (digits - 1), 10**digits - 1))
times = st.floats(0, 5_000_000_000)


def content(value: dict[str, str]) -> bytes:
    """Return what DynamoDB compares."""
    return b64decode(value["B"], validate=True)


@given(numbers, numbers, times, times)
@example(255, 256, 0.0, AT)
@example(10**21 - 1, 10**21, AT, 0.0)
@example(2**64 - 1, 2**64, AT, AT)
def test_positions_compare_as_their_numbers_do_whatever_their_times(
    first: int, other: int, at: float, later: float
) -> None:
    positions = content(encode_position(first, at)), content(encode_position(other, later))
    if first < other:
        assert positions[0] < positions[1]
    elif first > other:
        assert positions[0] > positions[1]


@given(numbers, numbers, times)
@example(7, 7, 0.0)
@example(0, 0, 0.0)
@example(0, 1, AT)
@example(2**128 - 1, 2**128, AT)
def test_the_bound_of_a_record_is_above_all_earlier_positions_and_not_above_its_own(
    first: int, stored: int, at: float
) -> None:
    """So ``position < bound`` is true only if the stored position is of an earlier record."""
    is_lower = content(encode_position(stored, at)) < content(lower_bound(first))
    assert is_lower == (stored < first)


@given(numbers, times)
def test_a_position_has_its_sequence_number_and_its_time(sequence: int, at: float) -> None:
    position = encode_position(sequence, at)
    assert sequence_of(position) == sequence
    assert time_of(position) == at // TIME_UNIT * TIME_UNIT


def test_a_position_is_small() -> None:
    """Every update pays for the positions of its item: the longest number takes 30 bytes."""
    name, value = (
        position_name("shardId-00000001790000000000-01234567"),
        encode_position(10**40, AT),
    )
    assert len(name) + len(content(value)) == 9 + 21


@pytest.mark.parametrize(
    "malformed",
    [b"", b"\x01", b"\x00\x00\x00", b"\x05abcdefg", b"\x01abcdefgh", b"\xff" * 30],
)
def test_what_is_no_position_is_refused(malformed: bytes) -> None:
    value = {"B": b64encode(malformed).decode()}
    with pytest.raises(ValueError, match="not a position"):
        sequence_of(value)
    with pytest.raises(ValueError, match="not a position"):
        time_of(value)


def test_text_that_is_not_base64_is_refused() -> None:
    with pytest.raises(ValueError, match="base64"):
        sequence_of({"B": "!"})


@given(st.lists(st.text(), unique=True, max_size=20))
def test_each_shard_has_a_name_of_its_own(shards: list[str]) -> None:
    names = {position_name(shard) for shard in shards}
    assert len(names) == len(shards)
    assert all(len(name) == 9 and name[0] == "@" and name.isascii() for name in names)


def test_the_name_of_a_shard_never_changes() -> None:
    """Items hold these names: another hash would count what was delivered before again."""
    assert position_name("shardId-00000001700000000000-a1b2c3d4") == "@UzfNPIh9"


def test_the_positions_of_an_item_are_separate_from_its_amounts() -> None:
    position = encode_position(1, AT)
    item = {"PK": {"S": "@"}, "count": {"N": "1"}, "@a": position, "a@": {"N": "1"}}
    assert positions_of(item) == {"@a": position}


@given(times, st.floats(0, 100 * HOUR))
def test_a_position_expires_only_when_the_stream_cannot_deliver_its_record(
    at: float, age: float
) -> None:
    """The stream keeps a record for 24 hours; two hours more are for slow functions."""
    old = expired({"@a": encode_position(1, at)}, at + age)
    if age < LIVE_HOURS * HOUR:
        assert old == {}
    if age > (LIVE_HOURS + 3) * HOUR:
        assert old.keys() == {"@a"}
    assert LIVE_HOURS * HOUR >= DAY + 2 * HOUR


def test_only_the_old_ones_expire() -> None:
    ages = {"@new": 0, "@day": 24, "@over": 26, "@old": 27, "@older": 1000}
    positions = {name: encode_position(5, AT - hours * HOUR) for name, hours in ages.items()}
    assert expired(positions, AT).keys() == {"@old", "@older"}
