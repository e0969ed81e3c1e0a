"""`adminview apply` with the real CDK command, on a cloud whose functions really run."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from cli.serve import event
from tests.e2e.cloud import PLACE, Checkout, local_cloud
from tests.shop import PRODUCT, USER, order

ORDERS, PRODUCTS = "lambdas/views/orders.py", "lambdas/views/products.py"


@pytest.fixture
def checkout(tmp_path: Path) -> Iterator[Checkout]:
    """Start an empty cloud, and prepare it for CDK."""
    with local_cloud(tmp_path) as started:
        started.cdk("bootstrap", PLACE)
        yield started


UNKNOWN, BEING_BUILT, RIGHT = 404, 503, 200
# What the deployed API is asked all the time, what must be in its answer, and what else it may say.
QUESTIONS: dict[str, tuple[str, str, set[int]]] = {
    "buyers-of-product": ("product_id=product-def-789", "2121195", set()),
    "orders-by-status": ("status=PENDING", "2121195", set()),
    "user-profile": ("user_id=user-123", "ada@shop.example", set()),
    "featured-products": ("", "Eggs", {UNKNOWN}),
    "orders-of-day": ("day=2025-03-01", "2121195", {UNKNOWN, BEING_BUILT}),
}


@dataclass
class Panel:
    """An admin panel that asks the deployed API while the model changes below it."""

    checkout: Checkout
    seen: dict[str, list[int]] = field(default_factory=lambda: {name: [] for name in QUESTIONS})
    wrong: list[str] = field(default_factory=list)

    @contextmanager
    def asking(self) -> Iterator["Panel"]:
        """Ask until left."""
        stop = Event()
        thread = Thread(target=self._ask_until, args=(stop,))
        thread.start()
        try:
            yield self
        finally:
            stop.set()
            thread.join()

    def _ask_until(self, stop: Event) -> None:
        while not stop.wait(0.1):
            self.ask_again()

    def ask_again(self) -> None:
        """Ask everything once, and keep what was answered."""
        for name, (parameters, expected, else_) in QUESTIONS.items():
            status, body = self._ask(f"/patterns/{name}?{parameters}")
            self.seen[name].append(status)
            if status not in else_ and (status != RIGHT or expected not in body):
                self.wrong.append(f"{name}: {status} {body}")

    def _ask(self, path: str) -> tuple[int, str]:
        functions = self.checkout.client("lambda")
        asked = {"FunctionName": self._function, "Payload": json.dumps(event("GET", path, {}))}
        answer = json.loads(functions.invoke(**asked)["Payload"].read())
        return answer.get("statusCode", 0), answer.get("body", str(answer))

    @cached_property
    def _function(self) -> str:
        found = self.checkout.client("lambda").list_functions()["Functions"]
        return next(str(one["FunctionName"]) for one in found if "-Api-" in one["FunctionName"])


def _use_the_state_machines(checkout: Checkout, row: dict[str, Any]) -> None:
    """Backfill, sweep and migrate on the cloud itself; and be refused while nobody follows."""
    view = {"TableName": "AdminViewTable", "Key": row}
    dynamodb = checkout.client("dynamodb")
    dynamodb.delete_item(**view)
    filled = json.loads(
        checkout.adminview("backfill", "--source", "Orders", "--deployed", "--json")
    )
    assert "Item" in dynamodb.get_item(**view)
    assert (filled[0]["finished"], filled[0]["counts"]["rows"]) == (True, 1)
    again = json.loads(checkout.adminview("backfill", "--source", "Orders", "--deployed", "--json"))
    assert "rows" not in again[0]["counts"]
    assert json.loads(checkout.adminview("sweep", "--deployed", "--json"))[0]["finished"]
    migrate = ("migrate", "orders-delivery-date", "--deployed", "--yes", "--json")
    assert json.loads(checkout.adminview(*migrate))["counts"]["updated"] == 1
    _let_nobody_follow(checkout, "Orders")


def _let_nobody_follow(checkout: Checkout, source: str) -> None:
    stack = checkout.client("cloudformation").describe_stacks(StackName="AdminView-dev-Sync")
    outputs = {one["OutputKey"]: one["OutputValue"] for one in stack["Stacks"][0]["Outputs"]}
    uuid = json.loads(outputs["Mappings"])[source]
    functions = checkout.client("lambda")
    functions.update_event_source_mapping(UUID=uuid, Enabled=False)
    for where in ((), ("--deployed",)):
        command = ("backfill", "--source", source, "--stage", "dev", *where)
        refused = checkout.run(sys.executable, "-m", "cli.main", *command)
        assert refused.returncode != 0
        assert f"the stream of '{source}' is not followed" in refused.stdout + refused.stderr
    functions.update_event_source_mapping(UUID=uuid, Enabled=True)


def test_a_model_is_deployed_and_changed_by_apply_alone(checkout: Checkout) -> None:
    checkout.adminview("apply", "--yes", "--wait", "0")
    assert checkout.adminview("plan").startswith("nothing to do: ")
    checkout.put("Users", USER)
    checkout.put("Products", PRODUCT)
    checkout.put("Orders", order())
    key = {"PK": {"S": "USER#user-123"}, "SK": {"S": "ORDER#2025-03-01#2121195"}}
    checkout.await_row(key)

    _use_the_state_machines(checkout, key)

    # An index is new, another carries more under a new name, and a third is dropped.
    by_product = 'Index("GSI2", partition="GSI2_PK", sort="GSI2_SK", include=["data"])'
    by_day = (
        'by_day = Index("ByDay", partition="boughtOn", include=["data"])\n'
        'orders_of_day = AccessPattern("orders-of-day", index=by_day, partition="{day}")\n'
    )
    place = 'dashboard(item["CustomerId"], status, item["OrderDate"]),'
    checkout.edit(
        ORDERS,
        (
            by_product,
            by_product.replace("GSI2", "Buyers", 1).replace('["data"]', '["data", "_at"]'),
        ),
        ("orders_of_user = AccessPattern(", f"{by_day}orders_of_user = AccessPattern("),
        (place, f'{place} by_day(item["OrderDate"]),'),
    )
    text = (checkout.folder / PRODUCTS).read_text()
    question = text[text.index("featured_products = ") : text.index("@view(products)")]
    index = next(line for line in text.splitlines() if line.startswith("featured = Index("))
    used = next(line for line in text.splitlines() if "indexes=[featured(" in line)
    checkout.edit(PRODUCTS, (question, "\n\n"), (f"{index}\n", ""), (f"{used}\n", ""))

    with Panel(checkout).asking() as panel:
        printed = checkout.adminview("apply", "--yes", "--wait", "0")
        panel.ask_again()
    assert panel.wrong == []
    assert panel.seen["orders-of-day"][-1] == RIGHT  # after it was unknown, and being built
    assert {UNKNOWN, BEING_BUILT} <= {*panel.seen["orders-of-day"]}
    assert {*panel.seen["buyers-of-product"]} == {RIGHT}
    assert panel.seen["featured-products"][0] == RIGHT
    assert panel.seen["featured-products"][-1] == UNKNOWN
    assert "drop index GSI2" in printed
    assert {"Buyers", "ByDay"} <= checkout.indexes()
    assert not {"GSI2", "Featured"} & checkout.indexes()
    assert "2121195" in checkout.adminview("query", "orders-of-day", "--day", "2025-03-01")
    product = ("--product-id", "product-def-789")
    assert "2121195" in checkout.adminview("query", "buyers-of-product", *product)
    assert "the view is equal to the sources" in checkout.adminview("verify", "--grace", "1")
    assert checkout.adminview("plan").startswith("nothing to do: ")

    # A row that a question shows gets another key: old and new ones would stand side by side.
    checkout.edit(ORDERS, ("f\"ORDER#{item['SK']}\"", "f\"ORDER#{item['SK']}#\""))
    refused = checkout.run(sys.executable, "-m", "cli.main", "plan", "--stage", "dev")
    assert refused.returncode == 1
    assert "question 'orders-of-user' shows rows of Orders" in refused.stdout
    assert "The plan" in checkout.adminview("plan", "--stale-until-swept")
