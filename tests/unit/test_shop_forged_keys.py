"""No id, whatever its characters, gives an item another item's row in the shop.

Ids are made of few characters, most of them reserved in keys, so that a key that is merely glued
together soon meets another.
"""

from collections.abc import Iterable
from itertools import product
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from adminview.aws.view_reader import Boto3Reader, ViewReader
from adminview.model import key
from adminview.model.row import RowKey
from adminview.query.engine import QueryEngine
from adminview.sync.derive import derive
from tests.support.fakes import NO_WAIT
from tests.support.model import FAVOURITE, PAYMENT, order
from tests.support.query_table import FakeTable
from tests.support.shop import registry
from tests.support.stream_records import image

Items = dict[str, list[dict[str, Any]]]  # by source

ids = st.text("a#%23\\é☃", min_size=1, max_size=4)
few_ids = st.lists(ids, min_size=1, max_size=2, unique=True)
line = st.fixed_dictionaries({"Id": ids, "Name": st.just("Eggs"), "Price": st.just(3)})
users = st.builds(
    lambda user, addresses: {
        "userId": user,
        "addresses": [{"id": address} for address in addresses],
    },
    ids,
    few_ids,
)
products = st.builds(
    lambda product_id, featured: {"productId": product_id, "featured": featured},
    ids,
    st.booleans(),
)
orders = st.builds(
    lambda customer, number, order_id, lines, paid: order(
        CustomerId=customer, SK=f"2{number}", OrderId=order_id, Items=lines, TransactionId=paid
    ),
    ids,
    ids,
    ids,
    st.lists(line, max_size=2),
    ids,
)
favourites = st.builds(
    lambda customer, item_id: FAVOURITE | {"CustomerId": customer, "SK": f"FAVOURITE#{item_id}"},
    ids,
    ids,
)
payments = st.builds(
    lambda transaction, order_id: PAYMENT | {"transactionId": transaction, "orderId": order_id},
    ids,
    ids,
)
shops = st.fixed_dictionaries(
    {
        "Users": st.lists(users, max_size=3),
        "Products": st.lists(products, max_size=3),
        "Orders": st.lists(orders | favourites, max_size=4),
        "Payments": st.lists(payments, max_size=3),
    }
)


def derived(items: Iterable[tuple[str, dict[str, Any]]]) -> dict[RowKey, tuple[str, Any]]:
    """Derive the rows of items, each with its owner; no row may have two."""
    model = registry()
    rows: dict[RowKey, tuple[str, Any]] = {}
    for name, item in items:
        source = model.source(name)
        owner = source.owner(image(item))
        for row_key, row in derive(model.views_of(source), image(item), room=None).rows.items():
            first, _ = rows.setdefault(row_key, (owner, row))
            assert first == owner, f"{owner} and {first} both make {row_key}"
    return rows


def each_once(shop: Items) -> list[tuple[str, dict[str, Any]]]:
    """List the items of a shop; a table holds one item of a key."""
    model = registry()
    return list(
        {
            model.source(name).owner(image(item)): (name, item)
            for name, items in shop.items()
            for item in items
        }.values()
    )


def bought(product_id: str, customer: str, number: str) -> dict[str, Any]:
    line = {"Id": product_id, "Name": "Eggs", "Price": 3}
    return order(CustomerId=customer, SK=number, OrderId="1", Items=[line])


def test_a_customer_whose_id_has_a_separator_makes_no_row_of_another_customer() -> None:
    """Deleting the forged order must leave the victim's purchase alone."""
    victim = bought("eggs", "ada", "2025-03-01#1")
    forged = bought("eggs#ada", "2025-03-01#1", "2025-03-01#1")
    longer = bought("eggs", "ada#2025-03-01", "1")
    rows = derived([("Orders", victim), ("Orders", forged), ("Orders", longer)])
    assert len(rows) == 6


def test_no_two_orders_of_short_hostile_ids_share_a_row() -> None:
    texts = ["".join(letters) for length in (1, 2, 3) for letters in product("a#%", repeat=length)]
    numbers = ["1", "1#a", "1##", "1#1", "1%23", "1a#1"]
    items = [bought(*parts) for parts in product(texts, texts, numbers)]
    rows = derived(("Orders", item) for item in items)
    assert sum(pk.startswith("ORDER#") for pk, _ in rows) == len(items)


