"""The console in a real browser, on both engines: from a put into a source table to the screen."""

import ast
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from playwright.sync_api import Page, expect

from adminview.examples.shop import sample_data as shop
from adminview.local.source_writes import apply
from adminview.model.row import VIEW_TABLE
from tests.support.browser import Watch, choose_theme, show, violations
from tests.support.console_browser import Console

pytestmark = [pytest.mark.shop, pytest.mark.slow, pytest.mark.xdist_group("browser")]

ROOT = Path(__file__).parents[2]
ADA = {"userId": "user-123", "name": "Ada", "email": "ada@shop.example", "createdAt": "2025-01-02"}
PENDING = shop.order("user-123", "2025-03-01", "2121195", "PENDING", [shop.EGGS])
HOSTILE = "<img src=x onerror=alert(1)>\u202etfel\u0007</script>"


def query(page: Page, **fields: str) -> None:
    for name, value in fields.items():
        page.get_by_label(name, exact=True).fill(value)
    page.get_by_role("button", name="Query", exact=True).click()


def cells(page: Page) -> list[list[str]]:
    rows = page.get_by_role("region", name="Results").locator("tbody tr").all()
    return [[cell.inner_text() for cell in row.locator("td").all()] for row in rows]


def copied(page: Page, what: str) -> str:
    page.get_by_role("button", name=what, exact=True).click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    text: str = page.evaluate("navigator.clipboard.readText()")
    expect(page.get_by_role("button", name="Copied")).to_have_count(0)
    return text


def test_a_person_finds_a_customers_order_and_sees_where_it_comes_from(console: Console) -> None:
    console.put("Users", ADA)
    console.put("Orders", PENDING.item)
    page = console.open()
    page.get_by_role("searchbox", name="Search").fill("orders status open")
    page.get_by_role("link", name="orders-by-status").click()
    query(page, status="PENDING")
    expect(page.get_by_text("1 row")).to_be_visible()
    (row,) = cells(page)
    assert "2121195" in row
    page.get_by_role("link", name="USER#user-123").click()
    expect(page.get_by_text("Equal to what the source item derives now.")).to_be_visible()
    expect(page.get_by_text(re.compile(r"lambdas/views/orders\.py:\d+"))).to_be_visible()
    page.get_by_role("link", name="user-profile").click()
    expect(page.get_by_text("ada@shop.example")).to_be_visible()


def test_the_token_leaves_the_address_bar_and_a_link_opens_in_another_tab(console: Console) -> None:
    console.put("Orders", PENDING.item)
    page = console.open("/patterns/orders-by-status?status=PENDING")
    expect(page.get_by_text("1 row")).to_be_visible()
    assert "token" not in page.url
    other = page.context.new_page()
    other.goto(page.url)
    expect(other.get_by_text("1 row")).to_be_visible()


def test_back_and_forward_show_the_screens_with_their_fields(console: Console) -> None:
    console.put("Orders", PENDING.item)
    page = console.open("/patterns/orders-by-status")
    query(page, status="PENDING")
    expect(page.get_by_text("1 row")).to_be_visible()
    query(page, status="PAID")
    expect(page.get_by_text("No rows.")).to_be_visible()
    page.go_back()
    expect(page.get_by_text("1 row")).to_be_visible()
    expect(page.get_by_label("status", exact=True)).to_have_value("PENDING")
    page.go_forward()
    expect(page.get_by_text("No rows.")).to_be_visible()
    page.reload()
    expect(page.get_by_text("No rows.")).to_be_visible()


def test_pages_follow_each_other_in_both_directions_and_are_counted(console: Console) -> None:
    for number in range(25):
        order = shop.order("user-123", "2025-03-01", f"{number:03}", "PENDING", [shop.EGGS])
        console.cloud.put("Orders", order.item)
    console.cloud.settle()
    page = console.open("/patterns/orders-of-user?user_id=user-123&limit=20")
    expect(page.get_by_text("20 rows on this page")).to_be_visible()
    first = cells(page)
    page.get_by_role("button", name="Next page").click()
    expect(page.get_by_text("5 rows on this page")).to_be_visible()
    page.get_by_role("button", name="Previous page").click()
    expect(page.get_by_text("20 rows on this page")).to_be_visible()
    assert cells(page) == first
    page.get_by_role("button", name="Count all").click()
    expect(page.get_by_text("25 in all")).to_be_visible()


def test_joined_rows_are_columns(console: Console) -> None:
    console.put("Users", ADA)
    console.put("Orders", PENDING.item)
    page = console.open(f"/patterns/buyers-of-product?product_id={shop.EGGS}")
    expect(page.get_by_role("columnheader", name="profile.name")).to_be_visible()
    assert "Ada" in cells(page)[0]


