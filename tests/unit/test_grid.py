"""Rows as tables and CSV: columns in the order of the code, whole in a pipe, fitted elsewhere."""

import csv
import re
from io import StringIO
from typing import Any, cast

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from adminview.cli.output.data_order import DataOrder
from adminview.cli.output.grid import Grid
from adminview.cli.output.printing import Console
from adminview.cli.output.rows import fit, print_rows, record, to_csv
from adminview.cli.querying.result_grid import for_table
from adminview.cli.querying.row_format import RowFormat
from adminview.model import AccessPattern, Index
from tests.support.view_files import with_view_file

VIEWS = """
from collections.abc import Iterator

from adminview import Item, Row, Source, key, view

parcels = Source("Parcels", partition_key="id")
trucks = Source("Trucks", partition_key="id")
COMMON = ("weight", "carrier")


@view(parcels)
def parcel(item: Item) -> Iterator[Row]:
    data = item.pick("status", "id", *COMMON) | {"zone": 1, "at": 2}
    yield Row(key("PARCEL", item["id"]), "DETAILS", data=data)
    yield from stops(item)


def stops(item: Item) -> Iterator[Row]:
    yield Row(key("PARCEL", item["id"]), "STOP", data=dict(town="x", id=item["id"], by="y"))


@view(trucks)
def truck(item: Item) -> Iterator[Row]:
    yield Row(key("TRUCK", item["id"]), "DETAILS", data=item.pick("plate", "id"))
"""


def shown(grid: Grid, width: int | None = None, title: str = "") -> list[str]:
    """Print a grid at a terminal of some width, or into a pipe."""
    console = Console(
        file=StringIO(), width=width or 80, force_terminal=bool(width), color_system=None
    )
    print_rows(title, grid, console)
    printed = cast("StringIO", console.file).getvalue()
    return [line.rstrip() for line in printed.splitlines() if line.strip()]


@pytest.fixture(scope="module")
def order(tmp_path_factory: pytest.TempPathFactory) -> DataOrder:
    file = tmp_path_factory.mktemp("views") / "parcels.py"
    return DataOrder.of(with_view_file(file, VIEWS))


@pytest.mark.parametrize(
    ("rows", "columns"),
    [
        ([["id", "at", "carrier", "status", "weight"]], "status id weight carrier at"),
        ([["by", "id", "town"]], "town id by"),
        ([["id", "plate"]], "plate id"),
        # An attribute that only some rows have stands where the view writes it.
        ([["at", "status"], ["weight", "status", "zone"]], "status weight zone at"),
        # Rows of two views: the columns of the first, then those that the second adds.
        ([["id", "plate"], ["status", "id", "zone"]], "plate id status zone"),
        ([["b", "a"]], "a b"),
        ([["zebra", "status", "ant", "weight"]], "status weight ant zebra"),
        ([[]], ""),
        ([], ""),
    ],
)
def test_attributes_are_in_the_order_in_which_a_view_writes_them(
    order: DataOrder, rows: list[list[str]], columns: str
) -> None:
    assert order.columns(rows) == columns.split()


def test_without_view_files_attributes_are_sorted() -> None:
    assert DataOrder().columns([["b", "a"], ["c"]]) == ["a", "b", "c"]


def test_a_table_has_the_key_the_data_joined_rows_and_then_the_rest() -> None:
    rows: list[dict[str, Any]] = [
        {"GSI1_PK": "g", "SK": "b", "data": {"n": 1, "a": "x"}, "user": {"name": "Ada"}, "PK": "a"},
        {"_owner": "o", "PK": "c", "SK": "d", "user": None, "kind": "k"},
    ]
    grid = Grid.of(rows)
    assert grid.columns == [
        *("PK", "SK", "data.a", "data.n", "user.name", "GSI1_PK", "kind", "_owner")
    ]
    assert grid.headers[2:5] == ["a", "n", "user.name"]
    assert [*grid.values()][1] == ["c", "d", None, None, None, None, "k", "o"]


def test_a_joined_row_that_no_row_has_is_an_empty_column() -> None:
    assert Grid.of([{"PK": "a", "user": None}]).columns == ["PK", "user"]
    assert Grid.of([{"PK": "a", "user": None}, {"user": {"name": "Ada"}}]).columns == [
        *("PK", "user.name")
    ]


def test_columns_of_data_keep_their_prefix_where_another_has_the_name() -> None:
    grid = Grid.of([{"PK": "a", "status": "indexed", "data": {"status": "s", "PK": "b", "x": 1}}])
    assert grid.headers == ["PK", "data.PK", "data.status", "x", "status"]


def test_columns_can_be_chosen_by_their_short_or_full_names() -> None:
    row = {"PK": "a", "SK": "b", "data": {"x": 1, "y": 2}, "user": {"name": "n", "mail": "m"}}
    grid = Grid.of([row])
    assert grid.select(["y", "SK", "data.x"]).columns == ["data.y", "SK", "data.x"]
    assert grid.select(["user", "user.name"]).columns == ["user.mail", "user.name"]
    assert grid.select(["data", "none"]).columns == ["data.x", "data.y", "none"]
    assert grid.unknown(["y", "user", "none"]) == ["none"]


