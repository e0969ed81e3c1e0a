"""Templates that the tests share: each takes seconds to synthesize."""

from pathlib import Path

import pytest

from adminview.model import Registry
from tests.support import totals_views
from tests.support.all_options import EVERYTHING
from tests.support.shop import registry
from tests.support.synthesis import MIGRATIONS, Assembly, imported, synthesize


@pytest.fixture(scope="session")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Assembly:
    """Synthesize the stage that nothing is asked for."""
    return synthesize(registry(), _directory(tmp_path_factory), MIGRATIONS)


@pytest.fixture(scope="session")
def prod(tmp_path_factory: pytest.TempPathFactory) -> Assembly:
    """Synthesize what customers depend on."""
    return synthesize(registry(), _directory(tmp_path_factory), MIGRATIONS, stage="prod")


@pytest.fixture(scope="session")
def protected(tmp_path_factory: pytest.TempPathFactory) -> Assembly:
    """Synthesize the second deployment of prod."""
    directory = _directory(tmp_path_factory)
    return synthesize(registry(), directory, MIGRATIONS, stage="prod", protect="true")


@pytest.fixture(scope="session")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Assembly:
    """Synthesize a second deployment, with one source that exists already."""
    sources = {"Orders": imported("legacy-orders")}
    return synthesize(registry(), _directory(tmp_path_factory), prefix="team-a-", sources=sources)


@pytest.fixture(scope="session")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Assembly:
    """Synthesize a deployment that traces."""
    return synthesize(registry(), _directory(tmp_path_factory), MIGRATIONS, tracing="true")


@pytest.fixture(scope="session")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Assembly:
    """Synthesize prod with every option that can be asked for."""
    return synthesize(registry(), _directory(tmp_path_factory), MIGRATIONS, **EVERYTHING)


@pytest.fixture(scope="session")
def totals(tmp_path_factory: pytest.TempPathFactory) -> Assembly:
    """Synthesize a model with totals."""
    return synthesize(Registry.of([totals_views]), _directory(tmp_path_factory))


@pytest.fixture(scope="session")
def prod_totals(tmp_path_factory: pytest.TempPathFactory) -> Assembly:
    """Synthesize a model with totals that customers depend on."""
    directory = _directory(tmp_path_factory)
    return synthesize(Registry.of([totals_views]), directory, stage="prod", protect="true")


def _directory(factory: pytest.TempPathFactory) -> Path:
    return factory.mktemp("cdk")