def test_totals_are_numbers_and_a_series_of_totals_is_a_chart(console: Console) -> None:
    for day in ("2025-03-01", "2025-03-02"):
        console.put("Orders", shop.order("user-123", day, "1", "PAID", [shop.EGGS]).item)
    page = console.open("/patterns/daily-sales")
    expect(page.get_by_role("img", name="revenue per day, 2 bars")).to_be_visible()
    assert [row[:3] for row in cells(page)] == [
        ["1 Mar 2025", "1", "2.99"],
        ["2 Mar 2025", "1", "2.99"],
    ]
    exact = page.get_by_role("region", name="Results").locator("bdi[title='2025-03-01']")
    expect(exact).to_have_count(1)


def test_a_query_is_copied_as_csv_json_command_curl_and_python(
    console: Console, tmp_path: Path
) -> None:
    console.put("Orders", PENDING.item)
    page = console.open("/patterns/orders-by-status?status=PENDING")
    expect(page.get_by_text("1 row")).to_be_visible()
    assert "2121195" in copied(page, "CSV").splitlines()[1]
    assert json.loads(copied(page, "JSON"))["rows"][0]["data"]["OrderId"] == "2121195"
    environment = console.cloud.environment | {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}
    command = shlex.split(copied(page, "command"))
    assert command[0] == "adminview"
    ran = [sys.executable, "-m", "adminview.cli.main", *command[1:], "--json"]
    assert "2121195" in output(ran, environment)
    code = tmp_path / "copied.py"
    code.write_text(copied(page, "Python"))
    assert "'OrderId': '2121195'" in output([sys.executable, str(code)], environment)
    curl = copied(page, "curl").replace("$TOKEN", console.sessions.launch_token)
    assert json.loads(output(shlex.split(curl), environment))["rows"]