def test_values_are_readable() -> None:
    values: dict[str, Any] = {
        "lines": [{"name": "Milk", "price": 2.99}, {"name": "Tea"}],
        "map": {"city": "Hanoi", "tags": ["a", "b"]},
        "no": None,
        "yes": True,
        "large": 1e22,
        "none": [],
        "two": "a\nb",
    }
    text = "\n".join(shown(Grid.of([{"PK": "a", "data": values}])))
    for part in (
        "(name: Milk  price: 2.99), (name: Tea)",
        "city: Hanoi  tags: a, b",
        "true",
        "10000000000000000000000",
        "[]",
        "a\\nb",
    ):
        assert part in text


def test_a_table_in_a_pipe_has_a_line_for_each_row_and_hides_nothing() -> None:
    long = "x" * 5000
    lines = shown(Grid.of([{"PK": long, "SK": "[bold]b", "data": {"y": long}}, {"PK": "c"}]))
    assert any(line.count(long) == 2 and "[bold]b" in line for line in lines)
    assert len(lines) == 4
    assert "…" not in "".join(lines)
    assert shown(Grid.of([]), title="[red]title")[0] == "[red]title"
    assert shown(Grid.of([]))[-1].strip() == "(no rows)"


ORDER = {
    "PK": "USER#user-123",
    "SK": "ORDER#2025-03-01#2121195",
    "data": {"status": "PENDING", "lines": "x" * 200, "note": "short"},
}


@pytest.mark.parametrize("width", [80, 100, 120])
def test_at_a_terminal_long_values_are_shortened_and_keys_are_whole(width: int) -> None:
    grid = Grid.of([ORDER])
    (header, _, line) = shown(grid, width)
    assert header.split() == ["PK", "SK", "lines", "note", "status"]
    assert re.fullmatch(
        r" USER#user-123   ORDER#2025-03-01#2121195   x+…   short   PENDING", line
    ), line
    assert width - 3 <= len(line) <= width, "the whole width is used"


def test_forced_colours_do_not_make_a_pipe_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    console = Console(file=StringIO())
    print_rows("", Grid.of([ORDER]), console)
    assert "x" * 200 in cast("StringIO", console.file).getvalue()


def test_columns_that_do_not_fit_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    wide = {"PK": "p" * 20, "SK": "s" * 20, "data": {f"attribute{n}": "y" * 30 for n in range(6)}}
    lines = shown(Grid.of([wide]), 80)
    assert lines[0].split() == ["PK", "SK", "attribute0", "attribute1"]
    assert all(len(line) <= 80 for line in lines)
    reported = capsys.readouterr().err
    assert "no room for attribute2, attribute3, attribute4, attribute5" in reported
    assert "widen the terminal" in reported


def test_a_note_names_only_the_first_of_many_columns(capsys: pytest.CaptureFixture[str]) -> None:
    shown(Grid.of([{"PK": "p" * 70, "data": {f"a{n:02}": "y" * 30 for n in range(20)}}]), 80)
    assert "a06, a07 and 12 more columns: widen" in capsys.readouterr().err


def test_columns_that_were_chosen_are_all_shown(capsys: pytest.CaptureFixture[str]) -> None:
    names = [f"attribute{n}" for n in range(6)]
    wide = {"PK": "p" * 20, "data": dict.fromkeys(names, "y" * 30)}
    (header, _, line) = shown(Grid.of([wide]).select(["PK", *names]), 80)
    assert len(header.split()) == 7
    assert "p" * 20 in line
    assert len(line) <= 80
    assert capsys.readouterr().err == ""


def test_keys_wider_than_the_terminal_are_folded_and_never_shortened() -> None:
    keys = {"PK": "p" * 100, "SK": "s" * 90}
    lines = shown(Grid.of([keys]), 80)
    assert all(len(line) <= 80 for line in lines)
    assert "".join(lines).count("p") == 100
    assert "".join(lines).count("s") == 90


def test_wide_characters_take_two_columns() -> None:
    lines = shown(Grid.of([{"PK": "臺北" * 5, "SK": "b", "data": {"x": "臺" * 60}}]), 80)
    assert "臺北" * 5 in lines[2]
    assert lines[2].endswith("…")


widths = st.lists(st.tuples(st.integers(1, 30), st.integers(0, 300)), min_size=1, max_size=12)


@given(widths, st.integers(40, 250), st.booleans())
def test_a_table_is_never_wider_than_the_terminal(
    columns: list[tuple[int, int]],
    width: int,
    chosen: bool,  # noqa: FBT001 - hypothesis gives it
) -> None:
    headers = [header for header, _ in columns]
    natural = [max(pair) for pair in columns]
    fitted = fit(["x"] * len(columns), headers, natural, width, all_columns=chosen)
    least = 4 * len(columns) + 3 * (len(columns) - 1) + 2
    if not chosen or width >= least:
        assert sum(fitted) + 3 * (len(fitted) - 1) + 2 <= width
    assert all(fitted_width <= whole for fitted_width, whole in zip(fitted, natural, strict=False))
    assert 1 <= len(fitted) <= len(columns)
    if sum(natural) + 3 * (len(columns) - 1) + 2 <= width:
        assert fitted == natural


