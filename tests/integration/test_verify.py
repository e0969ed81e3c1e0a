"""Verification on real engines, while services write and the sync follows the stream."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from itertools import count
from pathlib import Path
from subprocess import PIPE, Popen
from threading import Event, Lock, Thread
from typing import Any

import pytest

from adminview import views
from adminview.aws.deadline import Deadline
from adminview.aws.rate_limit import PageSizer
from adminview.aws.settings import Settings
from adminview.bulk.runs import Bulk
from adminview.bulk.verify.scope import Scope
from adminview.cli.commands.verify import VerifyOptions, verify_here
from adminview.cli.output.printing import Console
from adminview.cli.shutdown import Shutdown
from adminview.examples.shop import sample_data as shop
from adminview.handlers.verify import VerifyDependencies, dependencies, handle, verify
from adminview.local.engines import ACCESS_KEY, REGION, SECRET_KEY, Engine
from adminview.local.local_cloud import LocalCloud
from adminview.local.source_writes import Delete, Put, apply
from adminview.model import Registry
from adminview.model.row import VIEW_TABLE
from tests.support.backfill_workers import bulk_of
from tests.support.bulk_tables import make_model
from tests.support.fakes import Context
from tests.support.verify_tables import HeardDrift

ROOT = Path(__file__).parents[2]
ORDER = "Orders/user-456/2025-03-02#2121207"
ROW = ("USER#user-456", "ORDER#2025-03-02#2121207")
STRANGE = ("USER#nobody", "ORDER#1")


class Tampering:
    """Whoever writes into the view behind the sync's back."""

    def __init__(self, cloud: LocalCloud) -> None:
        self.dynamodb = cloud.clients.dynamodb
        self.key = {"PK": {"S": ROW[0]}, "SK": {"S": ROW[1]}}

    def row(self) -> dict[str, Any]:
        response = self.dynamodb.get_item(TableName=VIEW_TABLE, Key=self.key, ConsistentRead=True)
        return dict(response["Item"])

    def put(self, row: dict[str, Any]) -> None:
        self.dynamodb.put_item(TableName=VIEW_TABLE, Item=row)

    def missing(self) -> None:
        self.dynamodb.delete_item(TableName=VIEW_TABLE, Key=self.key)

    def stale(self) -> None:
        self.put(self.row() | {"data": {"M": {"Status": {"S": "SHIPPED"}}}})

    def gone(self) -> None:
        self.put(self.stranger("Orders/nobody/1"))

    def underived(self) -> None:
        self.put(self.stranger(ORDER))

    def ownerless(self) -> None:
        row = self.stranger("")
        del row["_owner"]
        self.put(row)

    def undeclared(self) -> None:
        self.put(self.stranger("Ghosts/1"))

    def impossible(self) -> None:
        self.put(self.stranger("Orders//1"))  # no key is empty: to read it would be refused

    def two_owners(self) -> None:
        self.put(self.row() | {"_owner": {"S": f"Users/{shop.ALAN}"}})

    def stranger(self, owner: str) -> dict[str, Any]:
        pk, sk = STRANGE
        return {"PK": {"S": pk}, "SK": {"S": sk}, "_owner": {"S": owner}, "data": {"M": {}}}


PLANTED = {
    "missing": ("missing", ORDER, ROW),
    "stale": ("stale", ORDER, ROW),
    "gone": ("orphaned", "Orders/nobody/1", STRANGE),
    "underived": ("orphaned", ORDER, STRANGE),
    "ownerless": ("orphaned", "", STRANGE),
    "undeclared": ("orphaned", "Ghosts/1", STRANGE),
    "impossible": ("orphaned", "Orders//1", STRANGE),
    "two_owners": ("two-owners", ORDER, ROW),
}


class Traffic:
    """Orders, favourites and users that come, change and go, with the sync behind them."""

    def __init__(self, cloud: LocalCloud) -> None:
        self.cloud = cloud
        self.numbers = count()

    def step(self) -> None:
        number = next(self.numbers)
        customer = f"live-{number % 5}"
        status = ("PENDING", "PAID", "CANCELLED", "DELIVERED")[number % 4]
        products = [[shop.EGGS], [shop.EGGS, shop.MILK], [shop.TEA]][number % 3]
        steps: list[Put | Delete] = [
            shop.order(customer, "2025-04-01", f"{number % 7}", status, products),
            shop.user(customer, f"Name{number}"),
            shop.favourite(customer, products[0]),
        ]
        if number % 3 == 2:
            steps.append(Delete("Users", {"userId": customer}))
        for change in steps:
            if isinstance(change, Put):
                self.cloud.put(change.source, change.item)
            else:
                self.cloud.delete(change.source, change.key)
        if number % 2:
            self.cloud.settle()


