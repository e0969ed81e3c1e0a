"""docs/console.md lists the routes that the console has, and its script runs as shown."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from adminview.examples.shop import sample_data as shop
from adminview.http_api.openapi import document
from adminview.local.local_cloud import LocalCloud
from adminview.local.source_writes import apply
from tests.support.console import console_of, serve_console
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


# One response per line, and an error ends the script.
CURL = 'set -eu; curl() { command curl --fail --silent --show-error "$@"; echo; }\n'


@pytest.mark.shop
def test_the_script_of_the_page_runs_as_shown(
    cloud: LocalCloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in cloud.environment.items():
        monkeypatch.setenv(name, value)
    apply(cloud, (*shop.FIRST_DAY, shop.POISON))
    (script,) = re.findall(r"```console\n(API=.*?)```", PAGE.read_text(), re.DOTALL)
    with serve_console(cloud, tmp_path / "audit.jsonl") as (server, sessions):
        done = subprocess.run(
            ["/bin/bash", "-c", CURL + script.replace("http://127.0.0.1:8090", server.url)],
            env=os.environ | {"TOKEN": sessions.launch_token},
            check=True,
            capture_output=True,
            text=True,
        )
    row, letters, replay, jobs = map(json.loads, done.stdout.splitlines())
    assert row["row"]["data"]["name"] == "Ada"
    assert [group["source"] for group in letters["groups"]] == ["Orders"]
    assert replay["job"]["reason"] == "the view is fixed"
    assert [job["id"] for job in jobs["jobs"]] == [replay["job"]["id"]]
