"""What a repair of the console records, and how long it takes, on both engines."""

from pathlib import Path
from time import monotonic

import pytest

from adminview.examples.shop.sample_data import POISON
from adminview.local.local_cloud import LocalCloud
from tests.support.console import ConsoleClient, console_of

ITEM = f"Orders/{POISON.item['CustomerId']}/{POISON.item['SK']}"


@pytest.fixture
def console(cloud: LocalCloud, tmp_path: Path) -> ConsoleClient:
    """Serve a shop with one order that cannot be synced."""
    cloud.put("Orders", POISON.item)
    cloud.settle()
    return console_of(cloud, tmp_path / "audit.jsonl")


@pytest.mark.parametrize("action", ["replay", "discard"])
def test_the_audit_trail_names_the_item_of_a_dead_letter(
    console: ConsoleClient, action: str
) -> None:
    assert console.repair(action, {"all": True})["handled"] == 1
    entry = console.get("/audit")["entries"][0]
    assert (entry["action"], entry["item"]) == (action, ITEM)


@pytest.mark.parametrize(("action", "rate"), [("discard", 10), ("replay", 1)])
def test_a_job_takes_as_long_as_its_rate_demands(
    cloud: LocalCloud, console: ConsoleClient, action: str, rate: int
) -> None:
    """A discard handles ten dead letters at a time, a replay as many as in a second."""
    for number in range(2 * rate + 1):
        item = {**POISON.item, "SK": f"2025-03-07#{number}"}
        cloud.put("Orders", item)
    cloud.settle()
    began = monotonic()
    job = console.repair(action, {"all": True}, perSecond=rate)
    assert job["handled"] == 2 * rate + 2
    assert monotonic() - began >= 2
