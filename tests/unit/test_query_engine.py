"""Queries return pages: each row once, in order, for any number of shards."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adminview.model.errors import QueryError
from adminview.query.cursor import Place, write
from adminview.query.engine import MOST
from tests.support.query_table import Lab, make_registry

weights = st.lists(st.integers(-1000, 1000), unique=True, max_size=30)
shards = st.integers(2, 7)
limits = st.integers(1, 12)
orders = st.sampled_from([None, "asc", "desc"])


def filled(lab: Lab, weights: list[int]) -> Lab:
    for place, weight in enumerate(weights):
        lab.put(f"t{place}", "red", weight)
        lab.put(f"u{place}", "blue", weight)
    return lab


@given(weights, shards, limits, orders, st.integers(1, 5))
def test_a_sharded_index_gives_the_same_pages_as_one_that_is_not(
    weights: list[int], count: int, limit: int, order: str | None, page: int
) -> None:
    plain, sharded = Lab(make_registry()), Lab(make_registry(count))
    for lab in (plain, sharded):
        filled(lab, weights).table.page = page
    for name, more in (("of-colour", {}), ("heavy", {"least": 0})):
        arguments: dict[str, Any] = {"colour": "red", "order": order, **more}
        assert plain.pages(name, limit, **arguments) == sharded.pages(name, limit, **arguments)
        whole = [id_ for rows in sharded.pages(name, limit, **arguments) for id_ in rows]
        assert sharded.query_engine.count(name, colour="red", **more) == len(whole)


@given(st.lists(st.integers(0, 3), max_size=30), shards, limits, orders)
def test_rows_that_weigh_the_same_come_once_each(
    weights: list[int], count: int, limit: int, order: str | None
) -> None:
    lab = filled(Lab(make_registry(count)), weights)
    pages = lab.pages("of-colour", limit, colour="red", order=order)
    shown = [id_ for page in pages for id_ in page]
    assert sorted(shown) == sorted(f"t{place}" for place in range(len(weights)))
    by_weight = [weights[int(id_[1:])] for id_ in shown]
    assert by_weight == sorted(by_weight, reverse=order == "desc")
    assert all(len(page) == limit for page in pages[:-1])


@given(weights, st.integers(1, 5), limits, st.data())
def test_rows_that_were_there_all_the_time_are_neither_missed_nor_repeated(
    weights: list[int], count: int, limit: int, data: st.DataObject
) -> None:
    """Let rows come and go between the pages."""
    lab = filled(Lab(make_registry(count)), weights)
    staying = {f"t{place}" for place in range(0, len(weights), 2)}
    shown: list[str] = []
    weighed = {f"t{place}": weight for place, weight in enumerate(weights)}
    cursor = None
    for step in range(200):
        answer = lab.query_engine.page("of-colour", colour="red", limit=limit, cursor=cursor)
        shown += lab.ids(answer.rows)
        if (cursor := answer.cursor) is None:
            break
        if data.draw(st.booleans()):
            weighed[f"new{step}"] = data.draw(st.integers(-1000, 1000))
            lab.put(f"new{step}", "red", weighed[f"new{step}"])
        else:
            lab.delete(f"t{data.draw(st.integers(0, 15)) * 2 + 1}")
    assert cursor is None
    assert [id_ for id_ in shown if id_ in staying] == sorted(
        staying, key=lambda id_: weights[int(id_[1:])]
    )
    assert len(set(shown)) == len(shown)
    places = [weighed[id_] for id_ in shown]
    assert places == sorted(places), "rows that came later are in order too, or not shown"


@given(weights, st.integers(2, 6), st.integers(1, 6))
def test_rows_of_an_older_number_of_shards_stay_readable(
    weights: list[int], before: int, after: int
) -> None:
    old = filled(Lab(make_registry(before)), weights)
    new = Lab(make_registry(after, shards_were=before))
    new.table.rows = dict(old.table.rows)
    new.put("fresh", "red", 5000)
    expected = [*old.pages("of-colour", 1000, colour="red")[0], "fresh"]
    assert new.pages("of-colour", 1000, colour="red") == [expected]


@given(weights, st.integers(2, 5), st.integers(2, 5), limits)
def test_rows_that_move_to_other_shards_between_pages_are_shown_once(
    weights: list[int], before: int, after: int, limit: int
) -> None:
    old, new = Lab(make_registry(before)), Lab(make_registry(after, shards_were=before))
    filled(old, weights)
    new.table.rows = dict(old.table.rows)
    shown: list[str] = []
    cursor = None
    while True:
        answer = new.query_engine.page("of-colour", colour="red", limit=limit, cursor=cursor)
        shown += new.ids(answer.rows)
        filled(new, weights)  # written again, where the new model wants them
        if (cursor := answer.cursor) is None:
            break
    assert shown == [f"t{place}" for place in sorted(range(len(weights)), key=weights.__getitem__)]


def test_items_spread_evenly_over_shards() -> None:
    lab = Lab(make_registry(4))
    for place in range(400):
        lab.put(f"t{place}", "red", place)
    rows = lab.table.rows.values()
    counts = [sum(row["_ByColour_shard"]["N"] == str(n) for row in rows) for n in range(4)]
    assert sum(counts) == 400
    assert min(counts) > 60


@pytest.fixture
def lab() -> Lab:
    """Begin with twenty things, in three shards."""
    return filled(Lab(make_registry(3)), list(range(20)))


def cursor_of(lab: Lab, **changes: Any) -> str:
    given_: dict[str, Any] = {"colour": "red", "limit": 5} | changes
    cursor = lab.query_engine.page("of-colour", **given_).cursor
    assert cursor
    return cursor


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        (
            {"colour": "blue"},
            "belongs to another access pattern, other parameters or another order",
        ),
        ({"order": "desc"}, "belongs to another access pattern"),
        ({"colour": "red", "cursor": "AAAA"}, "was truncated or changed"),
        ({"colour": "red", "cursor": "é"}, "cannot be read"),
        ({"colour": "red", "cursor": ""}, "was truncated or changed"),
        ({"colour": "red", "cursor": "A" * 20_000}, "is not text, or too long"),
    ],
)
def test_a_foreign_or_forged_cursor_is_refused(lab: Lab, changes: dict[str, Any], why: str) -> None:
    given_ = {"colour": "red", "cursor": cursor_of(lab)} | changes
    with pytest.raises(QueryError, match=f"'of-colour': the cursor {why}"):
        lab.query_engine.page("of-colour", **given_)


def test_a_cursor_belongs_to_its_pattern(lab: Lab) -> None:
    with pytest.raises(QueryError, match="belongs to another access pattern"):
        lab.query_engine.page("heavy", colour="red", least=0, cursor=cursor_of(lab))


@given(st.data())
def test_a_cursor_that_was_changed_anywhere_is_refused(data: st.DataObject) -> None:
    lab = filled(Lab(make_registry(3)), list(range(20)))
    cursor = cursor_of(lab)
    place = data.draw(st.integers(0, len(cursor) - 2))
    other = data.draw(st.sampled_from("ABCDabcd0123-_"))
    changed = cursor[:place] + other + cursor[place + 1 :]
    if changed != cursor:
        with pytest.raises(QueryError):
            lab.query_engine.page("of-colour", colour="red", limit=5, cursor=changed)


@pytest.mark.parametrize("forged", [5, b"x", None.__class__])
def test_a_cursor_that_is_no_text_is_refused(lab: Lab, forged: Any) -> None:
    with pytest.raises(QueryError, match="is not text"):
        lab.query_engine.page("of-colour", colour="red", cursor=forged)


@pytest.mark.parametrize("value", ["abc", "", "NaN", "Infinity", 5, None, "9" * 2000])
def test_a_cursor_forged_with_care_still_has_to_fit(lab: Lab, value: Any) -> None:
    binding = lab.query_engine.prepare("of-colour", {"colour": "red"}).binding
    key = {"weight": {"N": value}, "PK": {"S": "p"}, "SK": {"S": "s"}}
    forged = write(binding, Place([key, None, None]))
    with pytest.raises(QueryError, match="does not fit the query"):
        lab.query_engine.page("of-colour", colour="red", cursor=forged)


def test_a_number_may_be_written_in_any_way(lab: Lab) -> None:
    pages = [lab.query_engine.page("heavy", colour="red", least=Decimal("5.0"), limit=3)]
    follow: dict[str, Any] = {"colour": "red", "least": Decimal("0.5E+1"), "limit": 3}
    pages.append(lab.query_engine.page("heavy", cursor=pages[0].cursor, **follow))
    assert [lab.ids(page.rows) for page in pages] == [["t5", "t6", "t7"], ["t8", "t9", "t10"]]


def test_a_page_size_may_change_from_page_to_page(lab: Lab) -> None:
    cursor, shown = None, []
    for limit in (1, 7, 2, MOST):
        answer = lab.query_engine.page("of-colour", colour="red", limit=limit, cursor=cursor)
        shown += lab.ids(answer.rows)
        cursor = answer.cursor
    assert shown == [f"t{place}" for place in range(20)]
    assert cursor is None


@pytest.mark.parametrize("limit", [0, -1, MOST + 1, True, 2.5, "7"])
def test_a_page_of_an_odd_size_is_refused(lab: Lab, limit: Any) -> None:
    with pytest.raises(QueryError, match="limit must be a whole number from 1 to 1000"):
        lab.query_engine.page("of-colour", colour="red", limit=limit)


@pytest.mark.parametrize(
    ("name", "arguments", "why"),
    [
        ("nothing", {}, "no access pattern is named 'nothing'; declared are heavy, of-colour"),
        ("of-colour", {}, r"takes \(colour\); colour is missing"),
        ("of-colour", {"colour": "red", "size": 1}, "size is unknown"),
        ("heavy", {"colour": "red", "least": "a lot"}, r"a number \(int or Decimal\), not str"),
        ("of-colour", {"colour": ""}, "colour is empty"),
        ("of-colour", {"colour": "red", "order": "up"}, "order must be asc or desc"),
    ],
)
def test_the_error_of_a_wrong_query_names_the_parameters(
    lab: Lab, name: str, arguments: dict[str, Any], why: str
) -> None:
    with pytest.raises(QueryError, match=why):
        lab.query_engine.page(name, **arguments)


def test_all_rows_are_given_one_after_the_other_and_no_more_is_read_than_is_taken(lab: Lab) -> None:
    rows = lab.query_engine.rows("of-colour", colour="red", limit=3)
    first = lab.ids([next(rows), next(rows)])
    assert first == ["t0", "t1"]
    assert next(lab.table.calls) <= 3
    assert len(lab.ids(rows)) == 18
