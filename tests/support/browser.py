"""A real browser, headless Chromium, which watches for errors and for requests to other hosts."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from tests.support.ci import IN_CI

ROOT = Path(__file__).parents[2]
NAMES = ("chromium", "chromium-browser", "google-chrome")
# Chromium does not run as root with its sandbox, and calls home unless options forbid it.
ARGUMENTS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
AXE = ROOT / "node_modules/axe-core/axe.min.js"
RUN_AXE = """async () => {
  const { violations } = await axe.run(document, { resultTypes: ["violations"] });
  return violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html.slice(0, 200))]);
}"""


@contextmanager
def chromium() -> Iterator[Browser]:
    """Run Chromium; in CI it may not be missing."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        reason = "Chromium is not installed: `apt-get install chromium`, or the like"
        if IN_CI:
            raise FileNotFoundError(reason)
        pytest.skip(reason)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=[*ARGUMENTS])
        yield browser
        browser.close()


@dataclass
class Watch:
    """What a page reported, and which other hosts it called."""

    origin: str
    allowed: list[str] = field(default_factory=list)  # parts of messages that a test provokes
    messages: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)

    def on(self, page: Page) -> Page:
        page.on("console", self._message)
        page.on("pageerror", lambda error: self.messages.append(str(error)))
        page.on("request", lambda request: self._request(request.url))
        return page

    def _message(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.messages.append(message.text)

    def _request(self, url: str) -> None:
        if not url.startswith((f"{self.origin}/", "blob:", "about:")):
            self.foreign.append(url)

    def check(self) -> None:
        """Fail if there was an error that the test did not provoke, or a call of another host."""
        assert self.foreign == []
        unexpected = [
            text for text in self.messages if not any(part in text for part in self.allowed)
        ]
        assert unexpected == []


def choose_theme(page: Page, theme: str) -> None:
    """Choose a theme, and check that it outlasts leaving the page at once."""
    page.get_by_label("Theme").select_option(theme)
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", theme)


def violations(page: Page) -> list[Any]:
    """Return what axe-core objects to on the page as it is now."""
    # Through the debugger: the page's own policy lets no other script run.
    page.evaluate(f"() => {{ {AXE.read_text()} }}")
    broken_rules: list[Any] = page.evaluate(RUN_AXE)
    return broken_rules


def show(broken: list[Any]) -> str:
    return json.dumps(broken, indent=2)
