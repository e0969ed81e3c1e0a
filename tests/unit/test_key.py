"""Different parts give different keys, and templates escape them like `key`."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from adminview.model import AccessPattern, Index, Join, key
from adminview.model.errors import RowError

# Few characters, so that different parts often look alike when they are joined.
hostile = st.text("ab#%235\\/é☃", min_size=1, max_size=6)
parts = st.lists(hostile, min_size=2, max_size=4)


def reference(joined: str) -> list[str]:
    """Read a key back into its parts, independently of the code that wrote it."""
    return [part.replace("%23", "#").replace("%25", "%") for part in joined.split("#")]


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        (key("USER", "user-123"), "USER#user-123"),
        (key("ORDER", "STATUS", "PENDING"), "ORDER#STATUS#PENDING"),
        (key("CREATED_AT", "2025-03-01T09:00:00Z"), "CREATED_AT#2025-03-01T09:00:00Z"),
        (key("PRODUCT", "é☃\\/&$!"), "PRODUCT#é☃\\/&$!"),
        (key("USER", "a#b"), "USER#a%23b"),
        (key("USER", "a%b"), "USER#a%25b"),
        (key("USER", "a%23b"), "USER#a%2523b"),
        (key("ORDER", raw="2025-03-01#2121195"), "ORDER#2025-03-01#2121195"),
        (key("PRODUCT", "a#b", raw="c#%d"), "PRODUCT#a%23b#c#%d"),
    ],
)
def test_ordinary_parts_stay_as_they_are_and_separators_are_escaped(
    actual: str, expected: str
) -> None:
    assert actual == expected


@given(parts)
@example(["a%23", "b"])
@example(["%", "25"])
def test_a_key_can_be_read_back_into_its_parts_so_no_two_lists_of_parts_share_one(
    given_parts: list[str],
) -> None:
    assert reference(key(*given_parts)) == given_parts


@given(parts, parts)
@example(["PRODUCT", "p#c", "d"], ["PRODUCT", "p", "c#d"])
@example(["a", "b#c"], ["a", "b", "c"])
@example(["a", "%23"], ["a", "#"])
def test_different_parts_give_different_keys(first: list[str], other: list[str]) -> None:
    assert (key(*first) == key(*other)) == (first == other)


three = st.tuples(hostile, hostile, hostile)


@given(three, three)
@example(("a#b", "c", "d"), ("a", "b#c", "d"))
@example(("a", "b", "c#d"), ("a", "b#c", "d"))
def test_a_raw_end_cannot_imitate_the_parts_before_it(
    triple: tuple[str, str, str], other: tuple[str, str, str]
) -> None:
    keys = [key(first, second, raw=end) for first, second, end in (triple, other)]
    assert (keys[0] == keys[1]) == (triple == other)


@given(hostile, hostile)
def test_an_escaped_value_begins_with_an_escaped_beginning_and_with_no_other(
    beginning: str, value: str
) -> None:
    begins = key("X", value).startswith(key("X", beginning))
    assert begins == value.startswith(beginning)


ordinary = st.text("09azAZ-:.TZ+_ é", min_size=1, max_size=8)


@given(ordinary, ordinary)
def test_values_without_reserved_characters_keep_their_order(first: str, other: str) -> None:
    assert (key("AT", first) < key("AT", other)) == (first < other)


@pytest.mark.parametrize("number", [1, Decimal(1), Decimal("1.0"), Decimal("1E0"), "1"])
def test_a_number_is_written_as_dynamodb_writes_it(number: Any) -> None:
    assert key("N", number) == "N#1"
    assert key("N", Decimal("1E+2")) == "N#100"
    assert key("N", Decimal("-0.50")) == "N#-0.5"


def not_text(value: Any) -> Any:
    """Hide a type that a type checker would refuse."""
    return value


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: key("A", ""), "part 2 of a key is empty"),
        (lambda: key("", "A"), "part 1 of a key is empty"),
        (lambda: key("A", raw=""), "the raw end of a key is empty"),
        (lambda: key("A"), "a key needs at least two parts"),
        (
            lambda: key("A", not_text(None)),
            "part 2 of a key must be text or a number, not NoneType",
        ),
        (lambda: key("A", True), "not bool"),
        (lambda: key("A", not_text(1.5)), "not float"),
        (lambda: key("A", not_text(b"x")), "not bytes"),
        (lambda: key("A", raw=not_text(5)), "the raw end of a key must be text, not int"),
        (lambda: key("A", Decimal("NaN")), "no NaN"),
    ],
)
def test_what_cannot_be_a_part_is_refused(make: Callable[[], Any], why: str) -> None:
    with pytest.raises(RowError, match=why):
        make()


two_parts = AccessPattern("two", partition="A#{x}#B#{y}", sort_begins="C#{z}#")
whole = AccessPattern("whole", partition="{x}", sort="{y:raw}")
raw_end = AccessPattern("raw-end", partition="A#{x}#{y:raw}")


@given(hostile, hostile, hostile)
def test_a_template_writes_its_parameters_as_a_key_writes_its_parts(x: str, y: str, z: str) -> None:
    values = two_parts.condition(x=x, y=y, z=z).values
    assert values[":v0a"] == {"S": key("A", x, "B", y)}
    assert key("C", z, "more").startswith(values[":v1a"]["S"])
    assert whole.condition(x=x, y=y).values == {":v0a": {"S": x}, ":v1a": {"S": y}}
    assert raw_end.condition(x=x, y=y).values == {":v0a": {"S": key("A", x, raw=y)}}


@given(hostile, hostile)
def test_a_pattern_may_show_the_rows_that_it_finds(x: str, y: str) -> None:
    row = {"PK": {"S": key("A", x, "B", y)}, "SK": {"S": key("C", x, y)}}
    assert two_parts.may_show(row)
    assert raw_end.may_show({"PK": {"S": key("A", x, raw=y)}, "SK": {"S": "x"}})


def test_a_pattern_shows_no_row_whose_key_was_not_escaped() -> None:
    pattern = AccessPattern("one", partition="USER#{user}")
    assert not pattern.may_show({"PK": {"S": "USER#a#b"}, "SK": {"S": "x"}})


by_customer = Index("ByCustomer", partition="customerId", sort="buyer", include=["data"])


@given(hostile)
def test_a_join_finds_the_row_of_a_value_and_of_a_key(customer: str) -> None:
    row = {"customerId": {"S": customer}, "buyer": {"S": key("USER", customer)}}
    user = key("USER", customer)
    of_value = Join("user", partition="USER#{customerId}", sort="PROFILE")
    of_key = Join("user", partition="{buyer}", sort="PROFILE")
    assert of_value.key(row) == of_key.key(row) == (user, "PROFILE")


@pytest.mark.parametrize("number", [5, Decimal(3), Decimal("-1.5")])
def test_a_number_before_a_raw_value_is_a_part_like_any_other(number: int | Decimal) -> None:
    assert key(number, raw="x") == f"{number}#x"


@pytest.mark.parametrize("part", [True, ["a"], b"ab", 1.5, None])
def test_what_is_no_part_is_refused_before_a_raw_value_too(part: Any) -> None:
    with pytest.raises(RowError):
        key(part, raw="x")
