"""The model changes in place, while it is queried: a new view; new, moved and dropped indexes."""

from contextlib import suppress
from typing import Any

from botocore.exceptions import ClientError

from tests.support.e2e.api_client import BEING_BUILT, OK, UNKNOWN, Api, Panel
from tests.support.e2e.cloud import ROOT, Checkout, at_once

ORDERS, PRODUCTS = "lambdas/views/orders.py", "lambdas/views/products.py"
SHIPMENT = {"shipmentId": "shipment-1", "orderId": "2121195", "carrier": "DHL", "weight": 50}
HEAVY = "heavy-shipments?carrier=DHL&least=10"
# The queries, a text in each response, and the other statuses that are allowed.
QUERIES: dict[str, tuple[str, frozenset[int]]] = {
    "buyers-of-product?product_id=product-def-789": ("2121195", frozenset()),
    "orders-by-status?status=PENDING": ("2121195", frozenset()),
    "user-profile?user_id=user-123": ("ada@shop.example", frozenset()),
    "featured-products": ("Eggs", frozenset({UNKNOWN})),
    HEAVY: ("shipment-1", frozenset({UNKNOWN, BEING_BUILT})),
}


def identities(checkout: Checkout) -> dict[str, tuple[Any, ...]]:
    """Tell tables from others of the same name."""
    dynamodb, tables = checkout.client("dynamodb"), {}
    for name in dynamodb.list_tables()["TableNames"]:
        table = dynamodb.describe_table(TableName=name)["Table"]
        tables[name] = (table["TableId"], table["CreationDateTime"], table.get("LatestStreamArn"))
    return tables


def change_the_model(checkout: Checkout) -> None:
    """Add the README's view; an index carries more under a new name, and another is dropped."""
    readme = (ROOT / "README.md").read_text()
    view = readme.partition("<!-- view -->\n```python\n")[2].partition("```")[0]
    (checkout.folder / "lambdas/views/shipments.py").write_text(view)
    by_product = 'Index("GSI2", partition="GSI2_PK", sort="GSI2_SK", include=["data"])'
    buyers = by_product.replace("GSI2", "Buyers", 1).replace('["data"]', '["data", "_at"]')
    checkout.edit(ORDERS, (by_product, buyers))
    text = (checkout.folder / PRODUCTS).read_text()
    pattern = text[text.index("featured_products = ") : text.index("@view(products)")]
    index = next(line for line in text.splitlines() if line.startswith("featured = Index("))
    used = next(line for line in text.splitlines() if "indexes=[featured(" in line)
    checkout.edit(PRODUCTS, (pattern, "\n\n"), (f"{index}\n", ""), (f"{used}\n", ""))


def test_apply_changes_the_model_in_place_while_it_is_queried(checkout: Checkout) -> None:
    before = identities(checkout)
    change_the_model(checkout)

    def ship() -> None:
        """Ship something as soon as the table is there, long before its stream is followed."""
        with suppress(ClientError):
            checkout.put("Shipments", SHIPMENT)

    with Panel(Api(checkout), QUERIES, between=ship).querying() as panel:
        printed = checkout.adminview("apply", "--yes", "--wait", "0", "--segments", "1")
    assert panel.wrong == []
    heavy, featured = panel.seen["heavy-shipments"], panel.seen["featured-products"]
    assert (heavy[0], heavy[-1], {*heavy}) == (UNKNOWN, OK, {UNKNOWN, BEING_BUILT, OK})
    assert (featured[0], featured[-1]) == (OK, UNKNOWN)
    assert "drop index GSI2" in printed
    assert checkout.indexes() >= {"Buyers", "ByCarrier"}
    assert not {"GSI2", "Featured"} & checkout.indexes()

    after = identities(checkout)
    assert after.keys() - before.keys() == {"Shipments"}
    assert {name: after[name] for name in before} == before


def test_a_new_view_is_synced_queried_and_verified(checkout: Checkout) -> None:
    checkout.put("Shipments", SHIPMENT | {"shipmentId": "shipment-2", "weight": 70})
    checkout.deadline(lambda: checkout.row("SHIPMENT#shipment-2", "DETAILS"), "the sync follows it")
    heavy = ("--carrier", "DHL", "--least", "60")
    product = ("--product-id", "product-def-789")
    shipped, bought, verified, planned = at_once(
        lambda: checkout.adminview("query", "heavy-shipments", *heavy),
        lambda: checkout.adminview("query", "buyers-of-product", *product),
        lambda: checkout.adminview("verify", "--grace", "1"),
        lambda: checkout.adminview("plan"),
    )
    assert ("shipment-1" in shipped, "shipment-2" in shipped) == (False, True)
    assert "2121195" in bought
    assert "the view is equal to the sources" in verified
    assert planned.startswith("nothing to do: ")


def test_a_row_that_an_access_pattern_shows_keeps_its_key(checkout: Checkout) -> None:
    # Old and new ones would stand side by side.
    before, after = 'key("ORDER", raw=item["SK"])', 'key("ORDER", "OF", raw=item["SK"])'
    checkout.edit(ORDERS, (before, after))
    try:
        refused, agreed = at_once(
            lambda: checkout.refused("plan"),
            lambda: checkout.adminview("plan", "--stale-until-swept"),
        )
    finally:
        checkout.edit(ORDERS, (after, before))  # other tests deploy this checkout
    assert "access pattern 'orders-of-user' shows rows of Orders" in refused
    assert "The plan" in agreed
