"""The commands of README and docs/query.md, run as they stand there; outputs are compared."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from adminview.cli.main import app
from adminview.examples.shop import sample_data as shop
from adminview.local.local_cloud import LocalCloud
from adminview.local.source_writes import apply

pytestmark = pytest.mark.shop

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
PAGE = (ROOT / "docs" / "query.md").read_text()
COMMANDS = re.findall(r"^\$ adminview ((?:query|sql) .*)$", README, re.MULTILINE)
SESSIONS = re.findall(r"```console\n\$ adminview (.*?)\n(.*?)```", PAGE, re.DOTALL)
PLAIN = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}


@pytest.fixture
def demo(cloud: LocalCloud, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the shop as the demo leaves it."""
    for name, value in cloud.environment.items():
        monkeypatch.setenv(name, value)
    apply(cloud, (*shop.FIRST_DAY, *shop.SECOND_DAY))


def run(command: str) -> str:
    done = CliRunner().invoke(app, shlex.split(command), env=PLAIN, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def squeezed(text: str) -> list[str]:
    return [" ".join(line.split()).replace("─", "") for line in text.splitlines() if line.strip()]


def test_there_are_commands_to_run() -> None:
    assert len(COMMANDS) >= 3
    assert len(SESSIONS) >= 4


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.usefixtures("demo")
def test_a_query_in_the_readme_returns_rows(command: str) -> None:
    assert "user-456" in run(command)


@pytest.mark.parametrize(("command", "shown"), SESSIONS)
@pytest.mark.usefixtures("demo")
def test_a_query_in_the_guide_prints_what_is_shown(command: str, shown: str) -> None:
    assert squeezed(run(command)) == squeezed(shown)


@pytest.mark.usefixtures("demo")
def test_the_response_in_the_guide_is_the_real_one() -> None:
    (shown,) = re.findall(r"<!-- json -->\n```json\n(.*?)```", PAGE, re.DOTALL)
    returned = run("query favourites-of-user --user-id user-456 --json")
    assert json.loads(returned) == json.loads(shown)


@pytest.mark.usefixtures("demo")
def test_the_python_in_the_guide_runs() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102 - our own
    assert names["names"] == ["Milk"]
    assert names["following"] is None
