"""The console of other models in a real browser: number fields, and patterns that are not ready."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from playwright.sync_api import Browser, expect

from adminview import AccessPattern, Index, Item, Registry, Row, Source, number, view
from adminview.local.local_cloud import LocalCloud
from tests.support.browser import Watch
from tests.support.console_browser import open_console

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

parcels = Source("Parcels", partition_key="parcelId")
by_carrier = Index("ByCarrier", partition="carrier", sort=number("weight"), include=["data"])
heavy = AccessPattern("heavy", index=by_carrier, partition="{carrier}", sort_from="{least}")


@view(parcels)
def parcel(item: Item) -> Iterator[Row]:
    entry = by_carrier(item["carrier"], item["weight"])
    yield Row(f"PARCEL#{item['parcelId']}", "DETAILS", indexes=[entry])


@pytest.fixture
def cloud(start: Callable[[Registry], LocalCloud], monkeypatch: pytest.MonkeyPatch) -> LocalCloud:
    """Run the model of this file, with two parcels."""
    module = ModuleType("parcels")
    module.__dict__.update(parcels=parcels, by_carrier=by_carrier, heavy=heavy, parcel=parcel)
    cloud = start(replace(Registry.of([module]), modules=()))
    for name, value in cloud.environment.items():
        monkeypatch.setenv(name, value)
    for number_, weight in enumerate((9, 12)):
        cloud.put("Parcels", {"parcelId": f"p-{number_}", "carrier": "DHL", "weight": weight})
    cloud.settle()
    return cloud


def test_a_field_for_a_number_accepts_numbers_alone(
    cloud: LocalCloud, browser: Browser, watch: Watch, tmp_path: Path
) -> None:
    with open_console(cloud, browser, watch, tmp_path / "audit.jsonl") as console:
        page = console.open("/patterns/heavy")
        page.get_by_label("carrier", exact=True).fill("DHL")
        least = page.get_by_label("least", exact=True)
        least.fill("ten")
        page.get_by_role("button", name="Query", exact=True).click()
        expect(page.locator("input:invalid")).to_have_count(1)
        expect(page.get_by_role("region", name="Results")).to_have_count(0)
        least.fill("9.5")
        page.get_by_role("button", name="Query", exact=True).click()
        expect(page.get_by_text("1 row", exact=True)).to_be_visible()
        expect(page.get_by_role("region", name="Results")).to_contain_text("PARCEL#p-1")


def test_an_access_pattern_that_is_not_ready_says_so(
    cloud: LocalCloud, browser: Browser, watch: Watch, tmp_path: Path
) -> None:
    pending = replace(cloud, pending={"heavy": None})
    watch.allowed.append("503")
    with open_console(pending, browser, watch, tmp_path / "audit.jsonl") as console:
        page = console.open("/health")
        expect(page.get_by_role("link", name="heavy")).to_be_visible()
        page.goto(f"{console.server.url}/patterns/heavy?carrier=DHL&least=1")
        expect(page.get_by_text("not ready", exact=True)).to_be_visible()
        expect(page.get_by_role("region", name="Results")).to_have_count(0)
