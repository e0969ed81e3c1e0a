"""What an app's tests get from `adminview.testing`: plain rows, and errors that say where."""

import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from adminview import Registry, Source
from adminview.model.errors import (
    DeclarationError,
    MissingAttributeError,
    RowError,
    UnreadableRecordError,
    ViewError,
)
from adminview.testing import DeadLetteredError, LocalView, local_view, rows_of
from tests.support import totals_views
from tests.support.view_files import load_view_file

VIEW_FILE = """
from adminview import AccessPattern, Index, Join, Row, Source, key, view

books = Source("Books", partition_key="isbn")
by_author = Index("ByAuthor", partition="author", include=["data"])
of_author = AccessPattern(
    "books-of-author", index=by_author, partition="{author}",
    joins=[Join("biography", partition="AUTHOR#{author}", sort="BIOGRAPHY")],
)
one_book = AccessPattern("one-book", partition="BOOK#{isbn}", sort="DETAILS")

@view(books)
def book(item):
    yield Row(
        key("BOOK", item["isbn"]), "DETAILS",
        data={"title": item["title"], "pages": int(item.get("pages", 1))},
        indexes=[by_author(item["author"])],
    )
    if "biography" in item:
        yield Row(key("AUTHOR", item["author"]), "BIOGRAPHY", data=item.pick("biography"))
"""
BOOK = {"isbn": "i-1", "title": "Middlemarch", "author": "Eliot"}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Registry:
    file = tmp_path_factory.mktemp("views") / "books_for_testing.py"
    return Registry.of([load_view_file(file, VIEW_FILE)])


@pytest.fixture
def books(model: Registry) -> Source:
    return model.source("Books")


@pytest.fixture
def view(model: Registry) -> Iterator[LocalView]:
    with local_view(model) as started:
        yield started


def test_rows_have_their_contributions_to_totals() -> None:
    model = Registry.of([totals_views])
    tea_price = Decimal("5.5")
    lines = {"tea": {"units": 2, "revenue": tea_price}}
    item = {"id": "1", "status": "OPEN", "shop": "s", "day": "2025-03-01", "lines": lines}
    order, tea = rows_of(totals_views.orders, item | {"total": tea_price}, model)
    assert order["totals"] == [
        {"total": "OrdersByStatus", "status": "OPEN", "count": 1},
        {
            "total": "DailySales",
            "shop": "s",
            "day": "2025-03-01",
            "count": 1,
            "revenue": Decimal("5.5"),
        },
    ]
    (sold,) = tea["totals"]
    assert (sold["product"], sold["units"], sold["revenue"]) == ("tea", 2, tea_price)


def test_rows_without_contributions_have_no_totals(model: Registry, books: Source) -> None:
    assert "totals" not in rows_of(books, BOOK, model)[0]


def line(text: str) -> int:
    return VIEW_FILE[: VIEW_FILE.index(text)].count("\n") + 1


def test_a_missing_attribute_is_named_with_view_and_line(model: Registry, books: Source) -> None:
    place = f"view 'book' at view_file_books_for_testing:{line('data={')}"
    text = re.escape(f"the item has no attribute 'title'; {place}")
    with pytest.raises(MissingAttributeError, match=f"^{text}$"):
        rows_of(books, {"isbn": "i-1"}, model)


def test_the_text_of_another_error_is_kept(model: Registry, books: Source) -> None:
    with pytest.raises(ViewError, match=r"ValueError: invalid literal .* 'many'; view 'book' at"):
        rows_of(books, BOOK | {"pages": "many"}, model)


def test_a_key_of_a_wrong_type_is_refused(model: Registry, books: Source) -> None:
    text = "key attribute 'isbn' of source 'Books' must be text, but is"
    with pytest.raises(UnreadableRecordError, match=f"{text} a number"):
        rows_of(books, BOOK | {"isbn": 1}, model)
    with pytest.raises(UnreadableRecordError, match=f"{text} missing"):
        rows_of(books, {"title": "Middlemarch"}, model)


