"""What the console says to a person who has never seen it, in a real browser, on both engines."""

import re

import pytest
from playwright.sync_api import expect

from adminview.examples.shop import sample_data as shop
from tests.support.browser import Watch
from tests.support.console_browser import Console

pytestmark = [pytest.mark.shop, pytest.mark.slow, pytest.mark.xdist_group("browser")]

PENDING = shop.order("user-123", "2025-03-01", "2121195", "PENDING", [shop.EGGS])


def test_enter_opens_the_first_access_pattern_found(console: Console) -> None:
    console.put("Orders", PENDING.item)
    page = console.open()
    current = page.get_by_role("link", name="Access patterns", exact=True)
    expect(current).to_have_attribute("aria-current", "page")
    search = page.get_by_role("searchbox", name="Search")
    search.press("Enter")
    expect(page.get_by_role("heading", name="Access patterns")).to_be_visible()
    search.fill("orders of one status oldest")
    search.press("Enter")
    expect(page.get_by_role("heading", name="orders-by-status")).to_be_focused()


def test_a_name_that_is_no_access_pattern_and_no_key_is_explained(console: Console) -> None:
    console.put("Orders", PENDING.item)
    page = console.open()
    page.get_by_role("searchbox", name="Search").fill("Ada")
    expect(page.get_by_role("status")).to_contain_text("not the rows")
    page.goto(f"{console.server.url}/patterns/orders-of-user?user_id=Ada")
    expect(page.get_by_text("a name finds nothing where an ID is asked for")).to_be_visible()
    page.goto(f"{console.server.url}/patterns/orders-of-user?user_id=user-123")
    expect(page.get_by_text("1 row")).to_be_visible()
    expect(page.get_by_role("button", name="Count all")).to_have_count(0)


def test_a_text_that_is_no_date_is_named_with_the_format(console: Console) -> None:
    console.put("Orders", PENDING.item)
    page = console.open("/patterns/daily-sales?start=tomorrow")
    expect(page.get_by_text("start is no date: write it as YYYY-MM-DD.")).to_be_visible()
    page.get_by_label("start").first.fill("2026")
    page.get_by_role("button", name="Query", exact=True).click()
    expect(page.get_by_text("No rows. A value must match exactly")).to_be_visible()


def test_a_command_in_an_error_is_set_as_code(console: Console, watch: Watch) -> None:
    watch.allowed.append("ERR_CONNECTION_REFUSED")
    console.put("Orders", PENDING.item)
    page = console.open()
    model = page.get_by_role("link", name="Model", exact=True)
    expect(model).to_be_visible()
    page.route("**/api/**", lambda route: route.abort("connectionrefused"))
    model.click()
    command = page.get_by_role("alert").locator("code")
    expect(command).to_have_text("adminview console")


def test_a_link_without_a_token_asks_for_it_in_words_of_the_page(
    console: Console, watch: Watch
) -> None:
    watch.allowed.append("401")
    console.put("Orders", PENDING.item)
    page = console.page
    page.goto(f"{console.server.url}/patterns/orders-of-user?user_id=user-123")
    dialog = page.get_by_role("dialog", name="Sign in")
    expect(dialog).to_contain_text("has no token")
    expect(dialog).not_to_contain_text("Bearer")
    page.get_by_label("URL or token").fill(console.sessions.launch_token)
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("heading", name="orders-of-user")).to_be_visible()
    expect(page.get_by_text("1 row")).to_be_visible()


def test_a_dead_letter_says_what_to_do_next_and_what_its_fix_sends(console: Console) -> None:
    console.put("Orders", shop.BROKEN.item)
    page = console.open("/dead-letters")
    page.get_by_role("button", name="Preview a replay").click()
    expect(page.get_by_text("Fix the source item or the view file")).to_be_visible()
    page.get_by_role("button", name="Close").click()
    console.put("Orders", shop.FIXED.item)
    page.get_by_role("button", name="Refresh").click()
    # While another reading of the queue holds a dead letter, the list lacks it until the next one.
    expect(page.get_by_text("An item is here more than once.")).to_be_visible(timeout=25_000)
    page.get_by_role("button", name="Replay all").click()
    page.get_by_label("Reason").fill("the item was fixed")
    page.get_by_role("button", name="Replay", exact=True).click()
    expect(page.get_by_text("2 already correct")).to_be_visible()
    audit = page.get_by_role("region", name="Audit trail")
    expect(audit.get_by_role("cell", name="already correct")).to_have_count(2)


def test_invisible_dead_letters_say_until_when_and_health_counts_them(console: Console) -> None:
    console.put("Orders", shop.BROKEN.item)
    page = console.open("/dead-letters")
    expect(page.get_by_role("status")).to_have_text(re.compile(r"^1 ready\."))
    clients, queue = console.cloud.clients, console.cloud.queue_url
    clients.sqs.receive_message(QueueUrl=queue, VisibilityTimeout=600)
    page.get_by_role("button", name="Refresh").click()
    expect(page.get_by_role("status")).to_have_text(
        re.compile(r"^0 ready, 1 invisible until .* at the latest \(in .*\)\.")
    )
    page.goto(f"{console.server.url}/health")
    expect(page.get_by_text("1 dead letter is invisible for now")).to_be_visible()


def test_the_model_says_which_view_fills_an_index(console: Console) -> None:
    console.put("Orders", PENDING.item)
    page = console.open("/model")
    page.get_by_role("button", name="index GSI1", exact=True).press("Enter")
    part = page.get_by_role("listitem").filter(has_text="is filled by view")
    expect(part.get_by_role("button", name="order", exact=True)).to_be_visible()
    expect(page.get_by_text("GSI1_PK", exact=True)).to_be_visible()


def test_escape_keeps_the_dialog_that_asks_for_the_token(console: Console, watch: Watch) -> None:
    watch.allowed.append("401")
    console.put("Orders", PENDING.item)
    page = console.page
    page.goto(f"{console.server.url}/patterns")
    dialog = page.get_by_role("dialog", name="Sign in")
    expect(dialog).to_be_visible()
    for _ in range(3):
        page.keyboard.press("Escape")
    page.get_by_label("URL or token").fill(console.sessions.launch_token)
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("link", name="orders-by-status")).to_be_visible()
    expect(dialog).to_have_count(0)


def test_a_console_that_ends_while_its_page_loads_says_so(console: Console, watch: Watch) -> None:
    watch.allowed.append("ERR_CONNECTION_REFUSED")
    console.put("Orders", PENDING.item)
    console.page.route("**/console.json", lambda route: route.abort("connectionrefused"))
    page = console.open("/patterns")
    expect(page.get_by_role("alert")).to_contain_text("The console does not respond.")
    page.unroute("**/console.json")
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("link", name="orders-by-status")).to_be_visible()