def output(command: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(
        command, env=environment, cwd=ROOT, check=True, capture_output=True, text=True
    )
    return done.stdout


STUB = 'adminview() { printf \'%s\\0\' "$@"; }; curl() { adminview "$@"; }; TOKEN=t; '


@pytest.mark.parametrize(
    "value", ['it\'s $(touch pwned) `id` "x"; \\\\ &', "a\n$(touch pwned)\u0085'"]
)
def test_a_hostile_value_is_copied_as_one_word_and_runs_nothing(
    console: Console, tmp_path: Path, value: str
) -> None:
    console.put("Orders", PENDING.item)
    page = console.open(f"/patterns/orders-by-status?status={quote(value)}")
    expect(page.get_by_text("0 rows")).to_be_visible()

    def words(what: str) -> list[str]:
        """Run a copied line in a shell, and return the words that the command receives."""
        ran = ["bash", "-c", STUB + copied(page, what)]
        done = subprocess.run(ran, cwd=tmp_path, check=True, capture_output=True)
        return done.stdout.decode().split("\0")[:-1]

    assert words("command") == ["query", "orders-by-status", "--status", value]
    *_, address = words("curl")
    assert parse_qs(urlsplit(address).query)["status"] == [value]
    (call,) = [
        node
        for node in ast.walk(ast.parse(copied(page, "Python")))
        if isinstance(node, ast.Call) and node.keywords
    ]
    assert ast.literal_eval(call.keywords[0].value) == value
    assert [*tmp_path.rglob("pwned")] == []


def test_opening_an_address_repairs_nothing(console: Console, watch: Watch, tmp_path: Path) -> None:
    watch.allowed.append("404")  # there is no such dead letter and no such row
    console.put("Orders", shop.BROKEN.item)
    sent: list[str] = []
    page = console.page
    page.on(
        "request", lambda request: sent.append(f"{request.method} {urlsplit(request.url).path}")
    )
    for path in (
        "/dead-letters?action=replay&all=true&reason=a+reason+of+words",
        "/dead-letters?id=x&repair=discard",
        "/repairs/replay",
        "/rows?PK=USER%23user-789&SK=PROFILE&reconcile=1",
    ):
        console.open(path)
        expect(page.locator("h1")).to_be_visible()
    page.wait_for_load_state("networkidle")
    assert {request for request in sent if not request.startswith("GET ")} == {"POST /api/session"}
    assert not (tmp_path / "audit.jsonl").exists()


def test_a_dead_letter_is_understood_previewed_and_replayed(
    console: Console, tmp_path: Path
) -> None:
    console.put("Orders", shop.BROKEN.item)
    page = console.open("/dead-letters")
    expect(page.get_by_role("heading", name="MissingAttributeError")).to_be_visible()
    page.get_by_role("button", name="Preview a replay").click()
    expect(page.get_by_text("It still fails")).to_be_visible()
    page.get_by_role("button", name="Close").click()
    console.cloud.put("Orders", shop.FIXED.item)
    page.get_by_role("button", name="Preview a replay").click()
    expect(page.get_by_role("heading", name=re.compile("write .*2121388")).first).to_be_visible()
    page.get_by_role("dialog").get_by_role("button", name="Replay").click()
    reason = page.get_by_label("Reason, two words or more")
    reason.fill("fixed")
    page.get_by_role("button", name="Replay", exact=True).click()
    expect(reason).to_be_focused()
    assert reason.evaluate("(field) => field.validity.patternMismatch")
    reason.fill(" the item was fixed ")
    page.get_by_role("button", name="Replay", exact=True).click()
    expect(page.get_by_role("heading", name="Replay done")).to_be_visible()
    expect(page.get_by_text("No dead letters are waiting.")).to_be_visible()
    expect(page.get_by_role("region", name="Audit trail")).to_contain_text("the item was fixed")
    page.goto(f"{console.server.url}/patterns/orders-of-user?user_id=user-789")
    expect(page.get_by_text("1 row")).to_be_visible()
    assert "the item was fixed" in (tmp_path / "audit.jsonl").read_text()


def test_a_dead_letter_is_discarded_with_a_reason(console: Console) -> None:
    console.put("Orders", shop.POISON.item)
    page = console.open("/dead-letters")
    page.get_by_role("button", name="Orders/user-456").click()
    expect(page.get_by_role("dialog")).to_contain_text("MissingAttributeError")
    page.get_by_role("dialog").get_by_role("button", name="Discard").click()
    page.get_by_label("Reason").fill("a test item only")
    page.get_by_role("dialog").get_by_role("button", name="Discard", exact=True).click()
    expect(page.get_by_role("heading", name="Discard done")).to_be_visible()
    expect(page.get_by_text("No dead letters are waiting.")).to_be_visible()


def test_a_row_that_differs_from_its_source_is_shown_side_by_side_and_reconciled(
    console: Console,
) -> None:
    console.put("Users", ADA)
    console.cloud.clients.dynamodb.update_item(
        TableName=VIEW_TABLE,
        Key={"PK": {"S": "USER#user-123"}, "SK": {"S": "PROFILE"}},
        UpdateExpression="SET #data.#name = :name",
        ExpressionAttributeNames={"#data": "data", "#name": "name"},
        ExpressionAttributeValues={":name": {"S": "Eve"}},
    )
    page = console.open("/rows?PK=USER%23user-123&SK=PROFILE")
    expect(page.get_by_text("Different from what the source item derives now.")).to_be_visible()
    changed = page.locator("tr.changed")
    assert [cell.inner_text() for cell in changed.locator("td").all()] == ["Eve", "Ada"]
    page.get_by_role("button", name="Reconcile this item").click()
    page.get_by_label("Reason").fill("row was edited by hand")
    page.get_by_role("button", name="Reconcile", exact=True).click()
    expect(page.get_by_text("Equal to what the source item derives now.")).to_be_visible()


def test_the_model_is_a_diagram_whose_parts_can_be_chosen_with_the_keyboard(
    console: Console,
) -> None:
    console.put("Orders", PENDING.item)
    page = console.open("/model")
    node = page.get_by_role("button", name="pattern orders-by-status", exact=True)
    node.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="Query it")).to_be_visible()
    expect(page.get_by_role("button", name="GSI1", exact=True)).to_be_visible()
    page.get_by_role("link", name="Query it").press("Enter")
    expect(page.get_by_label("status", exact=True)).to_be_visible()


def test_an_expired_session_loses_nothing_that_was_typed(console: Console, watch: Watch) -> None:
    watch.allowed.append("401")
    console.put("Orders", PENDING.item)
    page = console.open("/patterns/orders-by-status")
    page.get_by_label("status", exact=True).fill("PENDING")
    console.sessions._used.clear()
    page.get_by_role("button", name="Query", exact=True).click()
    expect(page.get_by_role("dialog", name="Sign in")).to_be_visible()
    page.get_by_label("URL or token").fill("wrong")
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("alert")).to_be_visible()
    url = f"{console.server.url}/?token={console.sessions.launch_token}"
    page.get_by_label("URL or token").fill(url)
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_text("1 row")).to_be_visible()
    expect(page.get_by_label("status", exact=True)).to_have_value("PENDING")


