"""The console of a cloud in a tab of a real browser, for tests that use it as a person does."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page

from adminview.cli.console.sessions import Sessions
from adminview.local.http_server import Server
from adminview.local.local_cloud import LocalCloud
from tests.support.browser import Watch
from tests.support.console import serve_console


class Console:
    """A console of one cloud, and the browser's tab that shows it."""

    def __init__(self, cloud: LocalCloud, server: Server, sessions: Sessions, page: Page) -> None:
        self.cloud, self.server, self.sessions, self.page = cloud, server, sessions, page
        self._written = False

    def open(self, path: str = "/") -> Page:
        """Open a screen with the token that the terminal shows."""
        assert self._has_items(), "a browser test starts with a put into a source table"
        mark = "&" if "?" in path else "?"
        self.page.goto(f"{self.server.url}{path}{mark}token={self.sessions.launch_token}")
        return self.page

    def _has_items(self) -> bool:
        """Return whether any source table has an item, or had one."""
        scan = self.cloud.clients.dynamodb.scan
        tables = self.cloud.settings.sources.values()
        self._written = self._written or any(
            scan(TableName=table, Limit=1)["Items"] for table in tables
        )
        return self._written

    def put(self, source: str, item: dict[str, Any]) -> None:
        """Write an item to a source table, and let the sync handle it."""
        self.cloud.put(source, item)
        self.cloud.settle()


@contextmanager
def open_console(
    cloud: LocalCloud, browser: Browser, watch: Watch, audit: Path
) -> Iterator[Console]:
    """Serve the console of a cloud, and open a tab; it must report no error."""
    with serve_console(cloud, audit) as (server, sessions):
        context = browser.new_context(locale="en-GB", timezone_id="UTC")
        context.grant_permissions(["clipboard-read", "clipboard-write"], origin=server.url)
        context.set_default_timeout(15_000)
        watch.origin = server.url
        page = watch.on(context.new_page())
        yield Console(cloud, server, sessions, page)
        watch.check()
        context.close()
