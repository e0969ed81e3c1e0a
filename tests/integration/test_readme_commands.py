"""The README's own commands, run as they stand there."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from adminview.cli.main import app
from adminview.examples.shop import sample_data as shop
from adminview.local.local_cloud import LocalCloud
from adminview.local.source_writes import apply

pytestmark = pytest.mark.shop

README = (Path(__file__).parents[2] / "README.md").read_text()
COMMANDS = re.findall(r"^\$ adminview ((?:query|sql) .*)$", README, re.MULTILINE)


def test_there_are_commands_to_run() -> None:
    assert len(COMMANDS) >= 3


@pytest.mark.parametrize("command", COMMANDS)
def test_a_question_in_the_readme_is_answered(
    command: str, cloud: LocalCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in cloud.environment.items():
        monkeypatch.setenv(name, value)
    apply(cloud, shop.FIRST_DAY)
    done = CliRunner().invoke(app, shlex.split(command), catch_exceptions=False)
    assert done.exit_code == 0
    assert "user-" in done.stdout
