"""A session changes the tables of its own engine, and loses no item and no count."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from adminview.aws.clients import Clients
from adminview.aws.dead_letter_consumer import DeadLetterConsumer
from adminview.aws.deadline import Deadline
from adminview.local.dev.session import DevEngine, Hooks, ModelChange, Session
from adminview.local.engines import EngineError, moto_engine
from adminview.local.local_cloud import QUEUE, environment_of
from adminview.local.source_writes import Delete, Put
from adminview.model import Registry
from tests.support.view_files import load_view_file

VIEW = '''
from collections.abc import Iterator
from adminview import AccessPattern, Index, Item, Row, Source, Total, view

orders = Source("Orders", partition_key="id")
by_status = Index("ByStatus", partition="status", sort="day", include=["data"])
statuses = Total("PerStatus", sort="status")


@view(orders)
def order(item: Item) -> Iterator[Row]:
    """Index an order by status."""
    yield Row(
        item["number"],
        "ORDER",
        data=item.pick("id"),
        indexes=[by_status(item["status"], item["id"])],
        totals=[statuses(item["status"])],
    )
'''


def model(folder: Path, *changes: tuple[str, str]) -> Registry:
    code = VIEW
    for old, new in changes:
        assert old in code
        code = code.replace(old, new)
    return Registry.of([load_view_file(folder / "orders.py", code)])


@pytest.fixture
def messages() -> list[str]:
    return []


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch, messages: list[str]) -> Iterator[Session]:
    """Run an engine of its own, which a session may change."""
    with moto_engine() as engine:
        clients = Clients(engine.dynamodb(), engine.sqs())
        queue_url = clients.sqs.create_queue(QueueName=QUEUE)["QueueUrl"]
        for name, value in environment_of(engine, queue_url).items():
            monkeypatch.setenv(name, value)

        def compare(_: Registry, new: Registry) -> ModelChange:
            return ModelChange([], [source.name for source in new.sources])

        hooks = Hooks(messages.append, lambda _: None, compare, doing=messages.append)
        started = Session(DevEngine(clients, queue_url, owned=True), hooks)
        yield started
        started.end()
        for name in clients.dynamodb.list_tables()["TableNames"]:
            clients.dynamodb.delete_table(TableName=name)
        # All moto servers of a process share their queues.
        clients.sqs.delete_queue(QueueUrl=queue_url)


def eventually(check: Callable[[], object], expected: object) -> None:
    end = monotonic() + 30
    while check() != expected:
        assert monotonic() < end, check()
        sleep(0.1)


def scan(session: Session, table: str) -> list[Any]:
    return session.engine.clients.dynamodb.scan(TableName=table)["Items"]


def counts(session: Session) -> dict[str, str]:
    stored = scan(session, "AdminViewTotals")
    return {item["SK"]["S"]: item["count"]["N"] for item in stored if "count" in item}


def orders(session: Session) -> set[str]:
    return {row["PK"]["S"] for row in scan(session, "AdminViewTable")}


ITEMS = [
    Put("Orders", {"id": "1", "number": "n1", "status": "PAID"}),
    Put("Orders", {"id": "2", "number": "n2", "status": "PAID"}),
    Put("Orders", {"id": "3", "number": "n3", "status": "OPEN"}),
]
COUNTS = {"PAID": "2", "OPEN": "1"}


def test_a_new_view_table_has_the_same_rows_and_totals(
    session: Session, tmp_path: Path, messages: list[str]
) -> None:
    """Whatever sources the change is about: the new table has the rows of none."""
    session.hooks = replace(session.hooks, compare=lambda *_: ModelChange([], []))
    session.begin(model(tmp_path))
    session.load(ITEMS)
    eventually(lambda: counts(session), COUNTS)
    session.change_to(model(tmp_path, ('sort="day"', 'sort="date"')))
    assert orders(session) == {"n1", "n2", "n3"}
    for progress in ("rebuilding Orders", "rebuilding Orders: 3 items, 3 rows written", "sweeping"):
        assert progress in messages
    eventually(lambda: counts(session), COUNTS)
    session.load([Put("Orders", {"id": "3", "number": "n3", "status": "PAID"})])
    eventually(lambda: {name: n for name, n in counts(session).items() if n != "0"}, {"PAID": "3"})


def test_items_outlast_a_key_that_they_do_not_have(session: Session, tmp_path: Path) -> None:
    session.begin(model(tmp_path))
    session.load(ITEMS)
    eventually(lambda: orders(session), {"n1", "n2", "n3"})
    session.change_to(model(tmp_path, ('partition_key="id"', 'partition_key="nope"')))
    assert (scan(session, "Orders"), orders(session)) == ([], set())
    session.change_to(model(tmp_path, ('partition_key="id"', 'partition_key="number"')))
    eventually(lambda: orders(session), {"n1", "n2", "n3"})
    eventually(lambda: counts(session), COUNTS)
    assert len(scan(session, "Orders")) == 3


def letters(session: Session) -> list[str]:
    """Return the items of the dead letters that are visible, and leave them so."""
    consumer = DeadLetterConsumer(session.engine.clients.sqs, session.engine.queue_url)
    taken = consumer.take(deadline=Deadline.after(10))
    consumer.put_back(taken, deadline=Deadline.after(10))
    return sorted(str(json.loads(message.body)["owner"]) for message in taken)


def replayed(messages: list[str], session: Session) -> int:
    session.replay_outdated()
    lines = (
        re.match(r"replayed (\d) dead letters? of fixed items: 0 rows put", x) for x in messages
    )
    return sum(int(line[1]) for line in lines if line)


def letters_left(session: Session) -> list[str]:
    session.replay_outdated()
    return letters(session)


def test_dead_letters_of_fixed_items_are_replayed(
    session: Session, tmp_path: Path, messages: list[str]
) -> None:
    session.begin(model(tmp_path))
    bad = [Put("Orders", {"id": id_, "status": "PAID"}) for id_ in "12"]
    session.load(bad)
    eventually(lambda: letters(session), ["Orders/1", "Orders/2"])
    session.replay_outdated()
    assert letters(session) == ["Orders/1", "Orders/2"]

    # An item is fixed.
    session.load(ITEMS[:1])
    eventually(lambda: orders(session), {"n1"})
    eventually(lambda: letters_left(session), ["Orders/2"])
    # The image before the fix has a dead letter, too.
    eventually(lambda: replayed(messages, session), 2)
    assert letters(session) == ["Orders/2"]

    # The view is fixed.
    session.change_to(model(tmp_path, ('item["number"]', 'item.get("number", "none")')))
    eventually(lambda: letters_left(session), [])
    assert orders(session) == {"n1", "none"}

    # An item that is deleted derives no rows.
    session.load([Put("Orders", {"id": "4"})])
    eventually(lambda: letters(session), ["Orders/4"])
    session.load([Delete("Orders", {"id": "4"})])
    eventually(lambda: letters_left(session), [])


def test_what_one_replay_had_no_time_for_is_replayed_next(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.begin(model(tmp_path))
    session.load([Put("Orders", {"id": "1", "status": "PAID"})])
    eventually(lambda: letters(session), ["Orders/1"])
    results = ["replayed 200 dead letters", ""]
    replay = "adminview.local.dev.session.replay_outdated"
    monkeypatch.setattr(replay, lambda *_: results.pop(0))
    for _ in range(3):  # the last one has nothing to do
        session.replay_outdated()
    assert results == []


def test_an_engine_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adminview.local.engines.find_spec", lambda _: None)
    with pytest.raises(EngineError, match=r"pip install 'adminview\[local\]'"), moto_engine():
        pass