@given(shops)
def test_no_two_items_of_hostile_ids_share_a_row(shop: Items) -> None:
    derived(each_once(shop))


def owners(rows: Iterable[Any], by_key: dict[RowKey, tuple[str, Any]]) -> set[str]:
    return {by_key[row["PK"]["S"], row["SK"]["S"]][0] for row in rows}


@given(shops, ids)
def test_a_query_for_a_hostile_id_finds_the_rows_of_that_id_and_no_others(
    shop: Items, other: str
) -> None:
    items = each_once(shop)
    rows = derived(items)
    table = FakeTable(registry(), {row_key: row for row_key, (_, row) in rows.items()})
    query_engine = QueryEngine(
        registry(), ViewReader(Boto3Reader(cast("Any", table)), "Table", NO_WAIT)
    )

    def expect(pattern: str, parameter: str, source: str, values: Any) -> None:
        """Query each id; find the owners whose item says that it is one of theirs."""
        named = {registry().source(name).owner(image(item)): (name, item) for name, item in items}
        wanted = {owner: values(item) for owner, (name, item) in named.items() if name == source}
        for id_ in {other, *(value for own_ids in wanted.values() for value in own_ids)}:
            answer = query_engine.page(pattern, **{parameter: id_})
            assert owners((result.row for result in answer.rows), rows) == {
                owner for owner, own_ids in wanted.items() if id_ in own_ids
            }

    def is_order(item: dict[str, Any]) -> bool:
        return not item["SK"].startswith("FAVOURITE#")

    def when_order(item: dict[str, Any], *own_ids: str) -> set[str]:
        return set(own_ids) if is_order(item) else set()

    expect("user-profile", "user_id", "Users", lambda item: {item["userId"]})
    expect("addresses-of-user", "user_id", "Users", lambda item: {item["userId"]})
    expect("product-details", "product_id", "Products", lambda item: {item["productId"]})
    expect("payments-of-order", "order_id", "Payments", lambda item: {item["orderId"]})
    expect("orders-of-user", "user_id", "Orders", lambda item: when_order(item, item["CustomerId"]))
    expect(
        "orders-of-customer",
        "customer_id",
        "Orders",
        lambda item: when_order(item, item["CustomerId"]),
    )
    expect(
        "favourites-of-user",
        "user_id",
        "Orders",
        lambda item: set() if is_order(item) else {item["CustomerId"]},
    )
    expect(
        "order-by-payment",
        "transaction_id",
        "Orders",
        lambda item: {item["TransactionId"]} if is_order(item) else set(),
    )
    expect(
        "products-of-order",
        "order_id",
        "Orders",
        lambda item: {item["OrderId"]} if is_order(item) and item["Items"] else set(),
    )
    expect(
        "buyers-of-product",
        "product_id",
        "Orders",
        lambda item: {line["Id"] for line in item["Items"]} if is_order(item) else set(),
    )


@given(ids, ids, ids)
def test_the_buyer_of_a_product_is_joined_with_the_buyers_own_profile(
    buyer: str, other: str, product_id: str
) -> None:
    shop = {
        "Users": [{"userId": buyer}, {"userId": other}],
        "Orders": [bought(product_id, buyer, "2025-03-01#1")],
    }
    rows = derived(each_once(shop))
    table = FakeTable(registry(), {row_key: row for row_key, (_, row) in rows.items()})
    query_engine = QueryEngine(
        registry(), ViewReader(Boto3Reader(cast("Any", table)), "Table", NO_WAIT)
    )
    (result,) = query_engine.page("buyers-of-product", product_id=product_id).rows
    profile = result.joined["profile"]
    assert profile
    assert profile["PK"] == {"S": key("USER", buyer)}


@given(st.lists(st.tuples(ids, ids), min_size=2, max_size=2, unique=True))
def test_different_items_have_different_owners(keys: list[tuple[str, str]]) -> None:
    source = registry().source("Orders")
    images = [image({"CustomerId": customer, "SK": number}) for customer, number in keys]
    assert len({source.owner(item) for item in images}) == len(images)
    assert [source.key_from(source.owner(item)) for item in images] == images
