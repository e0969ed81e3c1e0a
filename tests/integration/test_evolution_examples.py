"""Three changes of a data model that is in use, on real engines: no query fails."""

from collections.abc import Callable
from threading import Lock
from typing import Any

import pytest

from adminview.aws.deadline import Deadline
from adminview.aws.source_tables import SourceReader
from adminview.aws.source_updates import SourceUpdates
from adminview.aws.table_scanner import TableScanner
from adminview.bulk.lazy_migration import Lazy
from adminview.bulk.migrate import Migrate
from adminview.bulk.segment import Segment
from adminview.cli.output.tables import plain
from adminview.examples.shop import sample_data as shop
from adminview.examples.shop.sample_data import parameters
from adminview.local.local_cloud import LocalCloud
from adminview.local.source_writes import Delete, apply
from adminview.model import Registry
from adminview.model.errors import QueryError
from adminview.model.item import decode
from adminview.model.row import VIEW_TABLE
from examples.evolution.__main__ import (
    AFTER,
    BEFORE,
    BOTH,
    CUSTOMERS,
    NEW,
    OLD,
    customer,
    query,
)
from examples.evolution.favourites import TRIES, Favourites, MarkResult, transaction
from examples.evolution.moves import contract, expand, rebuild
from tests.support.migrated_orders import ORDERS, Interrupted, orders_of, put
from tests.support.migrations.delivery_date import delivery_date
from tests.support.model import registry
from tests.support.stream_records import image
from tests.support.views import sales as orders_file

# A delivery date for old orders, and an access pattern by that date.

BY_DAY = "orders-by-day"


def answers(cloud: LocalCloud) -> dict[str, Any]:
    """Query every old access pattern, and return the rows without the new attribute."""
    rows_by_pattern = {}
    for pattern in registry().patterns:
        if pattern.name != BY_DAY:
            rows = cloud.query(pattern.name, **parameters(pattern))
            data = [plain(decode(row["data"])) for row in rows]
            rows_by_pattern[pattern.name] = [
                (
                    row["PK"],
                    row["SK"],
                    {name: item[name] for name in item if name != "DeliveryDate"},
                )
                for row, item in zip(rows, data, strict=True)
            ]
    return rows_by_pattern


def by_day(cloud: LocalCloud) -> dict[str, str]:
    """Query the new access pattern for every possible day, and return the day of each order."""
    days = {"2025-03-04", "2025-03-21", "2025-03-22", "2025-03-25"}
    rows_by_day = {day: cloud.query(BY_DAY, delivery_date=day) for day in sorted(days)}
    return {row["SK"]["S"]: day for day, rows in rows_by_day.items() for row in rows}


def days_in_table(cloud: LocalCloud) -> dict[str, str]:
    return {
        f"ORDER#{sk}": item["DeliveryDate"]["S"]
        for sk, item in orders_of(cloud).items()
        if "DeliveryDate" in item
    }


def check_throughout(cloud: LocalCloud, before: dict[str, Any]) -> Callable[[Any], None]:
    """Query everything whenever an update is about to be written."""
    turn = Lock()

    def check(_: Any) -> None:
        with turn:
            cloud.settle()
            assert answers(cloud) == before
            assert by_day(cloud).items() <= days_in_table(cloud).items()

    return check


ALL_DAYS = {
    "ORDER#2025-02-11#2120044": "2025-03-04",
    "ORDER#2025-03-01#2121195": "2025-03-22",
    "ORDER#2025-03-02#2121207": "2025-03-21",  # as its customer chose
    "ORDER#2025-03-04#2121301": "2025-03-25",
}


@pytest.fixture
def first_day(cloud: LocalCloud) -> LocalCloud:
    """Let the shop's first day be over."""
    apply(cloud, shop.FIRST_DAY)
    return cloud


def test_old_orders_stay_readable_while_a_day_of_delivery_is_added_in_bulk(
    first_day: LocalCloud,
) -> None:
    cloud, before = first_day, answers(first_day)
    assert by_day(cloud) == {"ORDER#2025-03-02#2121207": "2025-03-21"}
    client: Any = Interrupted(cloud.clients.dynamodb, check_throughout(cloud, before))
    task = Migrate(
        delivery_date, ORDERS, TableScanner(client), SourceReader(client), SourceUpdates(client)
    )
    soon = Deadline.after(60)
    page = task.read(Segment("migrate/orders", 0, 1), None, 100, soon)
    assert task.plan(page, soon).execute(soon).counts["updated"] == 3
    cloud.settle()
    assert answers(cloud) == before
    assert by_day(cloud) == days_in_table(cloud) == ALL_DAYS
    assert cloud.letters() == []


