"""`adminview demo --keep`: another terminal uses the shop, whatever folder it is in."""

import shlex
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from adminview.cli.commands.demo import NEXT
from tests.support.background import Background, run_command, without_settings


@pytest.fixture
def app(tmp_path: Path) -> Path:
    """Generate an app that has a package `lambdas` of its own."""
    folder = tmp_path / "my-app"
    run_command("init", str(folder), environment=without_settings(), folder=tmp_path)
    return folder


@pytest.fixture
def demo(app: Path) -> Iterator[Background]:
    running = Background("demo", "--keep", environment=without_settings(), folder=app)
    yield running
    running.process.kill()
    running.finish()


def test_the_printed_variables_select_the_shop_in_the_folder_of_another_app(
    demo: Background, app: Path
) -> None:
    shop = without_settings() | demo.exported()
    assert "PYTHONPATH" not in demo.exported()
    demo.wait_for(NEXT[-1])
    assert demo.said.rstrip().endswith("\n".join(NEXT)), "the last lines say what to type next"
    for command in NEXT[:-1]:
        words = shlex.split(command, comments=True)[1:]
        printed = run_command(*words, environment=shop, folder=app)
        assert printed.strip(), command
    assert "2121399" in run_command("dlq", "list", environment=shop, folder=app)
    printed = run_command(
        "query", "orders-by-status", "--status", "PENDING", environment=shop, folder=app
    )
    assert "USER#user-456" in printed
    assert "orders-delivery-date" in run_command("migrate", environment=shop, folder=app)
    explained = run_command("explain", "USER#user-456", "PROFILE", environment=shop, folder=app)
    assert "the row is up to date" in explained
    assert "your checkout is" not in explained
    assert demo.end(signal.SIGINT) == 0
