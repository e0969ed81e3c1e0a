"""Exit statuses: 2 for a wrong argument in every command; 1 has a meaning of its own in some."""

import sys
from collections import Counter
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from typer.main import get_command
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


def run(*words: str) -> Any:
    return CliRunner().invoke(app, words)


@pytest.mark.parametrize("command", COMMANDS)
def test_where_nobody_answers_nothing_was_done(command: list[str]) -> None:
    reported = run(*command)
    assert (reported.exit_code, reported.stdout) == (2, "")
    assert "adminview: no connection to http://127.0.0.1:9" in reported.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_where_there_is_no_such_stack_nothing_was_done(command: list[str]) -> None:
    reported = run(*command, "--stage", "nope")
    assert reported.exit_code == 2
    assert reported.stderr.startswith("adminview: ")


def test_where_there_is_no_such_migration_nothing_was_done() -> None:
    reported = run("migrate", "nope")
    assert reported.exit_code == 2
    assert "no migration is named 'nope'" in reported.stderr


def test_a_surprise_is_traced_and_is_no_success_either(monkeypatch: pytest.MonkeyPatch) -> None:
    def surprise(*_: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("adminview.cli.commands.backfill.find_settings", surprise)
    reported = run("backfill")
    assert reported.exit_code == 2
    assert "ZeroDivisionError" in reported.stderr


@pytest.mark.parametrize(
    ("failing", "named"),
    [([], True), ([({"PK": {"S": "one"}}, RecordError("is bad"))], False)],
)
def test_failed_items_of_a_run_on_aws_are_reported_with_the_command_that_lists_them(
    failing: list[Any], *, named: bool
) -> None:
    console = Console(file=StringIO(), width=60)
    outcome = SegmentOutcome("migrate/add-dates", Counter(failed=2))
    show_outcome(outcome, failing, console, as_json=False)
    reported = console.file.getvalue()  # type: ignore[attr-defined]  # a StringIO
    assert "done, except for 2 items" in reported
    assert ("; `adminview migrate add-dates --dry-run --all` shows which" in reported) is named


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


# At least one wrong argument of each command, among them some that only the command itself checks.
USAGE_ERRORS: list[list[str]] = [
    ["apply", "--against", "absent.json", "--stage", "dev"],
    ["backfill", "--source", "Nope"],
    ["check", "--items-file", "absent.jsonl"],
    ["console", "--port", "70000"],
    ["cost", "--load", "absent.json"],
    ["cost", "--source", "Nope", "--changes", "1"],
    ["cost", "--source", "Orders", "--changes", "1", "--prices", "absent.json"],
    ["cost", "--source", "Orders", "--changes", "1", "--items-file", "absent.json"],
    ["demo", "--engine", "nope"],
    ["dev", "--engine", "nope"],
    ["dev", "--data", "README.md"],
    ["dev", "--items-file", "absent.jsonl"],
    ["dlq", "discard", "--reason", "too old"],
    ["dlq", "discard", "--all", "--reason", "old"],
    ["dlq", "discard", "--all", "--reason", "too old", "--audit", "."],
    ["console", "--audit", ""],
    ["dlq", "list", "--older-than", "soon"],
    ["dlq", "replay", "--deployed", "--dry-run"],
    ["dlq", "show"],
    ["doctor", "--stage", "no stage"],
    ["explain", "USER#1"],
    ["init", "."],
    ["migrate", "nope"],
    ["model", "diff", "--against", "absent.json"],
    ["model", "lock", "--reason", "short"],
    ["patterns", "--nope"],
    ["plan", "--against", "absent.json", "--stage", "dev"],
    ["preview", "Orders", "absent.json"],
    ["preview", "Nope", "-"],
    ["query", "nope"],
    ["query", "user-profile"],
    ["reconcile", "Orders"],
    ["serve", "--host", "192.0.2.1"],
    ["smoke", "--nope"],
    ["smoke", "--items-file", "absent.jsonl"],
    ["sql", "DELETE FROM AdminViewTable"],
    ["sql", "SELECT * FROM AdminViewTable", "--json", "--csv"],
    ["sweep", "--segments", "0"],
    ["verify", "--segments", "0"],
    ["verify", "--share", "7"],
]


def status_of(words: list[str], monkeypatch: pytest.MonkeyPatch) -> object:
    """Run the command as its entry point does, and return its exit status."""
    monkeypatch.setattr(sys, "argv", ["adminview", *words])
    with pytest.raises(SystemExit) as exit_:
        main.main()
    return exit_.value.code


@pytest.mark.parametrize("words", USAGE_ERRORS, ids=" ".join)
def test_a_wrong_argument_exits_with_2(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    assert status_of(words, monkeypatch) == 2


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["backfill", "--source", "Nope"], "'Nope'"),
        (["sweep", "--source", "Nope"], "'Nope'"),
        (["verify", "--source", "Nope"], "'Nope'"),
        (["verify", "--share", "7"], "7"),
    ],
)
def test_a_wrong_argument_is_found_before_a_deployment_is_looked_up(
    words: list[str],
    named: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Without a region, the look-up fails."""
    for name in ("AWS_ENDPOINT_URL", "AWS_DEFAULT_REGION", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    assert status_of(words, monkeypatch) == 2
    reported = capsys.readouterr().err
    assert named in reported
    assert "region" not in reported


def test_every_command_has_a_wrong_argument_here() -> None:
    top = get_command(app).commands  # type: ignore[attr-defined]  # a group, which has them
    groups = {name: getattr(command, "commands", {}) for name, command in top.items()}
    names = {(name,) for name in groups if not groups[name]} | {("query", "user-profile")}
    names |= {(group, name) for group in ("dlq", "model") for name in groups[group]}
    tried = {tuple(words[:2]) if groups[words[0]] else (words[0],) for words in USAGE_ERRORS}
    assert names <= tried


def test_an_endpoint_that_does_not_respond_exits_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    assert status_of(["explain", "USER#1", "PROFILE"], monkeypatch) == 1


def options(command: Any) -> Iterator[tuple[str, ...]]:
    for parameter in command.params:
        yield (*parameter.opts, *parameter.secondary_opts)
    for below in getattr(command, "commands", {}).values():
        yield from options(below)


def test_an_option_has_the_same_names_in_every_command() -> None:
    """Find options with a short form, or a negated one, in some commands only."""
    names: dict[str, set[tuple[str, ...]]] = {}
    for option in options(get_command(app)):
        names.setdefault(option[0], set()).add(option)
    assert {name for name, forms in names.items() if len(forms) > 1} == set()
    assert not any(
        form.startswith("--no-") for forms in names.values() for f in forms for form in f
    )


def test_segments_are_called_so_in_every_command() -> None:
    named = {option[0] for option in options(get_command(app)) if "segment" in option[0]}
    assert named == {"--segments"}
