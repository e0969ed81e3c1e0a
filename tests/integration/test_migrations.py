"""Migrations on real engines: what they set, their conditions, and concurrent writers."""

from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import boto3
import pytest

from adminview.aws.deadline import Deadline
from adminview.aws.item_forms import RESOURCE
from adminview.aws.source_tables import SourceReader
from adminview.aws.source_updates import SourceUpdates
from adminview.aws.table_scanner import TableScanner
from adminview.bulk.lazy_migration import Lazy
from adminview.bulk.migrate import Migrate
from adminview.bulk.segment import Segment
from adminview.examples.shop import sample_data as shop
from adminview.local.local_cloud import LocalCloud
from adminview.model import Item, Migration, Registry, migration
from adminview.sync.derive import complete
from tests.support.migrated_orders import ORDERS, Interrupted, as_read, old_order, orders_of, put
from tests.support.migrations.delivery_date import delivery_date
from tests.support.stream_records import image
from tests.support.views import sales as orders_file
from tests.support.views.sales import orders

KINDS: dict[str, Any] = {
    "text": "臺北",
    "empty text": "",
    "number": Decimal("1234567890123456789012345678901234567.8"),
    "small number": Decimal("1E-20"),
    "bool": False,
    "none": None,
    "bytes": b"\x00\xff",
    "list": [1, [b"\x01"], {"a": None}],
    "empty list": [],
    "map": {"a": {"b": {Decimal("1.0"), 2}}},
    "empty map": {},
    "texts": {"b", "a", "c"},
    "numbers": {Decimal(10), Decimal(9), Decimal("2.50")},
    "blobs": {b"\x02", b"\x01"},
}
KEY = {"CustomerId": "user-1", "SK": "2025-02-01#1"}


def colour(**more: Any) -> Migration:
    """Declare a migration that looks at one attribute of each type, and at one that is absent."""

    @migration(orders, name="orders-colour", sets="Colour", **more)
    def declared(item: Item) -> dict[str, object]:
        """Give every order a colour."""
        return {"Colour": len(item.pick(*KINDS, "absent"))}

    return declared


@pytest.fixture
def cloud(start: Callable[[Registry], LocalCloud]) -> LocalCloud:
    """Start with the orders alone."""
    return start(Registry.of([orders_file]))


def soon() -> Deadline:
    return Deadline.after(60)


def read(cloud: LocalCloud) -> Any:
    return SourceReader(cloud.clients.dynamodb).read(ORDERS, image(KEY), deadline=soon())


def test_an_item_that_is_what_it_was_is_updated_whatever_types_it_has(cloud: LocalCloud) -> None:
    put(cloud, KEY | KINDS)
    item = read(cloud)
    update = complete(colour(), item)
    assert update is not None
    assert update.looked_at.keys() == {*KINDS, "absent"}
    updates = SourceUpdates(cloud.clients.dynamodb)
    assert updates.write(ORDERS, update, deadline=soon())
    assert read(cloud) == update.applied(item)
    assert not updates.write(ORDERS, update, deadline=soon()), "it has a colour now"


CHANGES: dict[str, Any] = {
    "text": "Taipei",
    "empty text": "x",
    "number": Decimal("1234567890123456789012345678901234567.9"),
    "small number": Decimal(0),
    "bool": True,
    "none": "",
    "bytes": b"\x00\xfe",
    "list": [1, [b"\x02"], {"a": None}],
    "empty list": [None],
    "map": {"a": {"b": {1}}},
    "empty map": {"a": 1},
    "texts": {"a", "b"},
    "numbers": {Decimal(10), Decimal(9), Decimal("2.51")},
    "blobs": {b"\x02"},
    "absent": 1,
    "Colour": 0,
}


def test_an_item_that_changed_where_the_migration_looked_is_not_updated(cloud: LocalCloud) -> None:
    updates = SourceUpdates(cloud.clients.dynamodb)
    for name, value in CHANGES.items():
        put(cloud, KEY | KINDS)
        update = complete(colour(), read(cloud))
        assert update is not None
        put(cloud, KEY | KINDS | {name: value})
        changed = read(cloud)
        assert not updates.write(ORDERS, update, deadline=soon()), name
        assert read(cloud) == changed


def test_an_item_from_which_something_it_looked_at_was_removed_is_not_updated(
    cloud: LocalCloud,
) -> None:
    put(cloud, KEY | KINDS)
    update = complete(colour(), read(cloud))
    assert update is not None
    put(cloud, KEY | {name: value for name, value in KINDS.items() if name != "bool"})
    assert not SourceUpdates(cloud.clients.dynamodb).write(ORDERS, update, deadline=soon())


def test_what_others_change_where_it_did_not_look_is_kept(cloud: LocalCloud) -> None:
    put(cloud, old_order(1))
    update = complete(delivery_date, image(old_order(1)))
    assert update is not None
    put(cloud, old_order(1, Status="PAID", Note="ring twice"))
    assert SourceUpdates(cloud.clients.dynamodb).write(ORDERS, update, deadline=soon())
    (now,) = orders_of(cloud).values()
    assert now["Note"] == {"S": "ring twice"}
    assert now["DeliveryDate"] == {"S": "2025-02-23"}


