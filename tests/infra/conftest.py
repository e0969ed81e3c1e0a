"""Templates that the tests share: each takes seconds to synthesize."""

from pathlib import Path

import pytest

from tests.infra.synthesis import Assembly, synthesize
from tests.shop import registry


@pytest.fixture(scope="session")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Assembly:
    """Synthesize the stage that nothing is asked for."""
    return synthesize(registry(), _directory(tmp_path_factory))


@pytest.fixture(scope="session")
def prod(tmp_path_factory: pytest.TempPathFactory) -> Assembly:
    """Synthesize what customers depend on."""
    return synthesize(registry(), _directory(tmp_path_factory), stage="prod")


def _directory(factory: pytest.TempPathFactory) -> Path:
    return factory.mktemp("cdk")