def test_csv_has_the_columns_of_the_table_and_exact_values() -> None:
    digits = "0.10000000000000000000000000000000000001"
    row: dict[str, Any] = {
        "SK": {"S": "b"},
        "PK": {"S": "a"},
        "data": {"M": {"n": {"N": digits}, "s": {"S": "é"}, "half": {"N": "0.5"}}},
        "raw": {"B": "AAE="},
        "set": {"SS": ["b", "a"]},
        "large": {"N": "1" + "0" * 22},
    }
    two = {"PK": "c", "x": 1, "data": {"s": 'say "no", then\nyes'}}
    grid = Grid.of([record(row), two])
    for raw in (False, True):
        assert to_csv(grid, raw=raw) == (
            "PK,SK,data.half,data.n,data.s,large,raw,set,x\r\n"
            f'a,b,0.5,{digits},é,1{"0" * 22},AAE=,"[""a"",""b""]",\r\n'
            'c,,,,"say ""no"", then\nyes",,,,1\r\n'
        )
    assert to_csv(Grid.of([])) == ""
    chosen = grid.select(["x", "s"])
    assert to_csv(chosen).startswith("x,s\r\n"), "as they were asked for"


texts = st.text(min_size=1)


@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=5), texts)
def test_raw_csv_is_read_back_as_it_was(rows: list[tuple[str, str]], name: str) -> None:
    grid = Grid.of([{"PK": pk, "SK": sk, "data": {name: pk}} for pk, sk in rows])
    written = to_csv(grid, raw=True)
    header, *lines = csv.reader(StringIO(written, newline=""))
    assert header == ["PK", "SK", f"data.{name}"]
    assert lines == [[pk, sk, pk] for pk, sk in rows]


def test_raw_csv_keeps_formulas_and_csv_for_a_spreadsheet_does_not() -> None:
    grid = Grid.of([{"PK": "=1+1", "phone": "+49 30", "control": "a\x1b[31m\ud800"}])
    assert to_csv(grid, raw=True).splitlines()[1] == "=1+1,a\x1b[31m\\ud800,+49 30"
    assert to_csv(grid).splitlines()[1] == "'=1+1,a\\x1b[31m\\ud800,'+49 30"


def test_raw_csv_is_not_written_to_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Console, "at_terminal", True)
    with pytest.raises(typer.BadParameter, match="send it to a file or a pipe"):
        RowFormat.of(None, json=False, csv=False, csv_raw=True)


@pytest.mark.parametrize(
    "options",
    [
        {"json": True, "csv": True},
        {"csv": True, "csv_raw": True},
        {"json": True, "csv_raw": True},
        {"json": True, "columns": "a"},
        {"columns": " , "},
    ],
)
def test_formats_that_contradict_each_other_are_refused(options: dict[str, Any]) -> None:
    given_options = {"columns": None, "json": False, "csv": False, "csv_raw": False} | options
    with pytest.raises(typer.BadParameter):
        RowFormat.of(**given_options)


def test_a_column_that_no_row_has_is_empty_and_named(capsys: pytest.CaptureFixture[str]) -> None:
    chosen = RowFormat(columns=["PK", "statsu"], csv=True)
    chosen.print("", Grid.of([{"PK": "a", "data": {"status": "s"}}]))
    printed = capsys.readouterr()
    assert printed.out == "PK,statsu\r\na,\r\n"
    assert printed.err == "no row has statsu; columns: PK, status\n"


def test_hidden_columns_are_printed_in_csv_and_when_they_are_chosen(
    capsys: pytest.CaptureFixture[str],
) -> None:
    grid = Grid.of([{"PK": "a", "GSI1_PK": "g"}])
    RowFormat().print("", grid, {"GSI1_PK"})
    assert "GSI1_PK" not in capsys.readouterr().out
    RowFormat(columns=["GSI1_PK"]).print("", grid, {"GSI1_PK"})
    assert "GSI1_PK" in capsys.readouterr().out
    RowFormat(csv=True).print("", grid, {"GSI1_PK"})
    assert "GSI1_PK" in capsys.readouterr().out


def test_a_table_shows_the_keys_of_an_index_only_if_they_are_all_that_is_shown() -> None:
    index = Index("ByTag", partition="tag", sort="at", include=["data"])
    grid = Grid.of([{"PK": "p", "SK": "s", "tag": "red", "at": "9"}])
    keys = AccessPattern("keys", index=index, partition="{tag}", shows=())
    assert for_table(grid, keys).headers == ["PK", "SK", "at", "tag"]
    details = AccessPattern("details", index=index, partition="{tag}")
    assert for_table(grid, details).headers == ["PK", "SK"]
