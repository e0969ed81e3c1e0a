"""The Health screen in a real browser, on both engines: it follows what runs."""

import pytest
from playwright.sync_api import expect

from adminview.cli.planning.record import PlanRecord
from adminview.examples.shop import sample_data as shop
from adminview.model.readiness import progress_table
from adminview.model.row import VIEW_TABLE
from tests.support.bulk_steps import SteppedRun
from tests.support.console_browser import Console
from tests.support.plan_site import deployed_site

pytestmark = [pytest.mark.shop, pytest.mark.slow, pytest.mark.xdist_group("browser")]

PENDING = shop.order("user-123", "2025-03-01", "2121195", "PENDING", [shop.EGGS])


def test_health_names_every_source_and_what_is_in_progress(console: Console) -> None:
    console.put("Orders", PENDING.item)
    page = console.open("/health")
    sources = page.get_by_role("region", name="Sources")
    for source in console.cloud.registry.sources:
        expect(sources.get_by_role("rowheader", name=source.name, exact=True)).to_be_visible()
    expect(page.get_by_role("heading", name="Work in progress")).to_be_visible()


def test_health_follows_bulk_work_without_a_reload(console: Console) -> None:
    console.put("Orders", PENDING.item)
    page = console.open("/health")
    expect(
        page.get_by_text("No backfill, sweep, migration or verification is running.")
    ).to_be_visible()
    for kind, title in (
        ("backfill", "backfill of Orders"),
        ("verify", "verification of the items of Orders"),
    ):
        work = SteppedRun(console.cloud, kind, "Orders")
        work.step()
        heading = page.get_by_role("heading", name=f"{title} waiting for a worker")
        expect(heading).to_be_visible()
        expect(page.get_by_text("1 of 2 segments")).to_be_visible()
        work.step()
        expect(heading).to_have_count(0)
    page.get_by_text("Completed", exact=True).click()
    expect(page.get_by_text("verification of the items of Orders")).to_be_visible()


def test_health_follows_the_steps_of_an_apply(console: Console) -> None:
    console.put("Orders", PENDING.item)
    page = console.open("/health")
    record = PlanRecord(console.cloud.clients.dynamodb, progress_table(VIEW_TABLE))
    current = page.get_by_label("Plan", exact=True).locator("[aria-current=step]")
    shown: list[str] = []

    def watched(state: str, done: list[str], remaining: list[str]) -> None:
        record.write(state, done, remaining)
        if state == "running" and len(shown) < 3:
            expect(current).to_contain_text(remaining[0])
            shown.append(remaining[0])

    runner = deployed_site().runner(record=watched)
    titles = [step.title for step in runner.plan().steps]
    assert runner.apply(runner.plan().destroyed)
    assert shown == titles[:3]
    expect(page.get_by_label("Plan", exact=True)).to_have_count(0)


def test_health_says_what_is_known_although_nothing_measures_the_sync(console: Console) -> None:
    console.put("Orders", PENDING.item)
    page = console.open("/health")
    expect(page.get_by_text("Nothing is known to be wrong, but")).to_contain_text(
        "adminview verify"
    )
    for source in console.cloud.registry.sources:
        for kind in ("verify", "verify-rows"):
            work = SteppedRun(console.cloud, kind, source.name)
            work.step()
            work.step()
    # Health is read again every 15 seconds.
    expect(page.get_by_text("found no difference")).to_be_visible(timeout=30_000)
    console.put("Orders", shop.BROKEN.item)
    expect(page.get_by_text("Orders has 1 dead letter.")).to_be_visible(timeout=30_000)
    expect(page.get_by_text("Nothing is known to be wrong")).to_have_count(0)


def test_health_names_dead_letters_that_have_no_source(console: Console) -> None:
    console.put("Orders", PENDING.item)
    clients, queue = console.cloud.clients, console.cloud.queue_url
    clients.sqs.send_message(QueueUrl=queue, MessageBody="no dead letter")
    page = console.open("/health")
    expect(page.get_by_text("The queue has 1 dead letter.")).to_be_visible(timeout=30_000)
    page.get_by_role("link", name="Show dead letters").click()
    expect(page.get_by_role("heading", name="UnknownLetterError")).to_be_visible(timeout=30_000)
    expect(page.get_by_role("button", name="Discard all …")).to_be_visible()
    expect(page.get_by_role("button", name="Replay")).to_have_count(0)
