"""Foreign text is printed as text: no control characters, no markup, no formulas."""

import json
import sys
from collections import Counter
from collections.abc import Callable
from io import StringIO
from types import SimpleNamespace
from typing import Any, cast

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError
from hypothesis import example, given
from hypothesis import strategies as st

from adminview.aws.dead_letter_consumer import Message
from adminview.bulk.verification import VerifyReport
from adminview.bulk.verify.differences import Difference, Kind
from adminview.bulk.verify.scope import Scope
from adminview.cli import main
from adminview.cli.bulk.segment_pool import SegmentOutcome
from adminview.cli.commands import plan as plan_command
from adminview.cli.costing.prices import Prices
from adminview.cli.deployment.facts import Deployed
from adminview.cli.doctor.finding import Finding, State
from adminview.cli.output import bulk as bulk_report
from adminview.cli.output import cost as cost_report
from adminview.cli.output import dead_letters as letters
from adminview.cli.output import doctor as doctor_report
from adminview.cli.output import migrate as migrate_report
from adminview.cli.output import rows
from adminview.cli.output import verify as verify_report
from adminview.cli.output.grid import Grid
from adminview.cli.output.printing import (
    Console,
    TextTable,
    csv_cell,
    echo,
    joined,
    print_json,
    printable,
    styled,
)
from adminview.cli.output.tables import facts
from adminview.cli.planning import report
from adminview.cli.planning.apply import PlanError
from adminview.cli.planning.cost import Costs, Estimate, SourceCosts
from adminview.cli.planning.steps import BackfillStep, Plan
from adminview.dead_letters.peek import PeekResult
from adminview.model.errors import QueryError, RecordError
from tests.support.hostile_text import HOSTILE, MARKUP, check_inert

texts = st.text(st.characters(exclude_categories=()))  # lone surrogates too


def printed(*shown: Any) -> str:
    console = Console(file=StringIO(), width=500)
    for part in shown:
        console.print(part)
    return cast("StringIO", console.file).getvalue()


@given(texts)
@example(HOSTILE)
@example("\ud800")
def test_any_text_is_printed_without_control_characters(text: str) -> None:
    shown = TextTable(text)
    shown.add_column(text)
    shown.add_row(text)
    shown.add_row(styled(text, "red"))
    shown.add_row(joined(text, [text, styled(text)]))
    written = printed(shown, text, facts(text, {text: {text: [text, {text: text}]}}))
    assert all(character.isprintable() or character == "\n" for character in written)
    written.encode()


@given(texts)
@example("[/]")
@example(MARKUP)
@example("[link=https://example.com]x[/link]:smile:")
@example("\u0301")
@example("\u0301\u0302x")
def test_a_cell_shows_its_text_and_no_markup(text: str) -> None:
    if printable(text).strip() and "  " not in text:
        assert printable(text).strip() in printed(facts("", {"a": text}))


def test_lines_of_a_pipe_end_without_the_spaces_that_fill_a_table() -> None:
    table = TextTable("Names", "name", "length")
    table.add_row("a", "1")
    table.add_row("a long name", "")
    lines = printed(table).splitlines()
    assert lines == [line.rstrip() for line in lines]
    assert lines[:3] == ["Names", "", " name          length"]


def test_many_combining_marks_are_escaped_one_by_one() -> None:
    assert printable("\u0301" * 5000) == "\\u0301" * 5000


def test_a_terminal_gets_no_styles_from_data() -> None:
    console = Console(file=StringIO(), width=500, force_terminal=True, color_system="standard")
    console.print("[red]danger[/] \x1b[31m")
    console.print(facts("", {"[red]name": "[bold]value"}))
    written = cast("StringIO", console.file).getvalue()
    assert "[red]danger[/] \\x1b[31m" in written
    assert "[red]name" in written
    assert "[bold]value" in written
    assert "\x1b[31m" not in written
    assert "\x1b[1mvalue" not in written


@given(texts)
@example("\x7f\x9b\u202e\ud800\U000e0001")
def test_json_is_printable_and_says_the_same(text: str) -> None:
    for ascii_only in (True, False):
        console = Console(file=StringIO())
        console.write_json(json.dumps({text: [text]}, ensure_ascii=ascii_only, indent=2))
        written = cast("StringIO", console.file).getvalue()
        assert json.loads(written) == {text: [text]}
        assert all(character.isprintable() or character == "\n" for character in written)
        written.encode()


