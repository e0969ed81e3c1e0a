"""An error of a view suggests the correction and names the line."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from adminview.model import Contribution, Index, IndexEntry, Item, Row, Source, Sum, Total, view
from adminview.model.errors import RowError, ViewError
from adminview.model.item import encode
from adminview.sync.derive import derive

things = Source("Things", partition_key="id")
by_status = Index("ByStatus", partition="status", sort="openedAt")
sales = Total("Sales", sort="day", sums=["revenue", Sum("units", scale=0)])
IMAGE = {"id": encode("a-secret")}


def derive_row(row: Any) -> None:
    def wrong(item: Item) -> Iterator[Row]:
        yield Row("first", item["id"])
        yield row

    derive([view(things)(wrong)], IMAGE, room=None)


def entry() -> IndexEntry:
    return by_status("OPEN", "2025-03-01")


def contribution() -> Contribution:
    return sales("2025-03-01", revenue=1, units=1)


def row(**arguments: Any) -> Row:
    return Row("PK", "SK", **arguments)


@pytest.mark.parametrize(
    ("yielded", "message"),
    [
        ({"PK": "x"}, "the view yielded dict instead of a Row; write `yield Row(PK, SK, data=…)`"),
        (None, "the view yielded None instead of a Row; write `yield Row("),
        (Row, "the view yielded the class Row instead of a Row; write `yield Row("),
        ([row()], "the view yielded list instead of a Row; to yield each row of it, write `yield "),
        ((row(),), "the view yielded tuple instead of a Row; to yield each row"),
        (("PK", "SK"), "the view yielded tuple instead of a Row; write `yield Row(PK, SK"),
        ((row() for _ in "a"), "the view yielded generator instead of a Row; to yield each row"),
        (entry(), "the view yielded IndexEntry instead of a Row; an entry belongs in a row"),
        (by_status, "the view yielded Index instead of a Row; an entry belongs in a row"),
        (contribution(), "the view yielded Contribution instead of a Row; a contribution belongs"),
        (sales, "the view yielded Total instead of a Row; a contribution belongs in a row"),
    ],
)
def test_what_is_no_row_is_named_with_what_was_probably_meant(yielded: Any, message: str) -> None:
    with pytest.raises(RowError, match=re.escape(message)):
        derive_row(yielded)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"indexes": [by_status]},
            (
                "indexes of a row has index 'ByStatus' itself, not an entry: call it with values, "
                "as in indexes=[index(status, openedAt)]"
            ),
        ),
        (
            {"indexes": by_status},
            (
                "indexes of a row takes a list, and the view gave index 'ByStatus' itself, "
                "not an entry: call it "
                "with values, as in indexes=[index(status, openedAt)]"
            ),
        ),
        (
            {"indexes": entry()},
            "indexes of a row takes a list; write indexes=[…] around the entry in index 'ByStatus'",
        ),
        ({"indexes": None}, "indexes of a row takes a list, not None; leave it out, or give an"),
        ({"indexes": [entry(), None]}, "indexes of a row has None in its list; leave the element"),
        ({"indexes": "a-secret"}, "indexes of a row takes a list; the view gave str"),
        ({"indexes": 7}, "indexes of a row takes a list; the view gave int"),
        ({"indexes": ["a-secret"]}, "takes entries, as in index(…); the view gave str"),
        ({"indexes": {"a-secret": 1}}, "takes entries, as in index(…); the view gave str"),
        ({"indexes": [{}]}, "takes entries, as in index(…); the view gave dict"),
        (
            {"indexes": [contribution()]},
            "indexes of a row has a contribution to 'Sales'; it belongs in totals",
        ),
        (
            {"totals": [sales]},
            (
                "totals of a row has total 'Sales' itself, "
                "not a contribution: call it with values, "
                "as in totals=[total(day, revenue=…, units=…)]"
            ),
        ),
        (
            {"totals": sales},
            (
                "totals of a row takes a list, and the view gave total 'Sales' itself, "
                "not a contribution: call it "
                "with values, as in totals=[total(day, revenue=…, units=…)]"
            ),
        ),
        (
            {"totals": contribution()},
            "totals of a row takes a list; write totals=[…] around the contribution to 'Sales'",
        ),
        (
            {"totals": [entry()]},
            "totals of a row has an entry in index 'ByStatus'; it belongs in indexes",
        ),
        (
            {"indexes": [sales]},
            (
                "indexes of a row has total 'Sales' itself, "
                "not a contribution: call it with values, "
                "as in totals=[total(day, revenue=…, units=…)]"
            ),
        ),
        ({"totals": [contribution(), None]}, "totals of a row has None in its list; leave the ele"),
        ({"totals": ["a-secret"]}, "takes contributions, as in total(…); the view gave str"),
        ({"totals": {"a-secret": 1}}, "takes contributions, as in total(…); the view gave str"),
        ({"totals": iter([contribution()])}, "totals of a row takes a list; the view gave list_i"),
        ({"totals": 7}, "totals of a row takes a list; the view gave int"),
        ({"data": ["a-secret"]}, "data of a row takes a map, as in data=item.pick(…); the view ga"),
        ({"data": None}, "data of a row takes a map, as in data=item.pick(…); the view gave None"),
    ],
)
def test_an_argument_of_a_wrong_type_is_named_with_what_was_probably_meant(
    arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(RowError, match=re.escape(message)) as raised:
        derive_row(row(**arguments))
    assert "a-secret" not in str(raised.value)


def test_an_error_that_is_no_such_mistake_stays_what_it_is() -> None:
    def entries() -> Iterator[IndexEntry]:
        yield entry()
        raise AttributeError

    with pytest.raises(ViewError, match="the view raised AttributeError"):
        derive_row(row(indexes=entries()))


def lines_of_yields(item: Item) -> Iterator[Row]:
    yield Row("first", item["id"])
    if "direct" in item:
        yield Row("", item["id"])
    yield from below(item)


def below(item: Item) -> Iterator[Row]:
    yield Row(
        "second",
        item["id"],
        indexes=[by_status],  # type: ignore[list-item]  # the mistake
    )


@pytest.mark.parametrize(
    ("more", "function", "offset"), [({"direct": encode(1)}, lines_of_yields, 3), ({}, below, 1)]
)
def test_a_row_that_is_refused_is_reported_with_the_line_of_its_yield(
    more: dict[str, Any], function: Any, offset: int
) -> None:
    line = function.__code__.co_firstlineno + offset
    with pytest.raises(RowError) as raised:
        derive([view(things)(lines_of_yields)], IMAGE | more, room=None)
    assert raised.value.place == f"view 'lines_of_yields' at tests.unit.test_view_mistakes:{line}"
