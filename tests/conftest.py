"""Settings that all suites share."""

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped] # it has no types

from adminview.aws.settings import MIGRATIONS_PACKAGE, VIEWS_PACKAGE
from tests.support.ci import IN_CI

# Fixed in CI, so that a red run can be repeated; never a deadline, machines differ.
settings.register_profile(
    "ci",
    derandomize=True,
    deadline=None,
    max_examples=250,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("local", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ci" if IN_CI else "local")

os.environ.setdefault("JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION", "20")

ABOUT_THE_SHOP = ("infra/", "e2e/", "test_docs.py")  # they synthesize, deploy or print the app


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that need the shop's files in `lambdas`."""
    for item in items:
        path = item.path.relative_to(Path(__file__).parent).as_posix()
        if path.startswith(ABOUT_THE_SHOP) or "shop" in item.path.name:
            item.add_marker("shop")


@pytest.fixture(autouse=True)
def views(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all tests but those about the shop use the views of `tests.support.views`."""
    if not request.node.get_closest_marker("shop"):
        monkeypatch.setenv(VIEWS_PACKAGE, "tests.support.views")
        monkeypatch.setenv(MIGRATIONS_PACKAGE, "tests.support.migrations")


CLOSED = ("test_roles", "test_failure_rules")  # of the cloud that checks permissions


class Groups(LoadScopeScheduling):  # type: ignore[misc] # likewise
    """Keeps what shares something slow on one worker: templates, each engine, and each cloud.

    The marks that xdist groups by are without effect since pytest 9.2, and nothing says so.
    """

    def _split_scope(self, nodeid: str) -> str:
        _, folder, *rest = nodeid.partition("::")[0].split("/")
        if folder == "infra":
            return folder
        if folder == "integration":
            return "dynamodb-local" if "[dynamodb-local" in nodeid else "moto"
        if folder == "e2e":
            if rest[-1].startswith("test_totals"):
                return "totals"
            return "closed" if rest[-1].startswith(CLOSED) else "open"
        return nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Groups:
    """Share the tests out by group."""
    return Groups(config, log)
