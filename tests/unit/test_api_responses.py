"""Responses keep every digit, and never exceed Lambda's limit."""

from decimal import Decimal
from itertools import count
from json import dumps, loads
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adminview.http_api import page as paging
from adminview.http_api.page import ROOM, Page, PageBuilder
from adminview.http_api.problems import ProblemError
from adminview.http_api.render import Renderer, number, plain, text
from adminview.http_api.request import ApiRequest
from adminview.model.errors import ServiceError
from tests.support.query_table import Lab, make_registry


@pytest.mark.parametrize(
    ("digits", "shown"),
    [
        ("3", 3),
        ("3.0", 3),
        ("2.99", 2.99),
        ("-0.1", -0.1),
        ("9007199254740992", 2**53),
        ("9007199254740993", "9007199254740993"),
        ("0.1234567890123456789", "0.1234567890123456789"),
        ("1E+125", 1e125),
        ("99999999999999999999999999999999999999", "99999999999999999999999999999999999999"),
    ],
)
def test_a_number_is_one_if_no_reader_loses_a_digit_of_it(digits: str, shown: Any) -> None:
    assert number(digits) == shown
    assert type(number(digits)) is type(shown)


@given(
    st.decimals(allow_nan=False, allow_infinity=False, places=10).filter(lambda d: abs(d) < 1e28)
)
def test_every_digit_comes_back(value: Decimal) -> None:
    shown = loads(text(number(str(value))))
    assert Decimal(str(shown)) == value


def test_every_type_has_a_plain_form() -> None:
    value = {
        "M": {
            "text": {"S": "ä"},
            "bytes": {"B": "AAE="},
            "truth": {"BOOL": False},
            "nothing": {"NULL": True},
            "list": {"L": [{"N": "1"}, {"M": {}}]},
            "texts": {"SS": ["b", "a"]},
            "numbers": {"NS": ["10", "9", "9007199254740993"]},
            "blobs": {"BS": ["Bg==", "AA=="]},
        }
    }
    assert plain(value) == {
        "text": "ä",
        "bytes": "AAE=",
        "truth": False,
        "nothing": None,
        "list": [1, {}],
        "texts": ["a", "b"],
        "numbers": [9, 10, "9007199254740993"],
        "blobs": ["AA==", "Bg=="],
    }


def large(sizes: list[int], shards: int = 1) -> Lab:
    """Let things weigh their place, and their data so many bytes."""
    lab = Lab(make_registry(shards))
    for place, size in enumerate(sizes):
        lab.put(f"t{place}", "red", place)
        lab.table.rows[f"THING#t{place}", "DETAILS"]["data"]["M"]["fill"] = {"S": '"' * size}
    return lab


def maker(lab: Lab, room: int) -> PageBuilder:
    pattern = lab.registry.pattern("of-colour")
    return PageBuilder(
        lab.query_engine, Renderer(lab.registry), pattern, {"colour": "red"}, None, room
    )


def fill(lab: Lab, room: int, limit: int | None = None, cursor: str | None = None) -> Page:
    return maker(lab, room).fill(ApiRequest({}, limit, cursor, None))


def ids(page: Page) -> list[str]:
    return [loads(row)["data"]["id"] for row in page.rows]


@given(
    st.lists(st.integers(0, 400), max_size=20),
    st.integers(1, 3),
    st.integers(2500, 6000),
    st.integers(1, 25),
)
def test_pages_that_are_cut_still_give_every_row_once_and_fit(
    sizes: list[int], shards: int, room: int, limit: int
) -> None:
    lab, collected, cursor = large(sizes, shards), [], None
    while True:
        page = fill(lab, room, limit, cursor)
        # As Lambda sends it: the body is a text in JSON.
        assert len(dumps(",".join(page.rows))) <= room + 2
        assert len(page.rows) <= limit
        collected += ids(page)
        if (cursor := page.cursor) is None:
            break
        assert page.rows
    assert collected == [f"t{place}" for place in range(len(sizes))]


def test_fifty_rows_of_400_kb_are_cut_to_what_lambda_carries() -> None:
    lab = large([90_000] * 50)  # a quote takes four bytes, as JSON within JSON
    page = fill(lab, ROOM)
    assert len(page.rows) == 17
    assert ids(fill(lab, ROOM, cursor=page.cursor)) == [f"t{place}" for place in range(17, 34)]


def test_rows_are_read_in_shares_so_that_many_large_ones_are_never_held_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(paging, "PAGE", 4)
    monkeypatch.setattr(paging, "BATCH", 6)
    lab = large([0] * 15)
    limits: list[int] = []
    query = lab.table.query

    def note(**arguments: Any) -> dict[str, Any]:
        limits.append(arguments["Limit"])
        return query(**arguments)

    monkeypatch.setattr(lab.table, "query", note)
    assert len(fill(lab, ROOM, 15).rows) == 15
    assert limits == [5, 7, 6]  # one more each, to see whether there is more


def test_a_row_that_no_response_can_hold_is_named() -> None:
    with pytest.raises(ProblemError, match="exceeds the size of a response"):
        fill(large([3000]), 2500)


def test_a_slow_page_is_handed_over_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paging, "PAGE", 2)
    slow = maker(large([0] * 9), ROOM)
    ticks = count(step=10)
    slow.clock = lambda: float(next(ticks))
    page = slow.fill(ApiRequest({}, 9, None, None))
    assert ids(page) == ["t0", "t1"]
    assert page.cursor


def test_rows_that_were_read_before_the_trouble_are_not_thrown_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(paging, "PAGE", 2)
    lab = large([0] * 9)
    troubled = maker(lab, ROOM)
    calls, run_query = count(), troubled._query

    def fail_later(limit: int, cursor: str | None) -> Any:
        if next(calls):
            raise ServiceError("ThrottlingException", "ask")
        return run_query(limit, cursor)

    monkeypatch.setattr(PageBuilder, "_query", lambda _, *arguments: fail_later(*arguments))
    page = troubled.fill(ApiRequest({}, 9, None, None))
    monkeypatch.undo()
    assert ids(page) == ["t0", "t1"]
    assert ids(fill(lab, ROOM, cursor=page.cursor)) == [f"t{place}" for place in range(2, 9)]
