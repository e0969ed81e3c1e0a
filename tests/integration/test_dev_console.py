"""The console of `adminview dev` keeps its repairs when view files change."""

from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from time import monotonic, sleep
from typing import Any

import pytest

from adminview.aws.clients import Clients
from adminview.cli.console.dev_console import DevConsole
from adminview.cli.private_files import AUDIT
from adminview.local.dev.session import DevEngine, Hooks, ModelChange, Session
from adminview.local.engines import moto_engine
from adminview.local.local_cloud import QUEUE, environment_of
from adminview.local.source_writes import Put
from adminview.model import Registry
from adminview.model.row import MODEL, VIEW_TABLE
from tests.support.console import HOST, REASON, ConsoleClient
from tests.support.view_files import load_view_file

pytestmark = pytest.mark.slow

VIEW = '''
from collections.abc import Iterator
from adminview import Item, Row, Source, view

orders = Source("Orders", partition_key="id")


@view(orders)
def order(item: Item) -> Iterator[Row]:
    """Show an order by its status."""
    yield Row(item["status"], item["id"])
'''
LETTERS = 8
RATE = 2  # per second


def model(folder: Path, code: str = VIEW) -> Registry:
    return Registry.of([load_view_file(folder / "orders.py", code)])


@pytest.fixture
def console(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[DevConsole]:
    monkeypatch.chdir(tmp_path)  # where the audit file is written
    with moto_engine() as engine:
        clients = Clients(engine.dynamodb(), engine.sqs())
        queue_url = clients.sqs.create_queue(QueueName=QUEUE)["QueueUrl"]
        for name, value in environment_of(engine, queue_url).items():
            monkeypatch.setenv(name, value)
        yield DevConsole(DevEngine(clients, queue_url, owned=True), "a test")
        clients.sqs.delete_queue(QueueUrl=queue_url)
        for name in clients.dynamodb.list_tables()["TableNames"]:
            clients.dynamodb.delete_table(TableName=name)


@pytest.fixture
def session(console: DevConsole) -> Iterator[Session]:
    """Run a session with orders that its view cannot derive."""

    def compare(_: Registry, new: Registry) -> ModelChange:
        return ModelChange([], [source.name for source in new.sources])

    hooks = Hooks(lambda _: None, console.publish, compare, paused=console.paused)
    started = Session(console.engine, hooks)
    yield started
    started.end()


@pytest.fixture
def client(console: DevConsole, session: Session, tmp_path: Path) -> ConsoleClient:
    """Begin the session, and wait until every order is a dead letter."""
    session.begin(model(tmp_path))
    session.load([Put("Orders", {"id": f"o-{number:02}"}) for number in range(LETTERS)])
    assert console.gateway
    console.gateway.hosts = frozenset({HOST})
    calls = ConsoleClient(console.gateway, console.sessions.launch_token)
    eventually(lambda: calls.get("/dead-letters")["queue"]["ready"], LETTERS)
    return calls


def eventually(check: Any, expected: Any) -> None:
    end = monotonic() + 30
    while check() != expected:
        assert monotonic() < end, check()
        sleep(0.05)


def rows_of(session: Session) -> list[Any]:
    rows: list[Any] = session.engine.clients.dynamodb.scan(TableName=VIEW_TABLE)["Items"]
    return rows


def start(client: ConsoleClient, action: str = "replay") -> Any:
    body = {"select": {"all": True}, "reason": REASON, "perSecond": RATE}
    return client.post(f"/repairs/{action}", body, 202)["job"]["id"]


def test_a_replay_continues_with_the_views_that_were_saved_meanwhile(
    client: ConsoleClient, session: Session, tmp_path: Path
) -> None:
    job = start(client)
    eventually(lambda: client.get(f"/jobs/{job}")["handled"] > 0, True)
    fixed = VIEW.replace('item["status"]', 'item.get("status", "NONE")')
    changed = model(tmp_path, fixed)
    session.change_to(changed)
    ended = client.ended(job)
    assert (ended["state"], ended["problem"]) == ("done", None)
    outcomes = ended["outcomes"]
    assert outcomes["still_failing"] >= 1, "before the change"
    assert outcomes.get("reconciled", 0) + outcomes.get("unchanged", 0) >= LETTERS / 2, "after it"
    rows = rows_of(session)
    assert len(rows) == LETTERS
    assert {str(row[MODEL]["S"]) for row in rows} == {changed.fingerprint}
    assert Path(AUDIT).exists()


def test_no_repair_writes_a_row_while_the_model_changes(
    client: ConsoleClient, console: DevConsole
) -> None:
    job = start(client)
    eventually(lambda: client.get(f"/jobs/{job}")["handled"] > 0, True)
    with console.paused():
        before = client.get(f"/jobs/{job}")["handled"]
        sleep(2 / RATE)
        during = client.get(f"/jobs/{job}")
        assert (during["handled"], during["state"]) == (before, "running")
        client.post(f"/jobs/{job}/stop", None, 202)  # a paused repair can be stopped
        assert client.ended(job)["state"] == "stopped"


def test_a_row_is_reconciled_while_a_replay_runs(client: ConsoleClient, session: Session) -> None:
    session.load([Put("Orders", {"id": "o-00", "status": "OPEN"})])
    row = {"PK": "OPEN", "SK": "o-00"}
    eventually(lambda: len(rows_of(session)), 1)
    job = start(client)
    client.post("/repairs/reconcile", {**row, "reason": REASON}, 200)
    assert client.get(f"/jobs/{job}")["state"] == "running"


def test_a_row_is_not_reconciled_with_the_views_before_a_change(
    client: ConsoleClient,
    console: DevConsole,
    session: Session,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session.load([Put("Orders", {"id": "o-00", "status": "OPEN"})])
    eventually(lambda: len(rows_of(session)), 1)
    changed = model(tmp_path, VIEW.replace('item["status"]', '"NEW"'))
    change = Thread(target=session.change_to, args=(changed,))

    def note(*_: str, **__: str) -> None:
        """Save the view file when the request has begun."""
        change.start()
        change.join(3)  # unless it waits for the request

    assert console.repairs
    monkeypatch.setattr(type(console.repairs.audit), "note", note)
    client.post("/repairs/reconcile", {"PK": "OPEN", "SK": "o-00", "reason": REASON}, 200)
    change.join()
    rows = rows_of(session)
    assert {row["PK"]["S"] for row in rows} == {"NEW"}
    assert {row[MODEL]["S"] for row in rows} == {changed.fingerprint}


def test_finished_jobs_are_listed_after_a_reload(
    client: ConsoleClient, session: Session, tmp_path: Path
) -> None:
    job = start(client, "discard")
    session.change_to(model(tmp_path, VIEW.replace("by its status", "by status")))
    assert client.ended(job)["outcomes"] == {"discarded": LETTERS}
    assert [listed["id"] for listed in client.get("/jobs")["jobs"]] == [job]
