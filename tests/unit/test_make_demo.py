"""`make demo` installs what the demo needs, and no more."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOT_COPIED = shutil.ignore_patterns(
    ".git", ".venv*", "node_modules", "build", "cdk.out", "__pycache__", "*.egg-info", "tests"
)
FULL = "-r requirements-dev.txt"
LIGHT = "--constraint constraints.txt --editable '.[local]'"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Copy this checkout without its environments."""
    return Path(shutil.copytree(ROOT, tmp_path / "checkout", ignore=NOT_COPIED))


def make(checkout: Path, *arguments: str) -> str:
    # These tests may themselves be run by make, whose flags are not meant for this one.
    environment = {name: os.environ[name] for name in os.environ if not name.startswith("MAKE")}
    command = ["make", *arguments]
    done = subprocess.run(
        command, cwd=checkout, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_on_a_fresh_machine_the_demo_has_a_light_environment(checkout: Path) -> None:
    commands = make(checkout, "--dry-run", "demo")
    assert LIGHT in commands
    assert FULL not in commands
    assert ".venv-demo/bin/adminview demo" in commands


def test_where_everything_is_installed_the_demo_installs_nothing(checkout: Path) -> None:
    (checkout / ".venv").mkdir()
    (checkout / ".venv" / "ready").touch()
    assert make(checkout, "--dry-run", "demo") == ".venv/bin/adminview demo --engine moto\n"


def test_the_tests_install_everything(checkout: Path) -> None:
    assert FULL in make(checkout, "--dry-run", "test")


@pytest.mark.shop
@pytest.mark.slow
def test_the_demo_runs_in_its_light_environment(checkout: Path) -> None:
    assert "The counts add up" in make(checkout, "demo")
    (installed,) = checkout.glob(".venv-demo/lib/python3.*/site-packages")
    assert (installed / "moto").is_dir()
    for heavy in ("aws_cdk", "jsii", "mypy", "pytest"):
        assert not (installed / heavy).exists()
