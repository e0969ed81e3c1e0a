"""The dialogs of the console in a real browser: to understand a dead letter and to repair it."""

import json
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from adminview.examples.shop import sample_data as shop
from adminview.model.row import VIEW_TABLE
from tests.support.browser import Watch, choose_theme, show, violations
from tests.support.console_browser import Console

pytestmark = [pytest.mark.shop, pytest.mark.slow, pytest.mark.xdist_group("browser")]

EMPTY = "No dead letters are waiting."
HOSTILE = "<img src=x onerror=alert(1)>\u202etfel\u0007"
LETTERS = 12
BROKEN = f"{shop.BROKEN.item['CustomerId']}/{shop.BROKEN.item['SK']}"


def open_letter(page: Page) -> None:
    page.get_by_role("button", name=f"Orders/{BROKEN}").click()
    expect(page.get_by_role("dialog", name="Dead letter")).to_contain_text("never")


def preview(page: Page) -> None:
    page.get_by_role("button", name="Preview a replay").click()
    expect(page.get_by_text("It still fails")).to_be_visible()


def press(name: str) -> Callable[[Page], None]:
    def opened(page: Page) -> None:
        page.get_by_role("button", name=name).click()
        expect(page.get_by_role("dialog")).to_be_visible()

    return opened


ROW = "/rows?PK=USER%23user-123&SK=PROFILE"
DIALOGS: list[tuple[str, Callable[[Page], None]]] = [
    ("/dead-letters", open_letter),
    ("/dead-letters", preview),
    ("/dead-letters", press("Replay all")),
    ("/dead-letters", press("Discard all")),
    ("/dead-letters", press("Keyboard shortcuts")),
    (ROW, press("Reconcile this item")),
]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_dialog_is_accessible_and_fits_a_narrow_window(console: Console, theme: str) -> None:
    console.put("Users", shop.user("user-123", "Ada").item)
    console.put("Orders", shop.BROKEN.item)
    edit(console)
    page = console.open()
    choose_theme(page, theme)
    for path, opened in DIALOGS:
        page.set_viewport_size({"width": 1280, "height": 800})
        page.goto(f"{console.server.url}{path}")
        opened(page)
        broken_rules = violations(page)
        assert broken_rules == [], f"{path}: {show(broken_rules)}"
        page.set_viewport_size({"width": 360, "height": 700})
        dialog = page.get_by_role("dialog")
        assert dialog.evaluate("(dialog) => dialog.scrollWidth - dialog.clientWidth") <= 0
        page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)


def edit(console: Console) -> None:
    """Edit a row behind the sync's back."""
    console.cloud.clients.dynamodb.update_item(
        TableName=VIEW_TABLE,
        Key={"PK": {"S": "USER#user-123"}, "SK": {"S": "PROFILE"}},
        UpdateExpression="SET #data.#name = :name",
        ExpressionAttributeNames={"#data": "data", "#name": "name"},
        ExpressionAttributeValues={":name": {"S": "Eve"}},
    )


def test_a_single_dead_letter_is_replayed_without_a_mouse(console: Console) -> None:
    console.put("Orders", shop.BROKEN.item)
    page = console.open("/dead-letters")
    letter = page.get_by_role("button", name=f"Orders/{BROKEN}")
    expect(letter).to_be_visible()
    console.cloud.put("Orders", shop.FIXED.item)
    for target in (letter, page.get_by_role("button", name="Replay …", exact=True)):
        tab_to(page, target)
        page.keyboard.press("Enter")
        expect(page.get_by_role("dialog")).to_be_visible()
    tab_to(page, page.get_by_label("Reason"))
    page.keyboard.type("the item was fixed")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Replay done")).to_be_visible()
    expect(page.get_by_text("1 of 1 handled, 1 reconciled")).to_be_visible()
    expect(page.get_by_text(EMPTY)).to_be_visible()


def tab_to(page: Page, element: Locator) -> None:
    """Press Tab until the focus is there."""
    for _ in range(30):
        if element.evaluate("(element) => element === document.activeElement"):
            return
        page.keyboard.press("Tab")
    pytest.fail(f"Tab does not reach {element}")


