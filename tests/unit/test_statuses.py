"""What a command's exit status says: 1 is for work that was done, except for some items."""

from collections import Counter
from io import StringIO
from typing import Any

import pytest
from typer.testing import CliRunner

from adminview.cli import main
from adminview.cli.bulk.segment_pool import SegmentOutcome
from adminview.cli.main import app
from adminview.cli.output.migrate import show_outcome
from adminview.cli.output.printing import Console
from adminview.model.errors import (
    AdminViewError,
    PatternNotReadyError,
    QueryError,
    RecordError,
    SettingsError,
)

NOWHERE = {
    "AWS_ENDPOINT_URL": "http://127.0.0.1:9",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_ACCESS_KEY_ID": "local",
    "AWS_SECRET_ACCESS_KEY": "local",
}
COMMANDS: list[list[str]] = [["backfill"], ["sweep"], ["migrate", "orders-delivery-date", "--yes"]]


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nobody answer."""
    for name, value in NOWHERE.items():
        monkeypatch.setenv(name, value)


def run(*asked: str) -> Any:
    return CliRunner().invoke(app, asked)


@pytest.mark.parametrize("command", COMMANDS)
def test_where_nobody_answers_nothing_was_done(command: list[str]) -> None:
    told = run(*command)
    assert (told.exit_code, told.stdout) == (2, "")
    assert "adminview: no connection to http://127.0.0.1:9" in told.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_where_there_is_no_such_stack_nothing_was_done(command: list[str]) -> None:
    told = run(*command, "--stage", "nope")
    assert told.exit_code == 2
    assert told.stderr.startswith("adminview: ")


def test_where_there_is_no_such_migration_nothing_was_done() -> None:
    told = run("migrate", "nope")
    assert told.exit_code == 2
    assert "no migration is named 'nope'" in told.stderr


def test_a_surprise_is_traced_and_is_no_success_either(monkeypatch: pytest.MonkeyPatch) -> None:
    def surprise(*_: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("adminview.cli.commands.backfill.find_settings", surprise)
    told = run("backfill")
    assert told.exit_code == 2
    assert "ZeroDivisionError" in told.stderr


@pytest.mark.parametrize(
    ("failing", "named"),
    [([], True), ([({"PK": {"S": "one"}}, RecordError("is bad"))], False)],
)
def test_where_items_failed_elsewhere_it_is_said_how_to_see_which(
    failing: list[Any], *, named: bool
) -> None:
    console = Console(file=StringIO(), width=60)
    outcome = SegmentOutcome("migrate/add-dates", Counter(failed=2))
    show_outcome(outcome, failing, console, as_json=False)
    told = console.file.getvalue()  # type: ignore[attr-defined]  # a StringIO
    assert "done, except for 2 items" in told
    assert ("; `adminview migrate add-dates --dry-run --all` shows which" in told) is named


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (QueryError("no such source"), 2),
        (PatternNotReadyError("orders-by-status"), 1),
        (SettingsError("no queue"), 1),
    ],
)
def test_an_error_in_the_arguments_exits_with_2_and_any_other_with_1(
    error: AdminViewError, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr(main, "app", fail)
    with pytest.raises(SystemExit) as exit_:
        main.main()
    assert exit_.value.code == status


@pytest.mark.parametrize(
    "words", [["dlq", "replay", "--deployed", "--dry-run"], ["dlq", "discard"]]
)
def test_contradicting_or_missing_options_exit_with_2(words: list[str]) -> None:
    result = run(*words, *(["--reason", "old"] if words[1] == "discard" else []))
    assert result.exit_code == 2
    assert "Usage" in result.stderr