def test_a_float_is_refused_with_the_name_of_its_attribute(model: Registry, books: Source) -> None:
    with pytest.raises(RowError, match=r"attribute 'price': .* of type float \(use a Decimal"):
        rows_of(books, BOOK | {"price": 2.5}, model)


def test_a_source_must_be_one_that_a_view_file_declares(model: Registry) -> None:
    with pytest.raises(TypeError, match="as a view file declares it, not 'Books'"):
        rows_of("Books", BOOK, model)  # type: ignore[arg-type]  # the mistake
    with pytest.raises(DeclarationError, match=r"no view file declares source 'Films'; .* Books"):
        rows_of(Source("Films", partition_key="isbn"), BOOK, model)


def test_the_same_is_refused_before_it_is_written(view: LocalView, books: Source) -> None:
    with pytest.raises(TypeError, match="must be a Source"):
        view.put("Books", BOOK)  # type: ignore[arg-type]  # the mistake
    with pytest.raises(UnreadableRecordError, match="must be text, but is a number"):
        view.put(books, BOOK | {"isbn": 1})
    with pytest.raises(UnreadableRecordError, match="must be text, but is missing"):
        view.delete(books, {"title": "Middlemarch"})
    with pytest.raises(TypeError, match=r"the key must be a dict .*: \{'isbn': …\}"):
        view.delete(books, "9780141")  # type: ignore[arg-type]  # the mistake


def test_joined_rows_are_returned_by_name_and_none_if_there_is_none(
    view: LocalView, books: Source
) -> None:
    view.put(books, BOOK)
    (row,) = view.query("books-of-author", author="Eliot")
    assert row["joined"] == {"biography": None}
    view.put(books, BOOK | {"biography": "Born in 1819"})
    (row,) = view.query("books-of-author", author="Eliot")
    assert row["joined"]["biography"]["data"] == {"biography": "Born in 1819"}
    assert row["joined"]["biography"]["PK"] == "AUTHOR#Eliot"


def test_rows_of_a_pattern_without_joins_have_nothing_joined(
    view: LocalView, books: Source
) -> None:
    view.put(books, BOOK)
    (row,) = view.query("one-book", isbn="i-1")
    assert row.keys() == {"PK", "SK", "author", "data"}


def test_a_query_raises_for_an_item_that_was_dead_lettered(view: LocalView, books: Source) -> None:
    view.put(books, BOOK)
    view.put(books, BOOK | {"isbn": "i-2", "pages": "many"})
    for _ in range(2):
        with pytest.raises(DeadLetteredError) as raised:
            view.query("one-book", isbn="i-1")
        assert re.search(
            r"Books/i-2: the view raised ValueError: invalid literal .* 'many'; view 'book' at "
            rf"view_file_books_for_testing:{line('data={')}\n",
            str(raised.value),
        )
        assert "view.dead_letters()" in str(raised.value)
        shown = raised.traceback.filter(raised)  # what pytest prints
        assert shown[-1].path == Path(__file__)


def test_dead_letters_that_were_taken_no_longer_raise(view: LocalView, books: Source) -> None:
    view.put(books, BOOK)
    view.put(books, {"isbn": "i-2"})
    (letter,) = view.dead_letters()
    assert (letter["item"], letter["error"]) == ("Books/i-2", "MissingAttributeError")
    assert letter["reason"].startswith("the item has no attribute 'title'; view 'book' at")
    assert len(view.query("books-of-author", author="Eliot")) == 1
    assert view.dead_letters() == []


def test_the_reason_is_the_dead_letters_own_if_the_item_was_corrected(
    view: LocalView, books: Source
) -> None:
    view.put(books, BOOK | {"pages": "many"})
    view.put(books, BOOK)
    letters = view.dead_letters()
    assert {letter["reason"].partition(";")[0] for letter in letters} == {
        "the view raised ValueError"
    }