def test_a_repair_of_a_group_shows_its_progress_and_can_be_stopped(console: Console) -> None:
    for number in range(LETTERS):
        order = shop.order("user-1", "2025-03-01", f"{number:02}", "PENDING", [shop.EGGS])
        console.cloud.put("Orders", shop.without_status(order).item)
    console.cloud.settle()
    page = console.open("/dead-letters")
    page.get_by_role("button", name="Discard all").click()
    page.get_by_label("Reason").fill("a test item only")
    page.get_by_label("Dead letters per second").fill("1")
    page.get_by_role("dialog").get_by_role("button", name="Discard", exact=True).click()
    work = page.get_by_role("region", name="Repair in progress")
    expect(work.get_by_role("status")).to_contain_text("10 handled", timeout=30_000)
    page.reload()  # the repair goes on, and is shown again
    work.get_by_role("button", name="Stop").click()
    expect(work.get_by_role("heading", name="Discard stopped")).to_be_visible()


def test_a_session_that_expires_in_a_repair_keeps_the_reason_and_repairs(
    console: Console, watch: Watch
) -> None:
    watch.allowed.append("401")
    console.put("Orders", shop.BROKEN.item)
    page = console.open("/dead-letters")
    page.get_by_role("button", name="Discard all").click()
    page.get_by_label("Reason").fill("a test item only")
    console.sessions._used.clear()
    page.get_by_role("dialog").get_by_role("button", name="Discard", exact=True).click()
    page.get_by_label("URL or token").fill(console.sessions.launch_token)
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("heading", name="Discard done")).to_be_visible()
    audit = page.get_by_role("region", name="Audit trail")
    expect(audit.get_by_role("cell", name="a test item only")).to_be_visible()


def test_a_hostile_item_is_text_in_its_dead_letter_and_in_the_audit_trail(console: Console) -> None:
    item = {name: value for name, value in shop.BROKEN.item.items() if name != "Status"}
    console.put("Orders", item | {"CustomerId": HOSTILE})
    page = console.open("/dead-letters")
    page.get_by_role("button", name="Orders/<img").click()
    expect(page.get_by_role("dialog").get_by_text("U+202E").first).to_be_visible()
    page.get_by_role("dialog").get_by_role("button", name="Discard").click()
    page.get_by_label("Reason").fill(f"a test {HOSTILE}")
    page.get_by_role("dialog").get_by_role("button", name="Discard", exact=True).click()
    audit = page.get_by_role("region", name="Audit trail")
    expect(audit.get_by_text("U+0007")).to_have_count(2)
    assert page.locator("main img").count() == 0


def test_the_exact_time_of_a_repair_is_shown_on_hover(console: Console) -> None:
    console.put("Orders", shop.BROKEN.item)
    page = console.open("/dead-letters")
    page.get_by_role("button", name="Discard all").click()
    page.get_by_label("Reason").fill("a test item only")
    page.get_by_role("dialog").get_by_role("button", name="Discard", exact=True).click()
    work = page.get_by_label("Repair in progress")
    expect(work.get_by_role("heading", name="Discard done")).to_be_visible()
    expect(work.locator("time[title$=Z]")).to_be_visible()
    expect(page.locator("time:not([title])")).to_have_count(0)


@pytest.mark.parametrize("kind", ["\u202eerror <img src=x>", "K" * 2000], ids=["turned", "long"])
def test_a_hostile_name_of_an_error_stays_in_its_place(console: Console, kind: str) -> None:
    console.put("Orders", shop.BROKEN.item)
    clients, queue = console.cloud.clients, console.cloud.queue_url
    (message,) = clients.sqs.receive_message(QueueUrl=queue)["Messages"]
    letter = json.loads(message["Body"])
    letter["error"] = {"kind": kind, "reason": "R" * 2000}
    clients.sqs.send_message(QueueUrl=queue, MessageBody=json.dumps(letter))
    clients.sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
    page = console.open("/dead-letters")
    heading = page.locator(".group h2")
    expect(heading).to_contain_text("Orders")
    assert not set(heading.inner_text()) & {"\u202e"}
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    page.get_by_role("button", name="Discard all").click()
    dialog = page.get_by_role("dialog")
    assert not set(dialog.inner_text()) & {"\u202e"}
    page.get_by_label("Reason").fill("it is no error")
    dialog.get_by_role("button", name="Discard", exact=True).click()
    expect(page.get_by_role("heading", name="Discard done")).to_be_visible()


def test_the_first_view_takes_less_than_a_second(console: Console) -> None:
    console.put("Orders", shop.FIXED.item)
    seconds = []
    for _ in range(5):
        page = console.open()
        page.get_by_role("link", name="orders-by-status").wait_for()
        seconds.append(page.evaluate("performance.now() / 1000"))
        page.goto("about:blank")
    assert min(seconds) < 1
