"""Settings that all suites share."""

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped] # it has no types

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


CLOSED = ("test_roles", "test_failure_rules")  # of the cloud that asks everybody for rights


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
            return "closed" if rest[-1].startswith(CLOSED) else "open"
        return nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Groups:
    """Share the tests out by group."""
    return Groups(config, log)
