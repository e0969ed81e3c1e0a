"""The examples of model changes run as documented."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import examples
from examples.evolution.__main__ import STORIES, app


@pytest.mark.shop
def test_the_examples_run_to_the_end() -> None:
    """Run them as a process: moto keeps one state in each."""
    command = [sys.executable, "-m", "examples.evolution"]
    root = Path(examples.__file__).parents[1]
    wide = os.environ | {"COLUMNS": "200"}
    reported = subprocess.run(
        command, capture_output=True, text=True, check=True, cwd=root, env=wide
    ).stdout
    assert all(f"{name} on moto" in reported for name in STORIES)
    assert "eggs of order 2121195: marked" in reported
    assert "customers-active-between, alone" in reported
    assert reported.count("CUSTOMER#grace") == 4


def test_an_unknown_story_is_answered_with_those_there_are() -> None:
    unknown = CliRunner().invoke(app, ["nothing"], env={"COLUMNS": "200"})
    assert unknown.exit_code == 2
    assert "there is no story 'nothing'; there are favourites, synthetic-key" in unknown.stderr
