"""The commands of README and docs/query.md, run as they stand there; outputs are compared."""

import json
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from adminview import connect
from adminview.cli.main import app
from adminview.examples.shop import sample_data as shop
from adminview.local.local_cloud import LocalCloud
from adminview.local.source_writes import apply
from tests.support.adopter import adopter_environment
from tests.support.background import Background, without_settings

pytestmark = pytest.mark.shop

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
PAGE = (ROOT / "docs" / "query.md").read_text()
SHOP, _, OWN = README.partition("## Add a view")
COMMANDS = re.findall(r"^\$ adminview ((?:query|sql) .*)$", SHOP, re.MULTILINE)
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
    assert len(COMMANDS) >= 2
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
def test_the_python_in_the_guide_runs(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(code, names)  # noqa: S102 - our own
    (printed,) = re.findall(r"It prints `(.*?)`\.", PAGE)
    assert capsys.readouterr().out == f"{printed}\n"
    assert names["latest"]["SK"] == "ORDER#2025-03-02#2121207"
    assert names["number"] == len(names["page"].rows) == 1
    assert names["following"] is None
    assert names["profile"]["data"]["name"] == "Grace"


@pytest.mark.usefixtures("demo")
def test_the_python_in_the_readme_returns_the_open_order() -> None:
    (code,) = re.findall(r"`(list\(connect\(\)\.query\(.*?\)\))`", README)
    rows = eval(code, {"connect": connect})  # noqa: S307 - our own
    assert [row["data"]["OrderId"] for row in rows] == ["2121207"]


@pytest.fixture
def my_app(tmp_path: Path) -> Path:
    """Follow the README: generate an app, and add the view."""
    folder = tmp_path / "my-app"
    environment = adopter_environment(tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "adminview", "init", str(folder)], env=environment, check=False
    )
    assert done.returncode == 0
    (code,) = re.findall(r"<!-- view -->\n```python\n(.*?)```", OWN, re.DOTALL)
    (folder / "lambdas/views/shipments.py").write_text(code)
    return folder


@pytest.fixture
def terminal(my_app: Path) -> Iterator[dict[str, str]]:
    """Run the app, and give the environment of a second terminal."""
    command = re.findall(r"^`adminview (dev.*?)`, in `my-app`", OWN, re.MULTILINE)
    local = Background(*command[0].split(), environment=without_settings(), folder=my_app)
    variables = local.exported()
    local.wait_for("Ctrl-C to stop")
    yield without_settings() | PLAIN | variables | {"PYTHONPATH": str(ROOT)}
    local.process.kill()
    local.finish()


def typed(commands: str, folder: Path, environment: dict[str, str]) -> str:
    """Run commands in a shell, with this Python, and return what they print."""
    shell = commands.replace("adminview ", f"{sys.executable} -m adminview.cli.main ")
    shell = shell.replace("python -c", f"{sys.executable} -c")
    done = subprocess.run(
        ["/bin/bash", "-ec", shell],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def eventually(expected: list[str], command: str, my_app: Path, terminal: dict[str, str]) -> None:
    """Repeat a query until the sync has caught up."""
    end = time.monotonic() + 30
    while squeezed(typed(command, my_app, terminal)) != expected and time.monotonic() < end:
        time.sleep(0.5)
    assert squeezed(typed(command, my_app, terminal)) == expected


def test_the_view_in_the_readme_runs_as_shown(my_app: Path, terminal: dict[str, str]) -> None:
    section = OWN.split("`adminview dev`")[1]
    (session,) = re.findall(r"```console\n(.*?)```", section.split("\n## ")[0], re.DOTALL)
    put, query, shown = re.fullmatch(
        r"\$ (python -c .*?)\n\$ (adminview query .*?)\n(.*)", session, re.DOTALL
    ).groups()  # type: ignore[union-attr]  # a test fails if it is None
    typed(put, my_app, terminal)
    eventually(squeezed(shown), query, my_app, terminal)


def test_the_readme_of_a_generated_app_runs_as_shown(
    my_app: Path, terminal: dict[str, str]
) -> None:
    section = (my_app / "README.md").read_text().split("## Run it on your machine")[1]
    (session,) = re.findall(r"```console\n(\$ python.*?)```", section, re.DOTALL)
    put, query, _ = session.removeprefix("$ ").split("\n$ ")
    typed(put, my_app, terminal)
    end = time.monotonic() + 30
    while "ORDER#o-1" not in typed(query, my_app, terminal):
        assert time.monotonic() < end
        time.sleep(0.5)