def test_old_orders_stay_readable_while_their_service_adds_the_day_as_it_goes(
    first_day: LocalCloud,
) -> None:
    cloud, before = first_day, answers(first_day)
    client: Any = Interrupted(cloud.clients.dynamodb, check_throughout(cloud, before))
    complete = Lazy(client, [delivery_date])
    for item in cloud.clients.dynamodb.scan(TableName=ORDERS)["Items"]:
        assert complete.on_read(item) is not None
        check_throughout(cloud, before)(None)
    assert by_day(cloud) == days_in_table(cloud) == ALL_DAYS


def test_an_order_that_its_service_deletes_meanwhile_is_on_no_day(first_day: LocalCloud) -> None:
    cloud, key = first_day, {"CustomerId": shop.ADA, "SK": "2025-03-01#2121195"}
    client: Any = Interrupted(cloud.clients.dynamodb, lambda _: cloud.delete(ORDERS, key))
    read = cloud.clients.dynamodb.get_item(TableName=ORDERS, Key=image(key))["Item"]
    assert Lazy(client, [delivery_date]).on_read(read) is None
    cloud.settle()
    assert by_day(cloud) == {"ORDER#2025-03-02#2121207": "2025-03-21"}
    assert len(cloud.query("orders-of-user", user_id=shop.ADA)) == 1


# A new kind of item, created together with a mark on the order it comes from.

ORDER = "2025-03-01#2121195"


@pytest.fixture
def store(start: Callable[[Registry], LocalCloud]) -> LocalCloud:
    """Start with one order for milk and eggs."""
    cloud = start(Registry.of([orders_file]))
    put(cloud, ordered(shop.MILK, shop.EGGS))
    return cloud


def ordered(*products: str) -> dict[str, Any]:
    return shop.order(shop.ADA, "2025-03-01", "2121195", "PENDING", products).item


def seen(cloud: LocalCloud) -> tuple[list[str], list[str]]:
    """Say which favourites there are, and which products of the order are marked."""
    cloud.settle()
    favourites = cloud.query("favourites-of-user", user_id=shop.ADA)
    lines = [
        line
        for row in cloud.query("orders-of-user", user_id=shop.ADA)
        for line in plain(decode(row["data"]))["Items"]
    ]
    marked = [line["Id"] for line in lines if line.get("Favourite")]
    return [row["SK"]["S"].removeprefix("FAVOURITE#") for row in favourites], marked


def favourites_of(cloud: LocalCloud, client: Any = None) -> Favourites:
    return Favourites(client or cloud.clients.dynamodb, sleep=lambda _: None)


def test_a_favourite_and_the_mark_on_its_order_appear_together(store: LocalCloud) -> None:
    favourites = favourites_of(store)
    assert seen(store) == ([], [])
    assert favourites.mark(shop.ADA, ORDER, shop.EGGS) == MarkResult.MARKED
    assert seen(store) == ([shop.EGGS], [shop.EGGS])
    (row,) = store.query("favourites-of-user", user_id=shop.ADA)
    assert plain(decode(row["data"]))["ItemName"] == "Eggs"
    assert favourites.mark(shop.ADA, ORDER, shop.EGGS) == MarkResult.MARKED
    assert seen(store) == ([shop.EGGS], [shop.EGGS])


@pytest.mark.parametrize("now", [(shop.EGGS, shop.MILK), (shop.MILK,), (shop.MILK, shop.TEA), None])
def test_if_the_order_is_not_what_was_read_neither_is_written(
    store: LocalCloud, now: tuple[str, ...] | None
) -> None:
    client = store.clients.dynamodb
    writes = transaction(ORDERS, image(ordered(shop.MILK, shop.EGGS)), shop.EGGS)
    if now:
        put(store, ordered(*now))
    else:
        store.delete(ORDERS, {"CustomerId": shop.ADA, "SK": ORDER})
    with pytest.raises(client.exceptions.TransactionCanceledException) as refused:
        client.transact_write_items(TransactItems=writes)
    reasons: Any = refused.value.response["CancellationReasons"]
    assert [reason.get("Code") for reason in reasons] == ["None", "ConditionalCheckFailed"]
    assert seen(store) == ([], [])
    assert orders_of(store).keys() == ({ORDER} if now else set())


class Meddled:
    """A client before whose transactions somebody else changes the order."""

    def __init__(self, client: Any, meddle: Callable[[], object], times: int) -> None:
        self._client, self._meddle, self.times = client, meddle, times

    def transact_write_items(self, **request: Any) -> Any:
        if self.times:
            self.times -= 1
            self._meddle()
        return self._client.transact_write_items(**request)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)


