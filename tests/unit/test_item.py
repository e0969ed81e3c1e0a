"""Items decode the attributes that are read, and pass the others through."""

from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adminview.model import Item, RawValue, Row
from adminview.model.errors import MissingAttributeError, RowError
from adminview.model.item import decode, encode
from adminview.model.limits import check_size, row_size, size_of

BIG = "12345678901234567890123456789012345678"

IMAGE: dict[str, Any] = {
    "text": {"S": "héllo"},
    "big": {"N": BIG},
    "bytes": {"B": "AAEC"},
    "tags": {"SS": ["a", "b"]},
    "sizes": {"NS": ["1", "2.50"]},
    "blobs": {"BS": ["AAEC"]},
    "yes": {"BOOL": True},
    "nothing": {"NULL": True},
    "list": {"L": [{"S": "x"}, {"M": {"n": {"N": "1"}}}]},
    "map": {"M": {"deep": {"M": {"n": {"N": "1E+30"}}}}},
}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("text", "héllo"),
        ("big", Decimal(BIG)),
        ("bytes", b"\x00\x01\x02"),
        ("tags", {"a", "b"}),
        ("sizes", {Decimal(1), Decimal("2.50")}),
        ("blobs", {b"\x00\x01\x02"}),
        ("yes", True),
        ("nothing", None),
    ],
)
def test_an_attribute_is_decoded_when_it_is_touched(name: str, value: object) -> None:
    assert Item(IMAGE)[name] == value


def test_maps_stay_lazy_at_every_depth() -> None:
    item = Item({"list": IMAGE["list"], "map": {"M": {"broken": {"?": 1}, "deep": {"S": "x"}}}})
    assert item["list"][1]["n"] == 1
    assert item["map"]["deep"] == "x"
    with pytest.raises(KeyError):
        item["map"]["broken"]


def test_what_is_handed_on_is_the_very_same_value() -> None:
    item = Item(IMAGE)
    for name, value in IMAGE.items():
        assert encode(item.raw(name)) is value
        assert encode(item.pick(name)[name]) is value


def test_pick_leaves_out_what_is_not_there() -> None:
    assert list(Item(IMAGE).pick("text", "absent")) == ["text"]


def test_an_absent_attribute_is_named() -> None:
    item = Item(IMAGE)
    for look in (lambda: item["absent"], lambda: item.raw("absent")):
        with pytest.raises(MissingAttributeError, match="no attribute 'absent'"):
            look()
    assert item.get("absent", 7) == 7
    assert "absent" not in item
    assert len(item) == len(IMAGE)
    assert set(item) == set(IMAGE)


def test_an_attribute_that_is_absent_from_a_map_is_not_attributed_to_the_item() -> None:
    item = Item({"map": {"M": {}}, "list": {"L": [{"M": {}}]}})
    for inner in (item["map"], item["list"][0]):
        with pytest.raises(MissingAttributeError, match="a map in the item has no attribute 'at'"):
            inner["at"]


def test_a_date_is_refused_with_what_to_store_instead() -> None:
    with pytest.raises(RowError, match=r"cannot store a value of type date \(use its isoformat"):
        encode(date(2025, 3, 1))


def test_the_repr_of_items_and_wires_shows_no_value() -> None:
    assert "héllo" not in repr(Item(IMAGE))
    assert repr(Item(IMAGE).raw("text")) == "RawValue(<S>)"


@pytest.mark.parametrize("value", [1.5, object(), float("nan"), {1.5}])
def test_what_dynamodb_cannot_store_is_refused_by_type(value: object) -> None:
    with pytest.raises(RowError, match=r"cannot store a value of type \w+|floats"):
        encode(value)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (Decimal("NaN"), "NaN"),
        (Decimal("Infinity"), "Infinity"),
        (int("1" * 39), "39 significant digits"),
        (Decimal("1E+126"), "range"),
        (Decimal("1E-131"), "range"),
        (set(), "set must not be empty"),
        ({"a", 1}, "only text"),
    ],
)
def test_numbers_and_sets_that_dynamodb_refuses_are_refused_before(value: Any, why: str) -> None:
    with pytest.raises(RowError, match=why):
        encode(value)


numbers = st.decimals(allow_nan=False, allow_infinity=False, places=4, max_value=10**20)
values = st.recursive(
    st.text() | st.booleans() | st.none() | st.binary() | numbers | st.integers(-(10**37), 10**37),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def plain(value: Any) -> Any:
    """Unfold items into dicts."""
    if isinstance(value, Item):
        return {name: plain(value[name]) for name in value}
    return [plain(element) for element in value] if isinstance(value, list) else value


@given(values)
def test_encoding_and_decoding_give_the_value_back(value: Any) -> None:
    assert plain(decode(encode(value))) == value


@given(values)
def test_json_is_never_shorter_than_what_dynamodb_counts(value: Any) -> None:
    """So that a row which is short enough as JSON needs no exact count."""
    wire = encode(value)
    exact = row_size({"data": wire})
    check_size({"data": wire}, limit=exact)
    with pytest.raises(RowError, match="at most"):
        check_size({"data": wire}, limit=exact - 1)


class Status(str, Enum):  # noqa: UP042 - a StrEnum would be no trap
    """A text with a name, as authors like them."""

    OPEN = "open"


def test_a_text_with_a_name_is_stored_as_the_text() -> None:
    assert encode(Status.OPEN) == {"S": "open"}


def test_names_of_attributes_are_text_as_they_are_in_the_table() -> None:
    """A row with other names would differ from the stored one for ever."""
    counts: dict[Any, Any] = {Status.OPEN: 1, 2025: {7: "x"}}
    encoded = {"open": {"N": "1"}, "2025": {"M": {"7": {"S": "x"}}}}
    assert Row("a", "b", data=counts).attributes()["data"] == {"M": encoded}
    assert encode(counts) == {"M": encoded}


@pytest.mark.parametrize(
    ("number", "size"),
    [("0", 1), ("7", 2), ("15", 2), ("100", 2), ("2.5", 3), ("123.4", 4), ("-15", 3), ("1E-5", 2)],
)
def test_the_size_of_a_number_is_that_of_its_pairs_of_digits(number: str, size: int) -> None:
    assert size_of({"N": number}) == size


def test_equal_wires_are_equal() -> None:
    assert RawValue({"S": "x"}) == RawValue({"S": "x"}) != RawValue({"S": "y"})
    assert len({RawValue({"S": "x"}), RawValue({"S": "x"})}) == 1


def test_what_is_picked_can_be_put_together_with_anything_and_later_ones_win() -> None:
    item = Item({"a": {"N": "1.0"}, "b": {"S": "x"}})
    both, picked = {"a": {"N": "1.0"}, "b": {"S": "x"}}, item.pick("b")
    inner = {"M": {"b": {"S": "x"}}}
    for data, expected in (
        (item.pick("a") | picked, both),
        (item.pick("a", "b"), both),
        ({"c": 2, **picked}, {"c": {"N": "2"}, "b": {"S": "x"}}),
        (picked | {"b": "y"}, {"b": {"S": "y"}}),
        ({"b": "y", "c": True} | picked, {"b": {"S": "x"}, "c": {"BOOL": True}}),
        ({"inner": picked, "list": [picked]}, {"inner": inner, "list": {"L": [inner]}}),
        (dict(picked), {"b": {"S": "x"}}),
    ):
        assert Row("P", "S", data=data).attributes()["data"] == {"M": expected}
    assert repr(picked) == "Picked(b)", "no value: a repr may end in a log"