def test_json_on_standard_output_is_escaped_too(capsys: pytest.CaptureFixture[str]) -> None:
    print_json(json.dumps({"a": "\x7f\ud800"}, ensure_ascii=False))
    assert capsys.readouterr().out == '{"a": "\\u007f\\ud800"}\n'


def test_a_line_is_escaped_and_keeps_its_newlines(capsys: pytest.CaptureFixture[str]) -> None:
    echo("a\x1b[2J\nb\ud800", err=True)
    assert capsys.readouterr().err == "a\\x1b[2J\nb\\ud800\n"


@pytest.mark.parametrize(
    ("cell", "safe"),
    [
        ("=1+1", "'=1+1"),
        ("+49 30 1234", "'+49 30 1234"),
        ("-2+3", "'-2+3"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\\t=1"),
        ("\r=1", "'\\r=1"),
        ("\n=1", "'\n=1"),
        ("＝1", "'＝1"),  # noqa: RUF001 - the full-width sign
        ("-", "'-"),
        ("-12.50", "-12.50"),
        ("-7", "-7"),
        ("-1.5E-7", "-1.5E-7"),
        ("-\u0661", "'-\u0661"),  # a digit, and no number in a spreadsheet
        ("-1\n", "'-1\n"),
        ("a=1", "a=1"),
        ("", ""),
        ("two\nlines", "two\nlines"),
        ("\x1b[31m\x9b\x7f\u202e\ud800", "\\x1b[31m\\x9b\\x7f\\u202e\\ud800"),
        ("no\u00a0break, 👩\u200d💻", "no\u00a0break, 👩\u200d💻"),
    ],
)
def test_a_csv_cell_is_no_formula_and_holds_no_control_character(cell: str, safe: str) -> None:
    assert csv_cell(cell) == safe


def test_csv_headers_and_values_are_neutralised() -> None:
    record = {"PK": "=cmd|' /C calc'!A0", "=evil": -12.5, "data": {"@x": "-12.50", "y": [-1]}}
    header, line, _ = rows.to_csv(Grid.of([record])).split("\r\n")
    assert header == "PK,data.@x,data.y,'=evil"
    assert line == "'=cmd|' /C calc'!A0,-12.50,[-1],-12.5"


SERVICE_ERROR = ClientError({"Error": {"Code": "X", "Message": HOSTILE}}, "Query")


@pytest.mark.parametrize(
    "error",
    [
        QueryError(HOSTILE),
        SERVICE_ERROR,
        EndpointConnectionError(endpoint_url=HOSTILE),
        OSError(HOSTILE),
        ZeroDivisionError(HOSTILE),
    ],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize(
    "words",
    [("query", "user-profile", "--user-id", "1"), ("backfill",), ("verify",), ("dlq", "list")],
    ids=lambda words: words[0],
)
def test_an_error_is_printed_without_control_characters(
    error: Exception,
    words: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(*_: object) -> None:
        raise error

    for module in (
        "querying.answer",
        "commands.backfill",
        "commands.verify",
        "dead_letters",
    ):
        monkeypatch.setattr(f"adminview.cli.{module}.find_settings", fail)
    assert run(monkeypatch, *words) in {1, 2}
    check_inert(capsys.readouterr().err)


@pytest.mark.parametrize(
    "words",
    [
        (HOSTILE,),
        ("dlq", HOSTILE),
        ("query", HOSTILE),
        ("query", "user-profile", f"--{HOSTILE}"),
        ("dlq", "list", "--older-than", HOSTILE),
        ("doctor", "--stage", HOSTILE),
        ("migrate", HOSTILE),
    ],
)
def test_an_argument_is_repeated_without_control_characters(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "500")
    assert run(monkeypatch, *words) in {1, 2}
    reported = capsys.readouterr().err
    assert all(character.isprintable() or character == "\n" for character in reported), reported
    assert "owned" in reported


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["adminview", *words])
    with pytest.raises(SystemExit) as ended:
        main.main()
    return int(ended.value.code or 0)


def a_run() -> verify_report.VerifyResult:
    """Make a verification that found a difference."""
    difference = Difference(Kind.STALE, "Users", HOSTILE, (HOSTILE, HOSTILE), HOSTILE)
    report = VerifyReport(findings=[difference.to_json() | {"fate": HOSTILE}])
    return verify_report.VerifyResult(Scope(), None, report, 2, HOSTILE)


def carry_out(console: Console) -> None:
    def fail(*_: object) -> bool:
        raise PlanError(HOSTILE)

    plan = Plan((BackfillStep(reason=HOSTILE, source=HOSTILE),), (), ())
    application = cast("Any", SimpleNamespace(plan=lambda _: plan, apply=fail))
    plan_command.carry_out(application, Deployed(), console, None)


PLAN = Plan((BackfillStep(reason=HOSTILE, source=HOSTILE),), (HOSTILE,), (HOSTILE,))
LETTER = Message("id", HOSTILE, "", 0, 0)
REPORTS: dict[str, Callable[[Console], object]] = {
    "query": lambda c: rows.print_rows(
        HOSTILE, Grid.of([{"PK": HOSTILE, "SK": HOSTILE, "data": {HOSTILE: HOSTILE}}]), c
    ),
    "sql": lambda c: rows.print_rows(
        HOSTILE, Grid.of([{HOSTILE: HOSTILE, "b": {HOSTILE: [HOSTILE, {HOSTILE: 1}]}}]), c
    ),
    "dlq show": lambda c: c.print(letters.letter_table(json.dumps({"[/]": 1, HOSTILE: HOSTILE}))),
    "dlq show text": lambda c: c.print(letters.letter_table(HOSTILE)),
    "dlq list": lambda c: c.print(letters.letters_table(PeekResult([], [(LETTER, HOSTILE)]), 0.0)),
    "dlq replay": lambda c: c.print(
        letters.summary(
            {
                "outcomes": {HOSTILE: 1},
                "items": 1,
                "rows_put": 1,
                "rows_deleted": 1,
                "reasons": {HOSTILE: 1},
                "complete": True,
            }
        )
    ),
    "doctor": lambda c: doctor_report.show(
        HOSTILE, [Finding(HOSTILE, State.PROBLEM, HOSTILE, (HOSTILE,))], c
    ),
    "plan": lambda c: plan_command.show(PLAN, c, as_json=False),
    "apply": carry_out,
    "model diff": lambda c: report.show(
        cast("Any", SimpleNamespace(is_empty=True, old=None, new={"fingerprint": HOSTILE})),
        HOSTILE,
        None,
        "",
        c,
    ),
    "model diff costs": lambda c: c.print(
        report._costs(Estimate([SourceCosts(HOSTILE, 1, 1, Costs())], {}))
    ),
    "cost": lambda c: cost_report.show([], Prices(region=HOSTILE), [HOSTILE], c),
    "verify": lambda c: verify_report.show(a_run(), c),
    "backfill": lambda c: bulk_report.show(SegmentOutcome(HOSTILE, Counter(), HOSTILE), c),
    "migrate": lambda c: migrate_report.show_outcome(
        SegmentOutcome(HOSTILE, Counter(), HOSTILE),
        [({"PK": {"S": HOSTILE}}, RecordError(HOSTILE))],
        c,
        as_json=False,
    ),
}


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_of_hostile_names_steers_no_terminal(name: str) -> None:
    console = Console(file=StringIO(), width=2000)
    REPORTS[name](console)
    check_inert(cast("StringIO", console.file).getvalue())


@pytest.mark.parametrize(
    ("letter", "shown"),
    [
        ({"key": {"id": {"S": "a"}, "day": {"N": "7"}}}, "key id: a day: 7"),
        ({"items": [{"key": {"id": {"S": "a"}}, "rows": []}]}, "items (key: id: a rows: [])"),
        ({"key": "text"}, "key text"),
        ({"key": {"id": {}, "day": "7"}}, "key id: {} day: 7"),
        ({"items": ["text", {"rows": 1}]}, "items text, (rows: 1)"),
    ],
)
def test_a_dead_letter_is_shown_with_plain_keys(
    letter: dict[str, Any], shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Console(width=200).print(letters.letter_table(json.dumps(letter)))
    assert shown in " ".join(capsys.readouterr().out.split())
