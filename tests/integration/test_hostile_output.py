"""Every command that prints data escapes hostile names: they cannot control the terminal."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import typer

from adminview.cli.main import app, main
from adminview.cli.output.printing import echo
from adminview.local.dev.session import DevEngine, Hooks, ModelChange, Session
from adminview.local.engines import moto_engine
from adminview.local.local_cloud import LocalCloud
from adminview.model.dead_letter import RECORD
from adminview.model.row import VIEW_TABLE
from tests.support.hostile_text import HOSTILE, check_inert
from tests.support.model import USER, order, registry

ID = f"user-{HOSTILE}"
PK = f"USER#{ID}"
BAD = {"CustomerId": ID, "SK": f"2025-03-02#{HOSTILE}", "OrderId": "7"}
LETTER = {
    "kind": RECORD,
    "source": "Users",
    "table": "Users",
    "key": {"userId": {"S": ID}},
    "rows": [[PK, HOSTILE]],
    "at": None,
    "error": {"kind": HOSTILE, "reason": HOSTILE},
    "[/]": HOSTILE,
    HOSTILE: {HOSTILE: [HOSTILE]},
}


@pytest.fixture(scope="module")
def cloud() -> Iterator[LocalCloud]:
    """Start the shop with hostile keys, names, values and dead letters."""
    with moto_engine() as engine:
        started = LocalCloud.start(engine, registry())
        started.put(
            "Users",
            USER
            | {"userId": ID, "name": HOSTILE, "addresses": [{"id": HOSTILE, HOSTILE: HOSTILE}]},
        )
        started.put("Orders", order(CustomerId=ID, SK=f"2025-03-01#{HOSTILE}", Status=HOSTILE))
        started.put("Orders", BAD)
        started.settle()
        for body in (json.dumps(LETTER), HOSTILE):
            started.clients.sqs.send_message(QueueUrl=started.queue_url, MessageBody=body)
        for pk in (PK, "PLAIN"):
            row = {"PK": pk, "SK": f"EXTRA#{HOSTILE}", "_owner": f"Users/{HOSTILE}"}
            item: Any = {name: {"S": value} for name, value in row.items()}
            item |= {"data": {"M": {HOSTILE: {"S": HOSTILE}}}, HOSTILE: {"S": HOSTILE}}
            started.clients.dynamodb.put_item(TableName=VIEW_TABLE, Item=item)
        yield started
        started.stop()


@pytest.fixture
def run(
    cloud: LocalCloud,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> Callable[..., tuple[str, str]]:
    """Run a command as it is typed, and give what it printed."""
    monkeypatch.chdir(tmp_path)
    for name, value in cloud.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("COLUMNS", "2000")

    def run_one(*words: str) -> tuple[str, str]:
        monkeypatch.setattr(sys, "argv", ["adminview", *words])
        with pytest.raises(SystemExit):
            main()
        captured = capsys.readouterr()
        return captured.out, captured.err

    return run_one


# moto's PartiQL cannot find a hostile key.
SELECT = "SELECT * FROM AdminViewTable WHERE PK = 'PLAIN'"
COMMANDS = [
    ("query", "user-profile", "--user-id", ID),
    ("query", "user-profile", "--user-id", ID, "--explain"),
    ("query", "addresses-of-user", "--user-id", ID),
    ("query", "orders-by-status", "--status", HOSTILE),
    ("sql", SELECT),
    ("sql", f"{SELECT} AND SK = '{HOSTILE}'", "--dry-run"),
    ("sql", f'SELECT * FROM "{HOSTILE}"'),  # noqa: S608 - it is refused
    ("preview", "Users", ID),
    ("preview", HOSTILE, HOSTILE),
    ("check", "--items-file", HOSTILE),
    ("dlq", "list"),
    ("dlq", "show", HOSTILE),
    ("dlq", "replay", "--dry-run"),
    ("dlq", "list", "--source", HOSTILE),
    ("explain", PK, "PROFILE"),
    ("explain", PK, f"EXTRA#{HOSTILE}"),
    ("explain", PK, HOSTILE),
    ("reconcile", "Users", ID),
    ("reconcile", "Users", ID, "--dry-run"),
    ("reconcile", HOSTILE, ID),
    ("verify", "--grace", "0"),
    ("verify", "--source", HOSTILE),
    ("backfill", "--source", HOSTILE),
    ("sweep", "--source", HOSTILE),
    ("migrate", HOSTILE),
    ("migrate", "orders-delivery-date", "--dry-run"),
    ("model", "diff", "--against", HOSTILE),
    ("plan", "--against", HOSTILE),
    ("apply", "--against", HOSTILE, "--stage", HOSTILE),
    ("doctor", "--stage", HOSTILE),
    ("cost", "--source", HOSTILE),
    ("cost", "--load", HOSTILE),
    ("serve", "--host", HOSTILE),
    ("console", HOSTILE),
    ("smoke", "--only", HOSTILE),
]
JSON = [
    ("query", "user-profile", "--user-id", ID, "--json"),
    ("query", "addresses-of-user", "--user-id", ID, "--json", "--all"),
    ("sql", SELECT, "--json"),
    ("sql", SELECT, "--json", "--all"),
    ("dlq", "list", "--json"),
    ("dlq", "replay", "--dry-run", "--json"),
    ("explain", PK, "PROFILE", "--json"),
    ("reconcile", "Users", ID, "--dry-run", "--json"),
    ("verify", "--grace", "0", "--json"),
    ("migrate", "orders-delivery-date", "--dry-run", "--json"),
]
CSV = [
    ("query", "user-profile", "--user-id", ID, "--csv"),
    ("query", "addresses-of-user", "--user-id", ID, "--csv"),
    ("sql", SELECT, "--csv"),
]


def numbered(words: tuple[str, ...]) -> str:
    """Name a case by its words that are not hostile."""
    return " ".join(word for word in words if word.isprintable())


@pytest.mark.parametrize("words", COMMANDS, ids=numbered)
def test_a_command_prints_hostile_data_escaped(
    run: Callable[..., tuple[str, str]], words: tuple[str, ...]
) -> None:
    out, err = run(*words)
    check_inert(out + err)


@pytest.mark.parametrize("words", JSON, ids=numbered)
def test_json_stays_json_and_is_printable(
    run: Callable[..., tuple[str, str]], words: tuple[str, ...]
) -> None:
    out, err = run(*words)
    check_inert(out + err)
    for text in out.splitlines() if words[0] not in {"verify", "migrate"} else [out]:
        assert json.loads(text)


@pytest.mark.parametrize("words", CSV, ids=numbered)
def test_csv_holds_no_control_characters(
    run: Callable[..., tuple[str, str]], words: tuple[str, ...]
) -> None:
    out, err = run(*words)
    assert err == ""
    check_inert(out, csv=True)


def test_a_dead_letter_is_shown_and_replayed_and_discarded_without_harm(
    run: Callable[..., tuple[str, str]],
) -> None:
    letters = json.loads(run("dlq", "list", "--json")[0])
    assert len(letters) == 3
    for letter in letters:
        check_inert("".join(run("dlq", "show", letter["id"])))
        (shown,) = run("dlq", "show", letter["id"], "--json")[0].splitlines()
        assert json.loads(shown)
    check_inert("".join(run("dlq", "discard", "--all", "--reason", HOSTILE, "--yes")))


def test_dev_prints_hostile_keys_escaped(
    cloud: LocalCloud, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    messages, done = [], Event()

    def say(line: str) -> None:
        echo(line)
        messages.append(line)
        if "dead letter: " in line:
            done.set()

    for name, value in cloud.environment.items():
        monkeypatch.setenv(name, value)
    hooks = Hooks(say, publish=lambda _: None, compare=lambda *_: ModelChange([], []))
    session = Session(DevEngine(cloud.clients, cloud.queue_url, owned=False), hooks)
    session.begin(registry())
    try:
        assert done.wait(30)
    finally:
        session.end()
    assert "\x1b[31m" in "".join(messages)
    check_inert(capsys.readouterr().out)


def test_every_command_is_run_here() -> None:
    """Commands that print no data of others are listed: they read only the view files."""
    commands = set(typer.main.get_command(app).commands)  # type: ignore[attr-defined]
    assert commands == {words[0] for words in COMMANDS} | {"demo", "dev", "init", "patterns"}