def test_an_order_whose_lines_were_sorted_again_is_reread_and_the_right_line_is_marked(
    store: LocalCloud,
) -> None:
    again = Meddled(
        store.clients.dynamodb, lambda: put(store, ordered(shop.TEA, shop.EGGS, shop.MILK)), 1
    )
    put(store, ordered(shop.EGGS, shop.MILK))
    assert favourites_of(store, again).mark(shop.ADA, ORDER, shop.EGGS) == MarkResult.MARKED
    assert seen(store) == ([shop.EGGS], [shop.EGGS])


def test_a_product_that_was_taken_off_the_order_is_no_favourite(store: LocalCloud) -> None:
    gone = Meddled(store.clients.dynamodb, lambda: put(store, ordered(shop.MILK)), 1)
    assert favourites_of(store, gone).mark(shop.ADA, ORDER, shop.EGGS) == MarkResult.NOT_THERE
    assert favourites_of(store).mark(shop.ADA, "2025-03-01#1", shop.EGGS) == MarkResult.NOT_THERE
    assert seen(store) == ([], [])


def test_an_order_that_is_sorted_again_each_time_is_given_up_for_now(store: LocalCloud) -> None:
    ways = [ordered(shop.EGGS, shop.MILK), ordered(shop.MILK, shop.EGGS)]

    def swap() -> None:
        put(store, ways[0])
        ways.reverse()

    restless = Meddled(store.clients.dynamodb, swap, TRIES)
    assert favourites_of(store, restless).mark(shop.ADA, ORDER, shop.EGGS) == MarkResult.BUSY
    assert seen(store) == ([], [])


# From a synthetic key to a multi-attribute one beside it.


def customers_in(cloud: LocalCloud, pattern: str) -> list[str]:
    return [row["PK"]["S"].removeprefix("CUSTOMER#") for row in query(cloud, pattern)]


def indexes(cloud: LocalCloud) -> set[str]:
    table: Any = cloud.clients.dynamodb.describe_table(TableName=VIEW_TABLE)["Table"]
    return {index["IndexName"] for index in table["GlobalSecondaryIndexes"]}


def test_both_access_patterns_have_the_same_rows_until_the_old_one_is_removed(
    start: Callable[[Registry], LocalCloud],
) -> None:
    cloud = start(BEFORE)
    apply(cloud, CUSTOMERS)
    assert customers_in(cloud, OLD) == ["grace", "ada"]
    assert indexes(cloud) == {"GSI1", "Owner"}

    assert expand(cloud, BOTH)["rows"] == len(CUSTOMERS)
    assert customers_in(cloud, OLD) == customers_in(cloud, NEW) == ["grace", "ada"]
    apply(cloud, [customer("alan", 1_700_000_400), customer("grace", 1_700_000_500)])
    assert customers_in(cloud, OLD) == customers_in(cloud, NEW) == ["ada", "alan", "grace"]
    apply(cloud, [customer("ada", 1_700_000_300, segment="startup")])
    assert customers_in(cloud, OLD) == customers_in(cloud, NEW) == ["alan", "grace"]
    assert rebuild(cloud)["rows"] == 0, "there was nothing left to do"

    contract(cloud, AFTER)
    assert customers_in(cloud, NEW) == ["alan", "grace"]
    assert indexes(cloud) == {"CustomerByOrgTeamSegment", "Owner"}
    assert not any(name.startswith("GSI1") for row in cloud.rows() for name in row)
    with pytest.raises(QueryError, match="no access pattern is named 'active-customers'"):
        query(cloud, OLD)
    apply(cloud, [Delete("Customers", {"customerId": "alan"})])
    assert customers_in(cloud, NEW) == ["grace"]


def test_the_old_access_pattern_returns_rows_at_every_step(
    start: Callable[[Registry], LocalCloud],
) -> None:
    """New code runs before the rows are rebuilt: what it does not touch must stay."""
    cloud = start(BEFORE)
    apply(cloud, CUSTOMERS)
    cloud.deploy(BOTH)
    assert customers_in(cloud, OLD) == ["grace", "ada"]
    apply(cloud, [customer("ada", 1_700_000_050)])
    assert customers_in(cloud, OLD) == ["ada", "grace"]


def test_a_number_is_compared_as_one_where_a_synthetic_key_is_not(
    start: Callable[[Registry], LocalCloud],
) -> None:
    """Why one moves at all: a time with fewer digits."""
    cloud = start(BOTH)
    apply(cloud, [*CUSTOMERS, customer("charles", 180_000_000)])
    assert customers_in(cloud, OLD) == ["grace", "ada", "charles"]  # as text it lies between
    assert customers_in(cloud, NEW) == ["grace", "ada"]
