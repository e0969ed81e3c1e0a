"""`adminview model diff` beside tables: the costs follow from what is in them."""

import json
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from adminview.cli.commands.model import app
from adminview.cli.model_lock.lock import as_text
from adminview.local.local_cloud import LocalCloud
from adminview.model import Registry
from tests.support import model
from tests.support.model import registry


def million(units_of_an_order: int) -> int:
    """Estimate with one item of 31 that has no rows."""
    return round(units_of_an_order * 30 * 1_000_000 / 31)


def test_the_command_estimates_the_costs_from_the_existing_tables(
    start: Callable[[Registry], LocalCloud], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cloud = start(registry())
    for name, value in cloud.environment.items():
        monkeypatch.setenv(name, value)
    cloud.put("Users", model.USER)
    for number in range(30):
        cloud.put("Orders", model.order(SK=f"2025-03-01#{number}", OrderId=str(number)))
    cloud.put("Orders", {"CustomerId": "user-123", "SK": "2025-03-02#7"})  # its view fails
    cloud.settle()
    old = tmp_path / "old.json"
    described = deepcopy(registry().description())
    described["indexes"] = [index for index in described["indexes"] if index["name"] != "GSI2"]
    described["code"]["Orders"] = "other"
    old.write_text(as_text(described))

    words = ["diff", "--against", str(old), "--json"]
    costs = json.loads(CliRunner().invoke(app, words).stdout)["costs"]
    assert costs["sources"]["Orders"] == {
        "items": 31,
        "sampled": 31,
        "failed": 1,
        "rebuilding": 0,  # the rows are there, and right
        "filling": 60,  # two products each
        # An order's row is in two indexes and by its owner, a product's by its owner; then in one.
        "million_changes": {"now": million(3 + 1 + 1), "then": million(3 + 2 + 2)},
        "million_inserts": {"now": million(4 + 2 + 2), "then": million(4 + 3 + 3)},
    }
    assert costs["sources"]["Users"]["filling"] == 0
    assert costs["one_time"] == 60
    words += ["--sample", "8"]
    some = json.loads(CliRunner().invoke(app, words).stdout)["costs"]["sources"]["Orders"]
    assert 8 <= some["sampled"] < 16
    assert some["items"] == 31
    nowhere = replace(cloud.settings, sources={**cloud.settings.sources, "Users": "nowhere"})
    for name, value in nowhere.to_env().items():
        monkeypatch.setenv(name, value)
    unknown = json.loads(CliRunner().invoke(app, words).stdout)["costs"]["unknown"]
    assert unknown == {"Users": "scan nowhere: AWS answered ResourceNotFoundException"}
