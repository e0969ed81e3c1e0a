"""Text of customers is printed as text."""

import json
from types import ModuleType
from typing import Any

import pytest
from typer.testing import CliRunner

from adminview.aws.dead_letter_consumer import Waiting
from adminview.cli.main import app
from adminview.cli.output.dead_letters import invisible_note
from adminview.cli.output.grid import Grid
from adminview.cli.output.printing import Console, printable
from adminview.cli.output.rows import print_rows, record
from adminview.cli.output.tables import patterns_table
from adminview.model import AccessPattern, Registry
from adminview.views import registry


def test_control_characters_are_written_out() -> None:
    assert printable("a\x1b[31mb\nc é 臺北") == "a\\x1b[31mb\\nc é 臺北"


def test_a_row_cannot_steer_a_terminal() -> None:
    row: dict[str, Any] = {
        "PK": {"S": "p"},
        "SK": {"S": "s"},
        "data": {"M": {"name": {"S": "\x1b[2Jgone"}}},
    }
    console = Console(width=100, record=True, force_terminal=False)
    print_rows("a question", Grid.of([record(row)]), console)
    assert "\\x1b[2Jgone" in console.export_text()


def test_a_description_is_no_markup() -> None:
    module = ModuleType("odd")
    module.__dict__["odd"] = AccessPattern("odd", partition="X", about="newest [/b] first [up]")
    console = Console(width=100, record=True)
    console.print(patterns_table(Registry.of([module])))
    assert "newest [/b] first [up]" in console.export_text()


@pytest.mark.shop
def test_the_access_patterns_are_printed_as_json_too() -> None:
    reported = CliRunner().invoke(app, ["patterns", "--json"])
    listed = json.loads(reported.stdout)
    assert listed["model"] == registry().fingerprint
    patterns = {pattern["name"]: pattern for pattern in listed["patterns"]}
    assert [*patterns] == sorted(pattern.name for pattern in registry().patterns)
    assert patterns["orders-by-status"]["index"] == "GSI1"
    (status,) = patterns["orders-by-status"]["parameters"]
    assert (status["name"], status["type"], status["required"]) == ("status", "string", True)
    assert "ready" not in patterns["orders-by-status"], "no deployment was read"
    assert CliRunner().invoke(app, ["patterns", "--json", "--markdown"]).exit_code == 2


def test_a_note_says_for_how_long_dead_letters_are_invisible() -> None:
    waiting = Waiting(ready=0, taken=1, delayed=1)
    assert (
        invisible_note(waiting)
        == "; about 2 dead letters are invisible, for up to 6 minutes after a try"
    )
    assert (
        invisible_note(waiting, 30)
        == "; about 2 dead letters are invisible, for up to 30 seconds after a try"
    )
    assert invisible_note(Waiting(ready=3, taken=0, delayed=0)) == ""
