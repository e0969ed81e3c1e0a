"""The real CDK command on a local cloud. It takes minutes, so it runs only on request.

ADMINVIEW_MINISTACK names the command of ministack, in a virtual environment of its own.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.e2e.closed import Closed, closed_cloud
from tests.support.e2e.cloud import (
    Checkout,
    complete_totals,
    end_build,
    local_cloud,
    surroundings,
)

MINISTACK = "ADMINVIEW_MINISTACK"
# The files whose tests share a deployment, in the order in which they build on each other.
ORDER = (
    "test_deployed",
    "test_deployed_smoke",
    "test_recovery",
    "test_deployed_console",
    "test_model_change",
    "test_removal",
)

collect_ignore_glob = [] if os.environ.get(MINISTACK) else ["test_*.py"]

if os.environ.get(MINISTACK):  # no profile or endpoint of the developer's is meant
    for name in os.environ.keys() - surroundings().keys() - {MINISTACK}:
        del os.environ[name]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort the tests that share the deployment; all others stay before them."""

    def place(item: pytest.Item) -> int:
        if item.path.parent != Path(__file__).parent:
            return -1
        shared = "checkout" in getattr(item, "fixturenames", ())
        return ORDER.index(item.path.stem) if shared else -1  # each file must be in the list

    items.sort(key=place)


@pytest.fixture(scope="session")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Checkout]:
    """Deploy as the README says, to a cloud that does not enforce IAM.

    The tests that use it depend on each other. They run in the order of the files (ORDER) and of
    the tests in them, in one worker (tests/conftest.py).
    """
    with local_cloud(tmp_path_factory.mktemp("open")) as started:
        started.bootstrap()
        # The documented command, without its confirmation prompt.
        done = started.run("npx", "cdk", "deploy", "--all", "--require-approval", "never")
        assert done.returncode == 0, done.stdout + done.stderr
        complete_totals(started)
        end_build(started)
        yield started


@pytest.fixture(scope="session")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Closed]:
    """Deploy to a cloud that obeys its policies."""
    with closed_cloud(tmp_path_factory.mktemp("closed")) as started:
        yield started