@pytest.fixture
def shop_cloud(cloud: LocalCloud) -> LocalCloud:
    """Let the shop's first day be over."""
    apply(cloud, shop.FIRST_DAY)
    return cloud


def settings_of(cloud: LocalCloud) -> Settings:
    names = {source.name: source.name for source in cloud.registry.sources}
    return Settings(VIEW_TABLE, cloud.queue_url, names, cloud.registry.fingerprint)


def run(
    cloud: LocalCloud, traffic: "TrafficShutdown | None" = None, **changes: Any
) -> tuple[int, dict[str, Any]]:
    """Run the command, and return its status and its JSON output."""
    names = changes.keys() & {"repair", "sample", "segments"}
    scope = Scope(**{"grace": 0.2} | changes)
    assert names | {"grace"} >= changes.keys()
    bulk, stop = bulk_of(cloud), traffic or Shutdown()
    if traffic:
        progress = replace(bulk.progress, now=lambda: traffic.now)
        bulk = replace(bulk, progress=progress, now=lambda: traffic.now)
    console = Console(file=StringIO())
    status = verify_here(bulk, VerifyOptions(scope, as_json=True), stop, console)
    return status, json.loads(console.file.getvalue())  # type: ignore[attr-defined]  # a StringIO


def differences(report: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [
        (
            difference["kind"],
            difference["owner"],
            tuple(difference["row"]) if difference["row"] else None,
        )
        for difference in report["listed"]
    ]


class TrafficShutdown(Shutdown):
    """Lets traffic go on whenever a worker waits; its time is the traffic's, not the machine's.

    The sync has caught up by the end of each wait, and every other step leaves changes in flight.
    """

    def __init__(self, traffic: Traffic) -> None:
        super().__init__()
        self.traffic, self.lock, self.now = traffic, Lock(), time.time()

    def sleep(self, seconds: float) -> None:
        with self.lock:
            self.now += seconds
            self.traffic.step()


@pytest.mark.parametrize("kind", PLANTED)
def test_a_planted_difference_is_found_and_repaired_while_traffic_goes_on(
    shop_cloud: LocalCloud, kind: str
) -> None:
    traffic = Traffic(shop_cloud)
    for _ in range(3):
        traffic.step()
    getattr(Tampering(shop_cloud), kind)()
    options: dict[str, Any] = {"segments": 1, "grace": 1.5}
    status, report = run(shop_cloud, TrafficShutdown(traffic), **options)
    assert (status, differences(report)) == (1, [PLANTED[kind]])
    traffic.step()
    status, report = run(shop_cloud, TrafficShutdown(traffic), repair=True, **options)
    assert (status, differences(report), report["repaired"]) == (0, [PLANTED[kind]], 1)
    traffic.step()
    status, report = run(shop_cloud, TrafficShutdown(traffic), **options)
    assert (status, differences(report)) == (0, [])
    compared = report["equal"] + report["in_flight"] + report["differing"]
    assert report["items"] + report["rows"] == compared


@pytest.mark.slow
def test_drift_is_repaired_while_a_service_keeps_writing(
    shop_cloud: LocalCloud,
) -> None:
    """With real threads and time. Changes that a slow machine leaves in flight may be reported."""
    tampering = Tampering(shop_cloud)
    for kind in ("stale", "gone"):
        getattr(tampering, kind)()
    traffic, stop = Traffic(shop_cloud), Event()

    def live() -> None:
        while not stop.is_set():
            traffic.step()

    thread = Thread(target=live)
    thread.start()
    try:
        report = run(shop_cloud, repair=True, grace=1.0)[1]
    finally:
        stop.set()
        thread.join()
    assert report["left"] == 0
    assert {PLANTED["stale"], PLANTED["gone"]} <= set(differences(report))
    shop_cloud.settle()
    status, report = run(shop_cloud)
    assert (status, differences(report)) == (0, [])


@pytest.mark.slow
def test_segments_cover_all_and_a_sample_its_share(shop_cloud: LocalCloud) -> None:
    whole = run(shop_cloud, segments=1)[1]
    for segments in (3, 16):
        report = run(shop_cloud, segments=segments)[1]
        assert (report["items"], report["rows"]) == (whole["items"], whole["rows"])
        assert report["items"] == len(shop.FIRST_DAY)
    sampled = run(shop_cloud, segments=2, sample=0.3)[1]
    assert sampled["items"] + sampled["rows"] < whole["items"] + whole["rows"]


def test_it_goes_on_after_stops_with_a_key_of_numbers(
    start: Callable[[Registry], LocalCloud],
) -> None:
    cloud = start(make_model())
    for number in range(12):
        cloud.put("Notes", {"about": f"t{number % 3}", "number": number, "text": "hello"})
        cloud.put("Things", {"id": f"t{number}", "parts": {"x": "1"}})
    cloud.settle()
    key = {"PK": {"S": "THING#t2"}, "SK": {"S": "NOTE#5"}}
    cloud.clients.dynamodb.delete_item(TableName=VIEW_TABLE, Key=key)
    status, runs = 2, 0
    while status == 2:
        client = StoppingClient(cloud.clients.dynamodb)
        options = VerifyOptions(Scope(1, repair=True, grace=0.0), as_json=True)
        console = Console(file=StringIO())
        status = verify_here(small_pages(bulk_of(cloud, client)), options, client.stop, console)
        runs += 1
    report = json.loads(console.file.getvalue())  # type: ignore[attr-defined]  # a StringIO
    assert runs > 5
    assert (status, differences(report)) == (0, [("missing", "Notes/t2/5", ("THING#t2", "NOTE#5"))])
    assert (report["items"], report["repaired"]) == (24, 1)
    assert run(cloud)[0] == 0


class StoppingClient:
    """A client that requests a stop after its first page."""

    def __init__(self, client: Any) -> None:
        self._client, self.stop = client, Shutdown()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def scan(self, **request: Any) -> Any:
        try:
            return self._client.scan(**request)
        finally:
            self.stop.at = time.monotonic()
            self.stop.event.set()


def small_pages(bulk: Bulk) -> Bulk:
    """Limit a page to a few items."""
    client: Any = bulk.client
    client._pace = PageSizer(3)
    client._pace.end = lambda *_: None
    client._pace.begin = lambda _: 3
    return bulk


def test_the_scheduled_function_counts_the_drift(shop_cloud: LocalCloud) -> None:
    Tampering(shop_cloud).stale()
    received = HeardDrift()
    with_ = VerifyDependencies(lambda _: bulk_of(shop_cloud), received)
    summary = verify({"sample": 1, "grace": 0.1}, Context(), with_)
    assert summary["finished"]
    drift = {source: report[1] for source, report in received.reported.items()}
    assert drift == {"Orders": 1, "Users": 0, "Products": 0, "Payments": 0, "unknown": 0}


CODE = "import typer; from adminview.cli.commands.verify import verify; typer.run(verify)"


@pytest.fixture
def environ(engine: Engine) -> dict[str, str]:
    """Let a process of its own reach the engine and nothing else."""
    return {
        **os.environ,
        "AWS_ENDPOINT_URL": engine.dynamodb_url,
        "AWS_ACCESS_KEY_ID": ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
        "AWS_DEFAULT_REGION": REGION,
        "PYTHONPATH": str(ROOT),
    }


@pytest.mark.slow
def test_ctrl_c_stops_it_and_the_same_command_goes_on(
    start: Callable[[Registry], LocalCloud], environ: dict[str, str]
) -> None:
    cloud = start(views.registry())
    apply(cloud, shop.FIRST_DAY)
    Tampering(cloud).missing()
    command = [sys.executable, "-c", CODE, "--grace", "8", "--json"]
    progress = bulk_of(cloud).progress
    with Popen(command, env=environ, stdout=PIPE, text=True) as process:
        end = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < end:
            if progress.records("verify/*", deadline=Deadline.after(10)):
                break
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        try:
            report = json.loads(process.communicate(timeout=30)[0])
        finally:
            process.kill()
    assert (process.returncode, report["status"], report["trouble"]) == (2, 2, "stopped")
    again = subprocess.run(
        command, env=environ, capture_output=True, text=True, check=False, timeout=60
    )
    assert again.returncode == 1, again.stderr
    assert differences(json.loads(again.stdout)) == [PLANTED["missing"]]


@pytest.mark.usefixtures("plain_boto3")
def test_the_deployed_function_finds_its_tables_in_its_environment(
    start: Callable[[Registry], LocalCloud], monkeypatch: pytest.MonkeyPatch
) -> None:
    cloud = start(views.registry())
    apply(cloud, shop.FIRST_DAY)
    for name, value in settings_of(cloud).to_env().items():
        monkeypatch.setenv(name, value)
    dependencies.cache_clear()
    try:
        summary = handle({"sample": 0.5, "grace": 0.1}, Context())
    finally:
        dependencies.cache_clear()
    assert summary["finished"]
    assert not any(counts.get("differing") for counts in summary["sources"].values())
