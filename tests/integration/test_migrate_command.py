"""`adminview migrate` on real engines: a dry run, a run, a stop and a resumed run."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from threading import Event, Thread
from time import sleep
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from adminview.aws.source_updates import SourceUpdates
from adminview.aws.table_scanner import TableScanner
from adminview.bulk.lazy_migration import Lazy
from adminview.cli.bulk.migration_preview import Previewer
from adminview.cli.bulk.segment_pool import STOPPED, Limits, SegmentPool, connect
from adminview.cli.main import app
from adminview.cli.shutdown import Shutdown
from adminview.examples.shop import sample_data as shop
from adminview.local.engines import EngineName
from adminview.local.local_cloud import LocalCloud
from adminview.local.source_writes import apply
from adminview.model.row import VIEW_TABLE
from adminview.sync.decode import routes
from tests.support.fakes import refusal
from tests.support.migrated_orders import ORDERS, Interrupted, as_read, old_order, orders_of, put
from tests.support.migrations.delivery_date import delivery_date
from tests.support.model import registry
from tests.support.write_meter import Meter, let_it_be_heard

NAME = "orders-delivery-date"


@pytest.fixture
def cloud(start: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[LocalCloud]:
    """Start the shop where the commands look for it."""
    cloud: LocalCloud = start(registry())
    monkeypatch.chdir(tmp_path)
    for name, value in cloud.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("COLUMNS", "200")
    yield cloud
    assert not [*tmp_path.iterdir()], "nothing is left behind"


def adminview(*words: str, stdin: str | None = None) -> Result:
    """Run a command as if it were typed."""
    result = CliRunner().invoke(app, words, input=stdin)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def parsed(*words: str) -> Any:
    return json.loads(adminview("migrate", NAME, *words, "--json").stdout)


def test_a_dry_run_shows_what_would_be_set_and_what_it_costs_and_writes_nothing(
    cloud: LocalCloud,
) -> None:
    put(cloud, *(old_order(number) for number in range(9)), old_order(9, DeliveryDate="2025-12-24"))
    before = orders_of(cloud)
    shown = adminview("migrate", NAME, "--dry-run", "--max-wcu", "3")
    assert shown.exit_code == 0
    words = " ".join(shown.stdout.split())
    assert "DeliveryDate: 2025-02-22" in words
    assert "sampled 10 of 10 items of Orders" in words
    assert "would be updated 9" in words
    assert "write units of Orders 9, including its indexes" in words
    # Each order's row, in two indexes that carry its data, and new in the one by day.
    assert "write units of the view 36, through the stream" in words
    assert "takes at least 3 s at 3 units per second" in words
    assert orders_of(cloud) == before
    report = parsed("--dry-run")
    assert (report["would_update"], report["write_units"], report["view_write_units"]) == (9, 9, 36)
    assert len(report["examples"]) == 5
    assert report["examples"][0]["sets"].keys() == {"DeliveryDate"}
    assert orders_of(cloud) == before


def test_a_sample_stands_for_all_items(cloud: LocalCloud) -> None:
    put(cloud, *(old_order(number, f"user-{number}") for number in range(48)))
    some = parsed("--dry-run", "--sample", "16")
    assert (some["whole"], some["items"], some["would_update"]) == (False, 48, 48)
    assert some["sampled"] <= 16
    every = parsed("--dry-run", "--sample", "16", "--all")
    assert (every["whole"], every["sampled"], every["would_update"]) == (True, 48, 48)


def test_it_prompts_before_it_begins_and_no_ends_it(cloud: LocalCloud) -> None:
    put(cloud, old_order(1))
    before = orders_of(cloud)
    refused = adminview("migrate", NAME, stdin="n\n")
    assert refused.exit_code == 2
    assert "would be updated" in refused.stdout
    assert "Update these items? [y/N]" in refused.stderr
    assert orders_of(cloud) == before
    assert adminview("migrate", NAME, stdin="y\n").exit_code == 0
    assert orders_of(cloud)["2025-02-02#0000001"]["DeliveryDate"] == {"S": "2025-02-23"}


def test_a_run_ends_with_every_item_migrated_and_the_next_changes_nothing(
    cloud: LocalCloud,
) -> None:
    apply(cloud, shop.FIRST_DAY)
    report = parsed("--yes")
    assert (report["status"], report["finished"], report["trouble"]) == (0, True, "")
    assert report["counts"] == {"items": 8, "updated": 3, "right": 5}
    after = orders_of(cloud)
    cloud.settle()
    rows = cloud.query("orders-by-day", delivery_date="2025-03-22")
    assert [row["SK"]["S"] for row in rows] == ["ORDER#2025-03-01#2121195"]
    again = adminview("migrate", NAME, "--yes")
    assert again.exit_code == 0
    assert "done: every item is complete" in again.stdout
    assert orders_of(cloud) == after
    assert cloud.settle() == 0, "nothing came through the stream"


def test_an_item_that_fails_is_listed_here_and_makes_the_status_1(cloud: LocalCloud) -> None:
    put(cloud, old_order(1), old_order(2) | {"OrderDate": "someday"})
    shown = adminview("migrate", NAME, "--yes")
    assert shown.exit_code == 1
    assert "user-123, 2025-02-03#0000002" in shown.stdout
    assert "the migration raised ValueError" in shown.stdout
    assert "done, except for 1 items" in shown.stdout
    assert "someday" not in shown.output
    (failing,) = parsed("--yes")["failing"]
    assert failing["key"]["SK"] == {"S": "2025-02-03#0000002"}
    assert cloud.letters() == [], "the view has no trouble with it"
    assert parsed("--dry-run")["would_fail"] == 1


def test_too_many_that_fail_end_the_run(cloud: LocalCloud) -> None:
    put(cloud, *(old_order(number) | {"OrderDate": "someday"} for number in range(3)))
    report = parsed("--yes", "--segments", "1", "--tolerate", "2")
    assert (report["status"], report["finished"]) == (2, False)
    assert "3 items failed in migrate/" in report["trouble"]


def test_a_run_that_is_stopped_goes_on_where_it_was(cloud: LocalCloud) -> None:
    put(cloud, *(old_order(number, f"user-{number}") for number in range(60)))
    bulk = connect(registry(), cloud.settings, Limits())
    stop = Shutdown()

    def enough(counts: Counter[str]) -> None:
        if counts["updated"]:
            stop.event.set()

    half = SegmentPool(bulk, f"migrate/{NAME}", stop, 100, enough)
    assert half.work(32).trouble == STOPPED
    migrated = [item for item in orders_of(cloud).values() if "DeliveryDate" in item]
    assert 0 < len(migrated) < 60
    report = parsed("--yes")
    assert report["finished"]
    assert (report["counts"]["items"], report["counts"]["updated"]) == (60, 60)
    assert all("DeliveryDate" in item for item in orders_of(cloud).values())


def test_a_run_finishes_though_updates_meet_conflicts_and_throttling(
    cloud: LocalCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(cloud, *(old_order(number, f"user-{number}") for number in range(12)))
    errors = [
        refusal("TransactionConflictException", "UpdateItem"),
        refusal("ReplicatedWriteConflictException", "UpdateItem"),
        refusal("ThrottledException", "UpdateItem"),
        refusal("429", "UpdateItem", status=429),
    ]
    write = SourceUpdates.write

    def meet(updates: SourceUpdates, *arguments: Any, **named: Any) -> bool:
        def fail_first(_: object) -> None:
            if errors:
                raise errors.pop()

        updates._client = Interrupted(updates._client, fail_first)  # type: ignore[assignment]  # stands in
        return write(updates, *arguments, **named)

    monkeypatch.setattr(SourceUpdates, "write", meet)
    report = parsed("--yes")
    assert errors == []
    assert (report["status"], report["finished"], report["trouble"]) == (0, True, "")
    assert report["counts"] == {"items": 12, "updated": 12}
    assert all("DeliveryDate" in item for item in orders_of(cloud).values())


def test_beside_a_service_that_writes_all_the_time_nothing_is_lost_and_nothing_comes_back(
    cloud: LocalCloud,
) -> None:
    """The service already completes what it puts: that is deployed before a run."""
    numbers = range(120)
    put(cloud, *(old_order(number, f"user-{number}") for number in numbers))
    complete = Lazy(cloud.clients.dynamodb, [delivery_date])
    alive, over, random = set(numbers), Event(), Random(7)  # noqa: S311 - a service's whims
    rounds: list[int] = []

    def service() -> None:
        client = cloud.engine.dynamodb()
        while not over.is_set():
            number = random.choice(numbers)
            order = old_order(number, f"user-{number}")
            key: Any = as_read({name: order[name] for name in ("CustomerId", "SK")})
            if number in alive and random.random() < 0.5:
                client.delete_item(TableName=ORDERS, Key=key)
                alive.discard(number)
            else:
                item: Any = complete.on_write(as_read(order | {"Status": "PAID"}))
                client.put_item(TableName=ORDERS, Item=item)
                alive.add(number)
            rounds.append(number)

    thread = Thread(target=service)
    thread.start()
    try:
        report = parsed("--yes", "--segments", "4")
    finally:
        over.set()
        thread.join()
    assert rounds
    assert report["status"] == 0
    orders = orders_of(cloud)
    assert {int(item["OrderId"]["S"]) for item in orders.values()} == alive
    assert all("DeliveryDate" in item for item in orders.values())


# The estimated cost, and the real one.


def add_indexes(cloud: LocalCloud) -> None:
    """Give the source table indexes of its own: by day, one that carries it, one that does not."""
    names = [*("CustomerId", "SK"), "DeliveryDate", "Status", "OrderId"]
    definitions: Any = [{"AttributeName": name, "AttributeType": "S"} for name in names]
    for name, key, projection in (
        ("DeliveryDate-index", "DeliveryDate", {"ProjectionType": "ALL"}),
        ("ByStatus", "Status", {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["DeliveryDate"]}),
        ("ByNumber", "OrderId", {"ProjectionType": "KEYS_ONLY"}),
    ):
        create: Any = {
            "IndexName": name,
            "KeySchema": [{"AttributeName": key, "KeyType": "HASH"}],
            "Projection": projection,
        }
        cloud.clients.dynamodb.update_table(
            TableName=ORDERS,
            AttributeDefinitions=definitions,
            GlobalSecondaryIndexUpdates=[{"Create": create}],
        )
        while not all(map(is_active, indexes_of(cloud))):
            sleep(0.05)


def indexes_of(cloud: LocalCloud) -> list[Any]:
    table: Any = cloud.clients.dynamodb.describe_table(TableName=ORDERS)["Table"]
    return [*table["GlobalSecondaryIndexes"]]


def is_active(index: Any) -> bool:
    return bool(index["IndexStatus"] == "ACTIVE")


@pytest.mark.parametrize("engine", [EngineName.DYNAMODB_LOCAL], indirect=True)
def test_what_a_dry_run_says_it_costs_is_what_dynamodb_takes(cloud: LocalCloud) -> None:
    """On AWS's own engine alone: moto counts no capacity."""
    random = Random(3)  # noqa: S311 - sizes
    add_indexes(cloud)
    put(
        cloud,
        *(
            old_order(number, f"user-{number}", Note="x" * random.randint(0, 6000))
            for number in range(60)
        ),
    )
    cloud.settle()
    by_source = {route.source.name: route for route in routes(registry(), {}).values()}
    reader = TableScanner(cloud.clients.dynamodb)
    previewer = Previewer(delivery_date, by_source[ORDERS], registry(), reader)
    whole, part = previewer.preview(None), previewer.preview(30)

    let_it_be_heard(cloud)
    meter = Meter(cloud.clients.dynamodb)
    bulk = connect(registry(), cloud.settings, Limits())
    bulk_meter = Meter(bulk.progress.client, ORDERS)
    assert SegmentPool(bulk, f"migrate/{NAME}", Shutdown(), 0).work().counts["updated"] == 60
    cloud.settle()
    taken = {ORDERS: bulk_meter.read().total, VIEW_TABLE: meter.read().total}
    assert taken[ORDERS] > 60 * 3, "the indexes are among it"
    for preview in (whole, part):
        estimate = {
            ORDERS: preview.of_all(preview.source.total),
            VIEW_TABLE: preview.of_all(preview.view.total),
        }
        assert estimate == pytest.approx(taken, rel=0.1)
    assert whole.source.total == taken[ORDERS]
