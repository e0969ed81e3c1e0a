"""Settings that all suites share."""

import os

import pytest
from hypothesis import HealthCheck, settings

from tests.ci import IN_CI

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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep what shares something slow on one worker: templates, and each engine."""
    for item in items:
        folder = item.path.parent.name
        engine = "dynamodb-local" if "[dynamodb-local" in item.name else "moto"
        group = {"infra": "infra", "integration": engine}.get(folder)
        if group:
            item.add_marker(pytest.mark.xdist_group(group))