def test_a_deleted_item_does_not_come_back(cloud: LocalCloud) -> None:
    update = complete(delivery_date, image(old_order(1)))
    assert update is not None
    assert not SourceUpdates(cloud.clients.dynamodb).write(ORDERS, update, deadline=soon())
    assert orders_of(cloud) == {}


# A service that migrates as it goes.


@pytest.fixture
def service(cloud: LocalCloud) -> Interrupted:
    """Be the client of a service, whose updates others may come before."""
    return Interrupted(cloud.clients.dynamodb)


def lazy(service: Interrupted, **more: Any) -> Lazy:
    client: Any = service
    return Lazy(client, [delivery_date], **more)


def test_an_old_order_is_complete_when_it_is_read_and_stays_so(
    cloud: LocalCloud, service: Interrupted
) -> None:
    put(cloud, old_order(1))
    item = lazy(service).on_read(as_read(old_order(1)))
    assert item is not None
    assert item["DeliveryDate"] == {"S": "2025-02-23"}
    assert [*orders_of(cloud).values()] == [item]
    assert lazy(service).on_read(item) == item
    assert service.calls == {"update_item": 1}, "one that is complete costs nothing"


def test_who_loses_a_race_is_given_what_the_other_wrote(
    cloud: LocalCloud, service: Interrupted
) -> None:
    put(cloud, old_order(1))
    service.before_update = lambda _: put(cloud, old_order(1, DeliveryDate="2025-12-24"))
    item = lazy(service).on_read(as_read(old_order(1)))
    assert item is not None
    assert item["DeliveryDate"] == {"S": "2025-12-24"}
    assert [*orders_of(cloud).values()] == [item]


def test_an_order_that_was_deleted_meanwhile_is_given_as_gone(
    cloud: LocalCloud, service: Interrupted
) -> None:
    put(cloud, old_order(1))
    key = {"CustomerId": shop.ADA, "SK": "2025-02-02#0000001"}
    service.before_update = lambda _: cloud.delete(ORDERS, key)
    assert lazy(service).on_read(as_read(old_order(1))) is None
    assert orders_of(cloud) == {}


def test_an_order_whose_date_was_corrected_meanwhile_gets_the_right_day(
    cloud: LocalCloud, service: Interrupted
) -> None:
    put(cloud, old_order(1))
    corrected = old_order(1) | {"OrderDate": "2025-03-01"}
    service.before_update = lambda _: put(cloud, corrected)
    item = lazy(service).on_read(as_read(old_order(1)))
    assert item is not None
    assert item["DeliveryDate"] == {"S": "2025-03-22"}
    # As often as it tries, somebody was there before: it gives what it knows, and leaves it.
    days = iter(["2025-03-02", "2025-03-03", "2025-03-04", "2025-03-05"])
    service.before_update = lambda _: put(cloud, corrected | {"OrderDate": next(days)})
    item = lazy(service).on_read(as_read(old_order(1)))
    assert item is not None
    assert item["OrderDate"] == {"S": "2025-03-04"}
    assert item["DeliveryDate"] == {"S": "2025-03-25"}
    assert "DeliveryDate" not in next(iter(orders_of(cloud).values()))


def test_an_order_that_the_migration_fails_on_is_given_as_it_is(
    cloud: LocalCloud, service: Interrupted
) -> None:
    errors: list[str] = []
    item = old_order(1) | {"OrderDate": "someday"}
    put(cloud, item)
    complete_ = lazy(service, report_error=errors.append)
    assert complete_.on_read(as_read(item)) == as_read(item)
    assert complete_.on_write(as_read(item)) == as_read(item)
    assert service.calls == {}
    (reason, _) = errors
    assert "the migration raised ValueError; migration 'orders-delivery-date' at" in reason
    assert "someday" not in reason


def test_a_service_that_cannot_write_now_reads_all_the_same(
    cloud: LocalCloud, service: Interrupted
) -> None:
    errors: list[str] = []
    nowhere = lazy(service, table="Nowhere", report_error=errors.append)
    item = nowhere.on_read(as_read(old_order(1)))
    assert item is not None
    assert item["DeliveryDate"] == {"S": "2025-02-23"}
    assert errors == ["update an item of Nowhere: AWS answered ResourceNotFoundException"]
    assert orders_of(cloud) == {}


