"""Each engine runs once; each test finds it empty."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from adminview.local.engines import ACCESS_KEY, ENGINES, REGION, SECRET_KEY, Engine, EngineError
from adminview.local.local_cloud import LocalCloud
from adminview.model import Registry
from tests.support import model, shop
from tests.support.browser import Watch, chromium
from tests.support.ci import IN_CI
from tests.support.console_browser import Console, open_console


@pytest.fixture(scope="session", params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """Run each engine; in CI none may be missing."""
    running = ENGINES[request.param]()
    try:
        started = running.__enter__()
    except EngineError as error:
        if IN_CI:
            raise
        pytest.skip(str(error))
    yield started
    running.__exit__(None, None, None)


@pytest.fixture(autouse=True)
def nothing_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """Hold each test to leaving the engine empty, for the order of tests is not fixed."""
    if "engine" not in request.fixturenames:
        yield
        return
    client = request.getfixturevalue("engine").dynamodb()
    yield
    assert client.list_tables()["TableNames"] == []


@pytest.fixture
def start(engine: Engine) -> Iterator[Callable[[Registry], LocalCloud]]:
    """Start a model on the engine; afterwards the engine is empty again."""
    started: list[LocalCloud] = []

    def start_one(registry: Registry) -> LocalCloud:
        started.append(LocalCloud.start(engine, registry))
        return started[-1]

    yield start_one
    for cloud in started:
        cloud.stop()


@pytest.fixture
def cloud(request: pytest.FixtureRequest, start: Callable[[Registry], LocalCloud]) -> LocalCloud:
    """Start the tests' model, or the shop for a test about it; its tables are empty."""
    about_the_shop = request.node.get_closest_marker("shop")
    return start(shop.registry() if about_the_shop else model.registry())


@pytest.fixture
def plain_boto3(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let code that just says `boto3.resource('dynamodb')` reach the engine."""
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", engine.dynamodb_url)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture
def watch() -> Watch:
    return Watch("")


@pytest.fixture
def console(
    cloud: LocalCloud,
    browser: Browser,
    watch: Watch,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Console]:
    """Open the console of an empty cloud in a browser; tests of its routes have their own."""
    for name, value in cloud.environment.items():
        monkeypatch.setenv(name, value)
    with open_console(cloud, browser, watch, tmp_path / "audit.jsonl") as opened:
        yield opened
