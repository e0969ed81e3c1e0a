"""docs/console.md lists the routes that the console has."""

import re
from pathlib import Path

from adminview.http_api.openapi import document
from adminview.local.local_cloud import LocalCloud
from tests.support.console import console_of
from tests.support.model import registry

PAGE = Path(__file__).parents[2] / "docs/console.md"


def listed() -> set[tuple[str, str]]:
    """Return the routes of the page's table; a method counts for all paths after it."""
    routes: set[tuple[str, str]] = set()
    for cell in re.findall(r"^\| (`[A-Z]+`?.*?) \|", PAGE.read_text(), re.MULTILINE):
        methods: list[str] = []
        complete = False
        for method, path in re.findall(r"`([A-Z]*) ?(/[^`]*)?`", cell):
            if method:
                methods = [method] if complete else [*methods, method]
            routes |= {(verb, path) for verb in methods if path}
            complete = bool(path)
    return routes


def test_the_page_lists_the_routes_of_the_console(cloud: LocalCloud, tmp_path: Path) -> None:
    described = console_of(cloud, tmp_path / "audit.jsonl").gateway.api.document["paths"]
    queries = document(registry(), "m")["paths"]
    routes = {
        (method.upper(), path.replace("orders-by-status", "{name}")): path in queries
        for path, methods in described.items()
        for method in methods
    }
    assert listed() <= routes.keys()
    assert {route for route, is_query in routes.items() if not is_query} <= listed()
