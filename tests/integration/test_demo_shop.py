"""`adminview demo --keep`: another terminal uses the shop, whatever folder it is in."""

import re
import shlex
import signal
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import pytest

from adminview.cli.commands.demo import NEXT
from adminview.examples.shop import registry
from tests.support.background import ROOT, Background, run_command, without_settings


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


def printed_demo(*words: str) -> list[str]:
    printed = run_command("demo", *words, environment=without_settings(), folder=ROOT)
    return [line.strip() for line in printed.splitlines() if line.strip()]


def test_the_demo_prints_what_matters_in_about_forty_lines() -> None:
    lines = printed_demo()
    assert len(lines) <= 45
    reported = "\n".join(lines)
    (pending, paid), (still_pending, now_paid) = (
        [
            set(re.findall(r"ORDER#\S+#\d+", line))
            for line in re.findall(rf"^(?:PENDING|PAID) {when} .*", reported, re.MULTILINE)
        ]
        for when in ("before", "after")
    )
    assert pending - still_pending == now_paid - paid == {"ORDER#2025-03-01#2121195"}
    assert len([line for line in lines if line.startswith("$ adminview query ")]) == 2
    assert re.search(
        r"^error +MissingAttributeError: the item has no attribute 'Status'", reported, re.MULTILINE
    )
    assert re.search(r"^dead letters whose rows were already correct +2$", reported, re.MULTILINE)
    counts = dict(re.findall(r"^([=+a-z][a-z+= -]+?) {2,}(\d+)", reported, re.MULTILINE))
    read, *parts = (
        int(counts[name]) for name in ("records read", "= written", "+ skipped", "+ dead-lettered")
    )
    assert read == sum(parts)
    assert "adminview demo --all" in lines[-2]
    assert "adminview demo --keep" in lines[-1]


def test_the_queries_of_the_demo_print_what_it_shows(demo: Background, app: Path) -> None:
    shop = without_settings() | demo.exported()
    lines = [line.rstrip() for line in demo.output.splitlines()]
    commands = [line for line in lines if line.startswith("$ adminview query ")]
    assert len(commands) == 2
    for command in commands:
        words = shlex.split(command)[2:]
        printed = run_command(*words, environment=shop, folder=app).splitlines()
        table = [line.rstrip() for line in printed[1:] if line.strip()]
        assert set(table) <= set(lines)


def test_the_whole_demo_prints_the_rows_of_every_access_pattern() -> None:
    lines = printed_demo("--all")
    for pattern in registry().patterns:
        assert any(line.startswith(f"$ adminview query {pattern.name}") for line in lines)
    assert "Created from the view files of the shop" in lines


@pytest.mark.slow
def test_the_printed_variables_select_the_shop_in_the_folder_of_another_app(
    demo: Background, app: Path
) -> None:
    shop = without_settings() | demo.exported()
    assert "PYTHONPATH" not in demo.exported()
    demo.wait_for(NEXT[-1])
    assert demo.output.rstrip().endswith("\n".join(NEXT)), "the last lines say what to type next"
    for command in NEXT[:-1]:
        words = shlex.split(command, comments=True)[1:]
        if words == ["console"]:  # it serves until it is stopped: the tests of the console run it
            continue
        printed = run_command(*words, environment=shop, folder=app)
        assert printed.strip(), command
    end = monotonic() + 60
    while "2121399" not in run_command("dlq", "list", environment=shop, folder=app):
        assert monotonic() < end, "it is invisible for a while after its replay has failed"
    printed = run_command(
        "query", "orders-by-status", "--status", "PENDING", environment=shop, folder=app
    )
    assert "USER#user-456" in printed
    assert "orders-delivery-date" in run_command("migrate", environment=shop, folder=app)
    explained = run_command("explain", "USER#user-456", "PROFILE", environment=shop, folder=app)
    assert "the row is up to date" in explained
    assert "your checkout is" not in explained
    assert demo.end(signal.SIGINT) == 0
