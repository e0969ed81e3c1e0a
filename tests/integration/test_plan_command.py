"""`adminview plan` as it is typed, on engines that have tables and no stacks."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from adminview.cli.commands import plan as plan_command
from adminview.cli.main import app
from adminview.local.local_cloud import LocalCloud
from adminview.model import Registry, Total
from adminview.model.errors import SettingsError
from tests.support.model import order, registry


@pytest.fixture
def against(
    start: Callable[[Registry], LocalCloud], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Path:
    """Start the shop with an order, and describe its model in a file."""
    cloud = start(registry())
    monkeypatch.chdir(tmp_path)
    for name, value in cloud.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("COLUMNS", "200")
    cloud.put("Orders", order())
    file = tmp_path / "old.json"
    file.write_text(json.dumps(registry().description()))
    return file


def adminview(*words: str) -> Result:
    """Run a command as if it were typed."""
    result = CliRunner().invoke(app, words)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def steps(*words: str) -> list[str]:
    plan: dict[str, Any] = json.loads(adminview("plan", "--json", *words).stdout)
    return [step["title"] for step in plan["steps"]]


def test_what_was_never_built_is_to_be_built_and_then_nothing_is_to_be_done(against: Path) -> None:
    old = ("--against", str(against))
    sources = [source.name for source in registry().sources]
    assert steps(*old) == [f"backfill {name}" for name in sources]
    assert "no completed backfill is recorded" in adminview("plan", *old).stdout
    assert adminview("backfill").exit_code == 0
    assert adminview("plan", *old).stdout.startswith("nothing to do: ")


def test_a_plan_compares_with_the_model_that_is_named(against: Path) -> None:
    old = registry().description()
    old["patterns"] = [
        pattern for pattern in old["patterns"] if pattern["name"] != "orders-by-status"
    ]
    old["code"]["Orders"] = "other"
    old["fingerprint"] = "older"
    against.write_text(json.dumps(old))
    adminview("backfill")
    assert steps("--against", str(against)) == [
        "deploy the API: refuse orders-by-status until backfilled",
        "deploy the views: the sync function and the repair functions",
        "wait 300 seconds",
        "backfill Orders",
        "sweep the rows of Orders",  # first: its index may hold rows that nothing derives
        "deploy the API: switch on orders-by-status",
    ]
    indexes = old["indexes"]
    indexes[0]["sort"] = []
    against.write_text(json.dumps(old | {"indexes": indexes}))
    assert adminview("plan", "--against", str(against)).exit_code == 0  # the table tells its own


def test_a_total_that_declares_a_retired_epoch_is_refused(
    against: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = registry().description() | {"totals": [Total("Sales", sort="day").shape()]}
    declared: Any = SimpleNamespace(description=lambda: model)
    monkeypatch.setattr(plan_command, "registry", lambda: declared)
    lock = {**model, "retired_epochs": {"Sales": [1]}}
    Path("model.lock.json").write_text(json.dumps(lock))
    refused = adminview("plan", "--against", str(against))
    assert refused.exit_code == 1
    assert "refused: total 'Sales' had epoch 1 before: its old amounts" in refused.stdout
    assert "Declare epoch=2" in refused.stdout
    Path("model.lock.json").write_text(json.dumps(model))
    assert adminview("plan", "--against", str(against)).exit_code == 0


@pytest.mark.usefixtures("against")
def test_there_is_nothing_to_deploy_where_there_are_no_stacks() -> None:
    with pytest.raises(SettingsError, match="there are no stacks to deploy"):
        adminview("apply", "--yes")