@pytest.mark.usefixtures("plain_boto3")
def test_a_service_that_uses_the_resource_has_plain_items(cloud: LocalCloud) -> None:
    table = boto3.resource("dynamodb").Table(ORDERS)
    complete_ = Lazy(cloud.clients.dynamodb, [delivery_date], form=RESOURCE)
    old = old_order(1, Photo=b"\x00", Tags={"a"}, Weight=Decimal("1.5"))
    table.put_item(Item=old)
    item = complete_.on_read(table.get_item(Key={n: old[n] for n in ("CustomerId", "SK")})["Item"])
    assert item is not None
    assert item == old | {"DeliveryDate": "2025-02-23"}
    table.put_item(Item=complete_.on_write(old_order(2)))
    assert orders_of(cloud)["2025-02-03#0000002"]["DeliveryDate"] == {"S": "2025-02-24"}


def test_several_migrations_of_a_table_see_what_those_before_them_set(
    cloud: LocalCloud, service: Interrupted
) -> None:
    @migration(orders, name="orders-delivery-month", sets="DeliveryMonth")
    def month(item: Item) -> dict[str, str]:
        """Say in which month an order is delivered."""
        return {"DeliveryMonth": item["DeliveryDate"][:7]}

    put(cloud, old_order(1))
    client: Any = service
    order = Lazy(client, [delivery_date, month]).on_read(as_read(old_order(1)))
    assert order is not None
    assert order["DeliveryMonth"] == {"S": "2025-02"}
    assert [*orders_of(cloud).values()] == [order]


# In bulk, a page at a time.


def bulk(client: Any, of: Migration = delivery_date, **more: Any) -> Migrate:
    reader = TableScanner(client)
    return Migrate(of, ORDERS, reader, SourceReader(client), SourceUpdates(client), **more)


def pages(task: Migrate, limit: int = 4) -> Counter[str]:
    """Go through the table."""
    counts: Counter[str] = Counter()
    start = None
    while True:
        page = task.read(Segment("migrate/orders", 0, 1), start, limit, soon())
        job = task.plan(page, soon())
        assert job.intent == []
        counts += job.execute(soon()).counts
        start = page.last
        if start is None:
            return counts


def test_a_run_completes_every_old_order_and_a_second_one_changes_nothing(
    cloud: LocalCloud, service: Interrupted
) -> None:
    put(cloud, *(old_order(number) for number in range(10)))
    put(cloud, old_order(10, DeliveryDate="2025-12-24"), shop.favourite(shop.ADA, shop.TEA).item)
    assert pages(bulk(service)) == {"updated": 10, "right": 2}
    done = orders_of(cloud)
    assert done["2025-02-11#0000010"]["DeliveryDate"] == {"S": "2025-12-24"}
    assert "DeliveryDate" not in done[f"FAVOURITE#{shop.TEA}"]
    assert pages(bulk(service)) == {"right": 12}
    assert orders_of(cloud) == done
    assert service.calls["update_item"] == 10


def test_what_others_do_to_an_item_while_a_page_is_done_is_what_counts(
    cloud: LocalCloud, service: Interrupted
) -> None:
    put(cloud, *(old_order(number) for number in range(4)))
    keys = [{"CustomerId": shop.ADA, "SK": old_order(number)["SK"]} for number in range(4)]
    meanwhile = {
        keys[0]["SK"]: lambda: cloud.delete(ORDERS, keys[0]),
        keys[1]["SK"]: lambda: put(cloud, old_order(1, DeliveryDate="2025-12-24")),
        keys[2]["SK"]: lambda: put(cloud, old_order(2) | {"OrderDate": "2025-03-01"}),
    }

    def others(request: Any) -> None:
        meanwhile.pop(request["Key"]["SK"]["S"], lambda: None)()

    service.before_update = others
    assert pages(bulk(service)) == {"gone": 1, "right": 1, "updated": 2}
    days = {sk: item.get("DeliveryDate", {}).get("S") for sk, item in orders_of(cloud).items()}
    assert days == {
        keys[1]["SK"]: "2025-12-24",
        keys[2]["SK"]: "2025-03-22",
        keys[3]["SK"]: "2025-02-25",
    }


@pytest.mark.slow
def test_an_item_that_never_stands_still_is_counted_and_left_to_the_next_run(
    cloud: LocalCloud, service: Interrupted
) -> None:
    put(cloud, old_order(1))
    days = iter([f"2025-03-{day:02}" for day in range(1, 32)])
    service.before_update = lambda _: put(cloud, old_order(1) | {"OrderDate": next(days)})
    assert pages(bulk(service)) == {"moved": 1}
    service.before_update = lambda _: None
    assert pages(bulk(service)) == {"updated": 1}


def test_an_item_that_fails_is_counted_and_reported_and_harms_no_other(
    cloud: LocalCloud, service: Interrupted
) -> None:
    errors: list[Any] = []
    put(cloud, old_order(1), old_order(2) | {"OrderDate": "someday"}, old_order(3))
    task = bulk(service, report_error=lambda *failed: errors.append(failed))
    assert pages(task) == {"updated": 2, "failed": 1}
    ((key, error),) = errors
    assert key == image({"CustomerId": shop.ADA, "SK": "2025-02-03#0000002"})
    assert str(error) == "the migration raised ValueError"
