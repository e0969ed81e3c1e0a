"""`adminview query`: commands, options, help and completion come from the declarations."""

import os
import subprocess
import sys
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from adminview.cli.commands import query
from adminview.cli.querying.answer import explanation
from adminview.model import AccessPattern, Index, Registry, number
from adminview.model.errors import DeclarationError, QueryError
from adminview.query.query import Query
from examples import load
from tests.support.model import registry

ROOT = Path(__file__).parents[2]


def run(*words: str, app: typer.Typer = query.app) -> Result:
    return CliRunner().invoke(app, words, env={"COLUMNS": "200", "TERM": "dumb"})


@pytest.fixture(autouse=True)
def shop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the shop's access patterns on no table."""
    monkeypatch.setattr("adminview.cli.commands.query.registry", registry)
    monkeypatch.setattr(
        "adminview.cli.querying.answer.find_settings", lambda *_: pytest.fail("AWS was asked")
    )


def declared(monkeypatch: pytest.MonkeyPatch, *patterns: AccessPattern) -> list[dict[str, str]]:
    """Declare access patterns, and record their arguments."""
    notes: list[dict[str, str]] = []
    monkeypatch.setattr(
        "adminview.cli.commands.query.registry", lambda: replace(registry(), patterns=patterns)
    )
    monkeypatch.setattr(
        "adminview.cli.commands.query.run", lambda _, __, arguments, ___: notes.append(arguments)
    )
    return notes


def test_help_lists_every_pattern_with_its_description() -> None:
    reported = run("--help").stdout
    for pattern in registry().patterns:
        assert pattern.name in reported
        assert pattern.about in reported


def test_help_of_a_pattern_shows_its_parameters_with_their_types_and_keys() -> None:
    reported = run("orders-of-customer-between", "--help").stdout
    assert "Orders of one status between two dates" in reported
    for part in (
        "--customer-id",
        "customerId = {customer_id}",
        "orderDate BETWEEN {start} AND {end}",
        "TEXT",
        "--cursor",
        "--explain",
        "[required]",
    ):
        assert part in reported


def test_an_unknown_pattern_is_rejected_with_similar_names() -> None:
    result = run("orders-by-stat")
    assert result.exit_code == 2
    assert "Did you mean 'orders-by-status'" in result.stderr
    result = run("xyz")
    assert result.exit_code == 2
    assert "No access pattern in tests.support.views is named 'xyz'." in result.stderr
    assert "To list them, run: adminview" in result.stderr


def test_a_missing_parameter_is_named_as_it_is_typed() -> None:
    result = run("orders-by-status")
    assert result.exit_code == 2
    assert "--status" in result.stderr


@pytest.mark.parametrize(
    ("typed", "completions"),
    [
        ("adminview query orders-by-s", {"orders-by-status"}),
        ("adminview query orders-by-status --st", {"--status", "--stage"}),
        ("adminview query orders-by-status --status PENDING --order ", {"asc", "desc"}),
    ],
)
def test_a_shell_completes_patterns_options_and_orders(typed: str, completions: set[str]) -> None:
    """Complete as a shell does, for a command that has these among others."""
    script = (
        "import typer\nfrom adminview.cli.commands import query\napp = typer.Typer()\n"
        "app.callback()(lambda: None)\napp.add_typer(query.app, name='query')\n"
        "app(prog_name='adminview')"
    )
    surroundings = {
        "_ADMINVIEW_COMPLETE": "complete_bash",
        "COMP_WORDS": typed,
        "COMP_CWORD": str(len(typed.split(" ")) - 1),
        "_TYPER_COMPLETE_ARGS": typed,
    }
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | surroundings,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert {*done.stdout.split()} == completions, done.stderr