def test_a_network_failure_says_what_to_do_and_can_be_tried_again(
    console: Console, watch: Watch
) -> None:
    watch.allowed.append("ERR_CONNECTION_REFUSED")
    console.put("Orders", PENDING.item)
    page = console.open("/patterns/orders-by-status")
    expect(page.get_by_role("button", name="Query", exact=True)).to_be_visible()
    page.route("**/api/**", lambda route: route.abort("connectionrefused"))
    query(page, status="PENDING")
    expect(page.get_by_role("alert")).to_contain_text("adminview console")
    page.unroute("**/api/**")
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_text("1 row")).to_be_visible()


def test_a_slow_response_can_be_cancelled(console: Console) -> None:
    console.put("Orders", PENDING.item)
    page = console.open("/patterns/orders-by-status")
    expect(page.get_by_role("button", name="Query", exact=True)).to_be_visible()
    page.route("**/api/patterns/orders-by-status?**", lambda _: None)
    query(page, status="PENDING")
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("alert")).to_contain_text("Cancelled")


def test_hostile_rows_are_shown_as_text(console: Console) -> None:
    long = "x" * 300_000
    console.put("Users", ADA | {"name": HOSTILE, "email": long})
    page = console.open("/patterns/user-profile?user_id=user-123")
    expect(page.get_by_text("<img src=x onerror=alert(1)>")).to_be_visible()
    expect(page.get_by_text("U+202E")).to_be_visible()
    expect(page.get_by_text("U+0007")).to_be_visible()
    assert page.locator("main img").count() == 0
    page.get_by_role("button", name="Show all 300,000 characters").click()
    expect(page.get_by_text(long)).to_be_visible()
    page.get_by_role("link", name="USER#user-123").click()
    expect(page.get_by_text("U+202E").first).to_be_visible()


def test_text_from_right_to_left_stays_in_its_cell(console: Console) -> None:
    console.put("Users", ADA | {"name": "עדה 123"})
    page = console.open("/patterns/user-profile?user_id=user-123")
    cell = page.locator("bdi", has_text="עדה")
    assert cell.evaluate("(bdi) => getComputedStyle(bdi).unicodeBidi") == "isolate"


SCREENS: dict[str, Callable[[Page], object]] = {
    "/patterns": lambda page: expect(page.get_by_role("link", name="user-profile")).to_be_visible(),
    "/patterns/daily-sales": lambda page: expect(page.locator(".chart")).to_be_visible(),
    "/patterns/orders-of-user?user_id=user-123": lambda page: expect(
        page.get_by_role("region", name="Results")
    ).to_be_visible(),
    "/rows?PK=USER%23user-123&SK=PROFILE": lambda page: expect(
        page.get_by_role("heading", name="Related")
    ).to_be_visible(),
    "/dead-letters": lambda page: expect(
        page.get_by_role("heading", name="MissingAttributeError")
    ).to_be_visible(),
    "/health": lambda page: expect(page.get_by_role("region", name="Sources")).to_be_visible(),
    "/model": lambda page: expect(page.locator(".diagram")).to_be_visible(),
}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_screen_is_accessible_and_fits_a_narrow_window(console: Console, theme: str) -> None:
    apply(console.cloud, (*shop.FIRST_DAY, *shop.SECOND_DAY, shop.POISON))
    page = console.open()
    choose_theme(page, theme)
    for path, ready in SCREENS.items():
        page.set_viewport_size({"width": 1280, "height": 800})
        page.goto(f"{console.server.url}{path}")
        ready(page)
        broken_rules = violations(page)
        assert broken_rules == [], f"{path}: {show(broken_rules)}"
        page.set_viewport_size({"width": 360, "height": 700})
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, path


def test_a_query_needs_no_mouse(console: Console) -> None:
    console.put("Orders", PENDING.item)
    page = console.open()
    expect(page.get_by_role("link", name="orders-by-status")).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("open orders of one status")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="orders-by-status")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.type("PENDING")
    page.keyboard.press("Enter")
    expect(page.get_by_text("1 row")).to_be_visible()
    page.locator("h1").focus()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.keyboard.press("h")
    expect(page.get_by_role("heading", name="Health", exact=True)).to_be_visible()


def test_the_address_has_the_query_and_no_secret(console: Console) -> None:
    console.put("Orders", PENDING.item)
    page = console.open("/patterns/orders-by-status")
    query(page, status="PENDING")
    expect(page.get_by_text("1 row")).to_be_visible()
    address = urlsplit(page.url)
    assert address.path == "/patterns/orders-by-status"
    assert parse_qs(address.query) == {"status": ["PENDING"]}
