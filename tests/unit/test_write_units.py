"""The write units that a write consumes in the table and in each index."""

from typing import Any

import pytest

from adminview.model import Index, LocalIndex, number
from adminview.model.limits import row_size
from adminview.model.row import Attributes
from adminview.model.write_units import Units, entry, write_units

BY_SHELF = Index("ByShelf", partition="shelf", sort=number("place"), include=["data"])
KEYS = Index("KeysOnly", partition="shelf")
WHOLE = Index("Whole", partition="shelf", all_because="a test")
SPREAD = Index("Spread", partition="shelf", shards=4)
LOCAL = LocalIndex("Local", sort="shelf", include=["data"])


def row(size: int = 1, shelf: str | None = "A", place: int | None = 1, **more: Any) -> Attributes:
    """Make a row of *size* times 100 bytes of data, and a few bytes more."""
    built: Attributes = {"PK": {"S": "P"}, "SK": {"S": "S"}, "data": {"S": "x" * size * 100}}
    if shelf is not None:
        built["shelf"] = {"S": shelf}
    if place is not None:
        built["place"] = {"N": str(place)}
    return built | more


@pytest.mark.parametrize(
    ("before", "after", "units"),
    [
        (None, row(1), 1),
        (None, row(20), 2),
        (row(20), row(1), 2),  # the larger of the two
        (row(1), row(40), 4),
        (row(20), row(20), 2),  # a copy of itself is written all the same
        (row(20), None, 2),
        (None, None, 1),  # to delete what is not there
    ],
)
def test_the_table_takes_a_unit_per_kilobyte_of_the_larger(
    before: Attributes | None, after: Attributes | None, units: int
) -> None:
    assert write_units(before, after, []) == Units(units)


def test_a_kilobyte_is_1024_bytes_to_the_last() -> None:
    small: Attributes = {"PK": {"S": "P"}, "SK": {"S": "S"}, "data": {"S": "x" * 1014}}
    assert row_size(small) == 1024
    assert write_units(None, small, []).table == 1
    assert write_units(None, small | {"data": {"S": "x" * 1015}}, []).table == 2


@pytest.mark.parametrize(
    ("before", "after", "units"),
    [
        (row(shelf=None), row(shelf=None), 0),  # in no index, before or after
        (None, row(1), 1),
        (None, row(20), 2),
        (row(place=None), row(place=None, shelf="B"), 0),  # half a key is none
        (row(shelf=None), row(20), 2),
        (row(20), None, 2),
        (row(20), row(1, shelf=None), 2),
        (row(1), row(20), 2),  # the same key: one write, of the larger
        (row(20), row(1), 2),
        (row(20), row(20, _seq={"S": "2"}), 0),  # what it carries has not changed
        (row(20), row(20, shelf="B"), 4),  # another key: out and in
        (row(20), row(1, place=2), 3),
    ],
)
def test_an_index_takes_what_its_entries_do(
    before: Attributes | None, after: Attributes | None, units: int
) -> None:
    taken = write_units(before, after, [BY_SHELF])
    assert taken.indexes == ({"ByShelf": units} if units else {})
    assert taken.total == taken.table + units


def test_an_index_holds_its_keys_the_rows_and_what_it_carries() -> None:
    whole = row(20, _seq={"S": "1"}, _Spread_shard={"N": "2"})
    keys = {"PK", "SK", "shelf"}
    assert {
        index.name: set(entry(index, whole) or ())
        for index in (BY_SHELF, KEYS, WHOLE, SPREAD, LOCAL)
    } == {
        "ByShelf": {*keys, "place", "data"},
        "KeysOnly": keys,
        "Whole": set(whole),
        "Spread": {*keys, "_Spread_shard"},
        "Local": {*keys, "data"},
    }
    assert entry(SPREAD, row()) is None  # no shard, no place


def test_an_index_that_carries_keys_alone_does_not_mind_large_data() -> None:
    assert write_units(row(1), row(90), [KEYS]) == Units(9)
    assert write_units(row(1), row(90), [WHOLE]) == Units(9, {"Whole": 9})


def test_units_add_up() -> None:
    assert Units(1, {"a": 1}) + Units(2, {"a": 2, "b": 3}) == Units(3, {"a": 3, "b": 3})
    assert (Units(1, {"a": 1}) + Units(2, {"b": 3})).total == 7
