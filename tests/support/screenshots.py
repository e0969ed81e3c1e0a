"""Take pictures of every screen of the console, light and dark, into docs/images.

Run `python -m tests.support.screenshots`. They show the demo's shop on an embedded engine.
"""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Page, ViewportSize, expect

from adminview.examples.shop import sample_data as shop
from adminview.local.engines import ENGINES, EngineName
from adminview.local.local_cloud import LocalCloud
from adminview.local.source_writes import apply
from adminview.model.row import VIEW_TABLE
from tests.support.browser import choose_theme, chromium
from tests.support.console import serve_console
from tests.support.shop import registry

FOLDER = Path(__file__).parents[2] / "docs/images"
SIZE: ViewportSize = {"width": 1200, "height": 800}
SCREENS = {
    "patterns": ("/patterns", "user-profile"),
    "query": ("/patterns/orders-of-user?user_id=user-123", "2 rows"),
    "totals": ("/patterns/daily-sales", "per day"),
    "row": ("/rows?PK=USER%23user-123&SK=PROFILE", "Rows with the same partition key"),
    "dead-letters": ("/dead-letters", "Audit trail"),
    "health": ("/health", "Work in progress"),
    "model": ("/model", "Recent changes"),
}


def pictures(page: Page, url: str, theme: str) -> None:
    choose_theme(page, theme)
    for name, (path, text) in SCREENS.items():
        page.goto(f"{url}{path}")
        expect(page.locator("main")).to_contain_text(text.removesuffix("per day"))
        page.wait_for_timeout(500)
        page.screenshot(path=FOLDER / f"console-{name}-{theme}.png")


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with ENGINES[EngineName.MOTO]() as engine, TemporaryDirectory() as folder:
        cloud = LocalCloud.start(engine, registry())
        os.environ |= cloud.environment
        apply(cloud, (*shop.FIRST_DAY, *shop.SECOND_DAY, shop.POISON, shop.BROKEN))
        # A row that somebody has edited: the screen shows both sides.
        cloud.clients.dynamodb.update_item(
            TableName=VIEW_TABLE,
            Key={"PK": {"S": "USER#user-123"}, "SK": {"S": "PROFILE"}},
            UpdateExpression="SET #data.#name = :name",
            ExpressionAttributeNames={"#data": "data", "#name": "name"},
            ExpressionAttributeValues={":name": {"S": "Augusta"}},
        )
        audit = Path(folder, "audit.jsonl")
        with serve_console(cloud, audit) as (server, sessions), chromium() as browser:
            page = browser.new_page(viewport=SIZE, locale="en-GB", timezone_id="UTC")
            page.goto(f"{server.url}/?token={sessions.launch_token}")
            for theme in ("light", "dark"):
                pictures(page, server.url, theme)


if __name__ == "__main__":
    main()
