"""Whether the console can be read: in a narrow window, with many bars, and with a part chosen."""

import json
from datetime import date, timedelta
from itertools import pairwise

import pytest
from playwright.sync_api import FloatRect, Locator, Page, Route, ViewportSize, expect

from adminview.examples.shop import sample_data as shop
from tests.support.console_browser import Console

pytestmark = [pytest.mark.shop, pytest.mark.slow, pytest.mark.xdist_group("browser")]

WIDE: ViewportSize = {"width": 1280, "height": 850}
NARROW: ViewportSize = {"width": 360, "height": 700}
DAYS = 34


def box(element: Locator) -> FloatRect:
    rectangle = element.bounding_box()
    assert rectangle
    return rectangle


def sales(console: Console) -> Page:
    """Sell every day, most on the third day, and open the chart."""
    for number in range(DAYS):
        day = (date(2025, 3, 1) + timedelta(number)).isoformat()
        products = [shop.EGGS] * (5 if number == 2 else 1)
        console.cloud.put("Orders", shop.order("user-1", day, str(number), "PAID", products).item)
    console.cloud.settle()
    page = console.open("/patterns/daily-sales")
    expect(page.get_by_role("img", name=f"revenue per day, {DAYS} bars")).to_be_visible()
    return page


def test_many_bars_have_whole_names_and_the_number_of_the_highest(console: Console) -> None:
    page = sales(console)
    names = page.locator(".chart text").all_text_contents()
    assert "14.95" in names, "the scale"
    assert {"1 Mar", "4 Mar"} <= {*names}
    assert not any("…" in name for name in names)


def test_the_text_of_a_chart_are_readable_in_a_narrow_window(console: Console) -> None:
    console.page.set_viewport_size(NARROW)
    names = sales(console).locator(".chart text")
    assert min(box(name)["height"] for name in names.all()) > 10
    places = sorted(box(name)["x"] for name in names.filter(has_text="Mar").all())
    assert all(right - left > 40 for left, right in pairwise(places))


def test_a_narrow_window_shows_the_screen_below_two_lines_of_navigation(console: Console) -> None:
    console.put("Orders", shop.BROKEN.item)
    console.page.set_viewport_size(NARROW)
    page = console.open("/dead-letters")
    expect(page.get_by_role("heading", name="MissingAttributeError")).to_be_visible()
    assert box(page.get_by_role("banner"))["height"] < 100
    assert box(page.locator("td time").first)["height"] < 30, "a time on one line"
    expect(page.get_by_label("Theme")).to_be_visible()
    expect(page.get_by_role("button", name="Keyboard shortcuts")).to_be_visible()


def test_the_details_of_a_part_leave_the_parts_visible_that_it_is_connected_with(
    console: Console,
) -> None:
    console.put("Orders", shop.BROKEN.item)
    console.page.set_viewport_size(WIDE)
    page = console.open("/model")
    page.get_by_role("button", name="index GSI1", exact=True).click()
    top = box(page.locator(".part"))["y"]
    for name in ("orders-by-status", "payments-by-status"):
        pattern = box(page.get_by_role("button", name=f"pattern {name}", exact=True))
        assert pattern["y"] + pattern["height"] < top, name


def test_the_audit_trail_names_the_item(console: Console) -> None:
    console.put("Orders", shop.BROKEN.item)
    page = console.open("/dead-letters")
    page.get_by_role("button", name="Discard all").click()
    page.get_by_label("Reason").fill("a test item only")
    page.get_by_role("dialog").get_by_role("button", name="Discard", exact=True).click()
    audit = page.get_by_role("region", name="Audit trail")
    item = f"Orders/{shop.BROKEN.item['CustomerId']}/{shop.BROKEN.item['SK']}"
    expect(audit.get_by_role("cell", name=item, exact=True)).to_be_visible()


@pytest.mark.parametrize("window", ["since this console started", "in 15 minutes"])
def test_health_names_the_time_of_its_counts_in_a_phrase(console: Console, window: str) -> None:
    def counted(route: Route) -> None:
        status = route.fetch().json()
        route.fulfill(body=json.dumps({**status, "window": window}))

    console.put("Orders", shop.BROKEN.item)
    console.page.route("**/api/status", counted)
    page = console.open("/health")
    expect(page.get_by_role("columnheader", name=f"records {window}", exact=True)).to_be_visible()
    expect(page.locator("code", has_text="adminview verify")).to_be_visible()
