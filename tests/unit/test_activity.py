"""At a terminal, a silent command shows what it is doing; elsewhere it prints nothing about it."""

from io import StringIO
from pathlib import Path

import pytest

from adminview.cli.output import printing
from adminview.cli.output.activity import Activity
from tests.support.background import without_settings
from tests.support.terminal import Terminal

SLOW = """
import time
time.sleep(2.5)
from adminview import AccessPattern
slow = AccessPattern("slow", partition="X")
"""


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def terminal() -> StringIO:
    return StringIO()


def started(terminal: StringIO, width: int = 40) -> tuple[Activity, Clock]:
    clock = Clock()
    activity = Activity(clock, terminal, lambda: width)
    return activity, clock


def shown(terminal: StringIO) -> str:
    """Return what the last line of a terminal displays after all carriage returns."""
    line = ""
    for part in terminal.getvalue().rpartition("\n")[2].split("\r"):
        line = part + line[len(part) :]
    return line.rstrip()


def test_a_line_appears_after_a_second_without_output(terminal: StringIO) -> None:
    activity, clock = started(terminal)
    activity.doing("reading the deployment")
    clock.now = 0.9
    activity.tick()
    assert shown(terminal) == ""
    clock.now = 3.2
    activity.tick()
    assert shown(terminal) == "reading the deployment… 3 s"
    activity.counting("12 rows")
    clock.now = 4.0
    activity.tick()
    assert shown(terminal) == "12 rows… 4 s", "nothing is left of the longer line"


def test_output_replaces_the_line_and_starts_the_clock_again(terminal: StringIO) -> None:
    activity, clock = started(terminal)
    clock.now = 5.0
    activity.tick()
    with activity.paused():
        terminal.write("a row\n")
    assert terminal.getvalue().endswith("\ra row\n")
    clock.now = 5.9
    activity.tick()
    assert shown(terminal) == ""


def test_the_line_fits_the_terminal_and_ends_with_the_command(terminal: StringIO) -> None:
    activity, clock = started(terminal, width=30)
    activity.doing("x" * 100)
    clock.now = 2.0
    activity.tick()
    assert len(shown(terminal)) < 30
    activity.end()
    assert shown(terminal) == ""
    clock.now = 9.0
    activity.tick()
    assert shown(terminal) == ""


def test_a_command_that_waits_displays_nothing_until_it_does_something(terminal: StringIO) -> None:
    activity, clock = started(terminal)
    activity.doing("starting")
    clock.now = 2.0
    activity.tick()
    assert shown(terminal) == "starting… 2 s"
    activity.doing("")
    assert shown(terminal) == ""
    clock.now = 60.0
    activity.tick()
    assert shown(terminal) == ""
    activity.doing("reloading")
    clock.now = 61.0
    activity.tick()
    assert shown(terminal) == "reloading… 1 s"


def test_a_text_of_others_cannot_steer_the_terminal(
    terminal: StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    activity, clock = started(terminal)
    monkeypatch.setattr(printing, "ACTIVITY", activity)
    printing.doing("\x1b[2J\r")
    clock.now = 2.0
    activity.tick()
    assert "\x1b" not in terminal.getvalue()
    printing.echo("printed", err=True)
    assert shown(terminal) == "", "every output erases the line"


@pytest.fixture
def slow_app(tmp_path: Path) -> Path:
    (tmp_path / "views").mkdir()
    (tmp_path / "views/__init__.py").touch()
    (tmp_path / "views/slow.py").write_text(SLOW)
    return tmp_path


def test_a_command_that_takes_longer_than_two_seconds_says_so_at_a_terminal(
    slow_app: Path,
) -> None:
    environment = without_settings() | {"ADMINVIEW_VIEWS": "views"}
    command = Terminal("patterns", "--json", environment=environment, folder=slow_app)
    assert command.finish() == 0
    assert "working… " in command.output
    assert command.output.rstrip().endswith("}")
    assert "working" not in command.output.rpartition("\r")[2], "erased before the output"
