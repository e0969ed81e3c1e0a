"""Two representations of one value are equal; two values never are."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adminview.model.item import encode
from adminview.reconcile.equality import canonical, equivalent, equivalent_rows

texts = st.text(max_size=5)
numbers = st.decimals(-(10**30), 10**30, allow_nan=False, allow_infinity=False, places=3)
scalars = st.none() | st.booleans() | texts | numbers | st.binary(max_size=4)
sets = st.sets(texts, min_size=1) | st.sets(numbers, min_size=1)
values = st.recursive(
    scalars | sets,
    lambda some: st.lists(some, max_size=3) | st.dictionaries(texts, some, max_size=3),
    max_leaves=8,
)
items = st.dictionaries(texts, values, max_size=4)


def wire(item: dict[str, Any]) -> dict[str, Any]:
    return {name: encode(value) for name, value in item.items()}


def respelled(value: Any) -> Any:
    """Write a value as DynamoDB might give it back."""
    ((kind, content),) = value.items()
    match kind:
        case "N":
            return {"N": f"{Decimal(content):f}".removesuffix(".000")}
        case "NS" | "SS":
            return {kind: list(reversed(content))}
        case "M":
            return {"M": {name: respelled(content[name]) for name in reversed(content)}}
        case "L":
            return {"L": [respelled(element) for element in content]}
    return value


@given(items)
def test_order_and_needless_zeros_make_no_difference(item: dict[str, Any]) -> None:
    image = wire(item)
    again = {name: respelled(value) for name, value in image.items()}
    assert equivalent(image, again)
    assert canonical(canonical(image)) == canonical(image)


@given(items, items)
def test_what_differs_in_python_differs_here(first: dict[str, Any], other: dict[str, Any]) -> None:
    assert equivalent(wire(first), wire(other)) == (typed(first) == typed(other))


def typed(value: Any) -> Any:
    """Tell apart what Python holds equal: True and 1."""
    if isinstance(value, dict):
        return {name: typed(member) for name, member in value.items()}
    if isinstance(value, list):
        return [typed(member) for member in value]
    return (type(value), value)


@pytest.mark.parametrize(
    ("first", "other"),
    [
        ("1", "1.00"),
        ("1000", "1E+3"),
        ("0", "-0.0"),
        ("12345678901234567890123456789012345678", "12345678901234567890123456789012345678.0"),
    ],
)
def test_a_number_may_be_written_in_many_ways(first: str, other: str) -> None:
    assert equivalent({"n": {"N": first}}, {"n": {"N": other}})
    assert equivalent({"n": {"NS": [first, "7"]}}, {"n": {"NS": ["7", other]}})


def test_the_last_of_38_digits_counts() -> None:
    digits = "1234567890123456789012345678901234567"
    assert not equivalent({"n": {"N": f"{digits}8"}}, {"n": {"N": f"{digits}9"}})


def test_what_is_no_number_is_compared_as_text() -> None:
    assert equivalent({"n": {"N": "what"}}, {"n": {"N": "what"}})
    assert not equivalent({"n": {"N": "what"}}, {"n": {"N": "ever"}})


def test_an_item_that_is_gone_is_the_same_as_none_alone() -> None:
    assert equivalent(None, None)
    assert not equivalent(None, {})
    assert not equivalent({"a": {"S": ""}}, None)


def test_rows_are_the_same_whichever_change_and_model_wrote_them_but_not_whosever_they_are() -> (
    None
):
    row = {"PK": {"S": "p"}, "_owner": {"S": "Things/a"}, "_seq": {"S": "1"}, "_at": {"N": "1"}}
    later = row | {"_seq": {"S": "2"}, "_at": {"N": "2"}, "_model": {"S": "m"}}
    assert equivalent_rows(row, later)
    assert not equivalent_rows(row, later | {"_owner": {"S": "Things/b"}})