def test_a_view_file_with_an_error_breaks_no_other_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken() -> Registry:
        raise DeclarationError

    monkeypatch.setattr("adminview.cli.commands.query.registry", broken)
    app = typer.Typer()
    app.add_typer(query.app, name="query")
    app.command()(lambda: None)
    assert "query" in run("--help", app=app).stdout
    result = run("query", "anything", app=app)
    assert isinstance(result.exception, DeclarationError)


def test_optional_parameters_may_be_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    notes = declared(
        monkeypatch,
        AccessPattern("some", partition="{first}", sort_from="{since}", optional=["since"]),
    )
    assert run("some", "--first", "a").exit_code == 0
    assert run("some", "--first", "a", "--since", "b").exit_code == 0
    assert notes == [{"first": "a"}, {"first": "a", "since": "b"}]


def test_a_parameter_named_as_an_option_or_a_word_of_python_can_be_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    notes = declared(
        monkeypatch,
        AccessPattern("some", partition="{stage}#{all}#{class}", sort="{given_x}"),
    )
    words = ["--parameter-stage", "a", "--parameter-all", "b", "--class", "c", "--given-x", "d"]
    assert run("some", *words).exit_code == 0
    assert notes == [{"stage": "a", "all": "b", "class": "c", "given_x": "d"}]


def test_the_names_of_shared_options_are_not_taken_by_parameters() -> None:
    reported = run("orders-by-status", "--help").stdout
    for taken in ("all", "count", "csv", "explain", "json", "limit", "prefix", "stage"):
        assert f"--{taken}" in reported
        assert query.option_of(taken) == f"--parameter-{taken}"


def test_errors_have_the_librarys_text(monkeypatch: pytest.MonkeyPatch) -> None:
    gear = load("game").registry
    monkeypatch.setattr("adminview.cli.commands.query.registry", lambda: gear)
    result = run("gear-of-level", "--level", "high")
    assert isinstance(result.exception, QueryError)
    assert str(result.exception) == "access pattern 'gear-of-level': level must be a number"
    result = run("gear-of-level", "--level", "7", "--order", "up")
    assert "order must be asc or desc" in str(result.exception)


@pytest.mark.parametrize(
    "words",
    [("--json", "--csv"), ("--count", "--cursor", "x"), ("--count", "--all"), ("--count", "--csv")],
)
def test_options_that_contradict_each_other_are_refused(words: tuple[str, ...]) -> None:
    assert run("orders-by-status", "--status", "PENDING", *words).exit_code == 2


def test_an_explanation_has_names_and_values_filled_in() -> None:
    index = Index("Spread", partition=["kind", number("level")], sort="at", shards=4)
    pattern = AccessPattern(
        "some",
        index=index,
        partition=["{kind}", "{level}"],
        sort_between=("{start}", "{end}"),
        shows=(),
        descending=True,
    )
    arguments = {"kind": ":v0a", "level": Decimal("1.50"), "start": "a", "end": "it's"}
    reported = explanation(Query.of(pattern, arguments), "Table")
    assert reported["queries"] == "index 'Spread' of Table"
    assert reported["key condition"] == (
        "kind = ':v0a' AND level = 1.5 AND at BETWEEN 'a' AND \"it's\""
    )
    assert reported["shards"] == "4, queried concurrently and merged"
    assert reported["order"] == "descending"


def test_the_help_says_why_a_parameter_has_a_longer_option(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    declared(monkeypatch, AccessPattern("some", partition="{prefix}#{csv_raw}", sort="{follow}"))
    reported = " ".join(run("some", "--help").stdout.replace("│", " ").split())
    assert "--parameter-prefix" in reported
    assert "Not --prefix, which every query has" in reported
    assert "--parameter-csv-raw" in reported
    assert " --follow TEXT" in reported, "no query has this option"


def test_a_missing_parameter_with_a_longer_option_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    declared(monkeypatch, AccessPattern("some", partition="{prefix}"))
    result = run("some", "--prefix", "x")
    assert result.exit_code == 2
    assert "--parameter-prefix" in result.stderr
