"""A change of the model is planned and applied while items change and every pattern is queried."""

import time
from collections.abc import Collection, Iterator
from pathlib import Path
from random import Random

import pytest

from adminview.cli.planning.apply import PlanError
from adminview.local.engines import Engine
from tests.support.live_deployment import ANSWERED, BUILDING, GONE, Lab, load

pytestmark = pytest.mark.slow

ORDERS = '''
"""Orders."""

from adminview import AccessPattern, Index, Row, Source, view

orders = Source("Orders", partition_key="id")
by_status = Index("ByStatus", partition="status", include=["data"])
by_product = Index("ByProduct", partition="product", sort="day", include=["data"])

orders_by_status = AccessPattern("orders-by-status", index=by_status, partition="{status}")
orders_of_product = AccessPattern("orders-of-product", index=by_product, partition="{product}")
order = AccessPattern("order", partition="ORDER#{order_id}", sort_begins="DETAILS")
notes_of_order = AccessPattern("notes-of-order", partition="ORDER#{order_id}", sort_begins="NOTE")


@view(orders)
def details(item):
    places = [by_product(item["product"], item["day"])]
    if item["status"] != "CLOSED":
        places.append(by_status(item["status"]))
    yield Row(f"ORDER#{item['id']}", "DETAILS", data=item.pick("id", "number"), indexes=places)
    yield Row(f"ORDER#{item['id']}", "NOTE", data=item.pick("id"))
'''

# An index is new, another has more in it under a new name, and the notes are no more.
NEW_ORDERS = (
    ORDERS.replace(
        'by_product = Index("ByProduct", partition="product", sort="day", include=["data"])',
        'by_product = Index("ByProduct2", partition="product", sort="day", '
        'include=["data", "_at"])\n'
        'by_day = Index("ByDay", partition="bought", include=["data"])\n'
        'orders_of_day = AccessPattern("orders-of-day", index=by_day, partition="{day}")',
    )
    .replace("places = [by_product", "places = [by_day(item['day']), by_product")
    .replace(
        'notes_of_order = AccessPattern("notes-of-order", '
        'partition="ORDER#{order_id}", sort_begins="NOTE")\n',
        "",
    )
    .replace("""    yield Row(f"ORDER#{item['id']}", "NOTE", data=item.pick("id"))\n""", "")
)

USERS = '''
"""Users."""

from adminview import AccessPattern, Index, Row, Source, view

users = Source("Users", partition_key="id")
by_city = Index("ByCity", partition="city", include=["data"])
users_of_city = AccessPattern("users-of-city", index=by_city, partition="{city}")
user = AccessPattern("user", partition="USER#{user_id}")


@view(users)
def profile(item):
    place = by_city(item["city"])
    yield Row(f"USER#{item['id']}", "PROFILE", data=item.pick("id"), indexes=[place])
'''
# An index and its access pattern are removed.
NEW_USERS = (
    USERS.replace('by_city = Index("ByCity", partition="city", include=["data"])\n', "")
    .replace(
        'users_of_city = AccessPattern("users-of-city", index=by_city, partition="{city}")\n', ""
    )
    .replace('    place = by_city(item["city"])\n', "")
    .replace(", indexes=[place]", "")
)

PRODUCTS = '''
"""Products, which stay as they are."""

from adminview import AccessPattern, Row, Source, view

products = Source("Products", partition_key="id")
product = AccessPattern("product", partition="PRODUCT#{product_id}")


@view(products)
def details(item):
    yield Row(f"PRODUCT#{item['id']}", "DETAILS", data=item.pick("id"))
'''

SHIPMENTS = '''
"""Shipments, a source that is new."""

from adminview import AccessPattern, Index, Row, Source, view

shipments = Source("Shipments", partition_key="id")
by_carrier = Index("ByCarrier", partition="carrier", include=["data"])
shipments_of_carrier = AccessPattern(
    "shipments-of-carrier", index=by_carrier, partition="{carrier}"
)


@view(shipments)
def details(item):
    place = by_carrier(item["carrier"])
    yield Row(f"SHIPMENT#{item['id']}", "DETAILS", data=item.pick("id"), indexes=[place])
'''

QUERIES = {
    "orders-by-status": {"status": "OPEN"},
    "orders-of-product": {"product": "p1"},
    "order": {"order_id": "o1"},
    "notes-of-order": {"order_id": "o1"},
    "users-of-city": {"city": "Hanoi"},
    "user": {"user_id": "u1"},
    "product": {"product_id": "p1"},
    "orders-of-day": {"day": "day-1"},
    "shipments-of-carrier": {"carrier": "DHL"},
}
STEPS = [
    "create the tables of Shipments",
    "create index ByProduct2, and wait until it is active",
    "create index ByDay, and wait until it is active",
    "create index ByCarrier, and wait until it is active",
    (
        "deploy the API: refuse orders-of-day, shipments-of-carrier until backfilled; "
        "keep orders-of-product on ByProduct until then; remove notes-of-order, users-of-city"
    ),
    "deploy the views: the sync function and the repair functions",
    "deploy the alarms and the dashboard",
    "wait 20 seconds",
    "backfill Orders",
    "backfill Users",
    "backfill Shipments",
    "deploy the API: switch on orders-of-day, orders-of-product, shipments-of-carrier",
    "wait 30 seconds",
    "drop index ByProduct",
    "drop index ByCity",
    "sweep the rows of Orders, Users",
]


class Writer:
    """Somebody who creates, changes and deletes items, a little at a time."""

    def __init__(self) -> None:
        self.random = Random(5)  # noqa: S311 - the same each time
        self.turn = 0

    def __call__(self, lab: Lab) -> None:
        self.turn += 1
        number = f"o{self.random.randrange(12)}"
        if self.random.random() < 0.25:
            lab.delete("Orders", number)
        else:
            lab.put("Orders", self.order(number))
        if self.turn % 4 == 0:
            lab.put("Users", {"id": "u1", "city": self.random.choice(["Hanoi", "Taipei"])})
        if "Shipments" in lab.deployer.created and self.turn % 3 == 0:
            number = f"s{self.random.randrange(4)}"
            lab.put("Shipments", {"id": number, "carrier": self.random.choice(["DHL", "UPS"])})

    def order(self, number: str) -> dict[str, object]:
        pick = self.random.choice
        return {
            "id": number,
            "number": self.turn,
            "status": pick(["OPEN", "PAID", "CLOSED"]),
            "product": pick(["p1", "p2"]),
            "day": pick(["day-1", "day-2"]),
        }


@pytest.fixture
def lab(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    """Deploy and fill the older model."""
    # The writer never pauses: an item that moves ten times in a row would be left to a dead letter.
    monkeypatch.setattr("adminview.reconcile.reconciler.ROUNDS", 1000)
    (tmp_path / "old").mkdir()
    (tmp_path / "new").mkdir()
    old = load(tmp_path / "old", orders=ORDERS, users=USERS, products=PRODUCTS)
    new = load(
        tmp_path / "new",
        orders=NEW_ORDERS,
        users=NEW_USERS,
        products=PRODUCTS,
        shipments=SHIPMENTS,
    )
    writer = Writer()
    lab = Lab.start(engine, (old, new), QUERIES, writer)
    for number in range(12):
        lab.put("Orders", writer.order(f"o{number}"))
    for number in range(3):
        lab.put("Users", {"id": f"u{number}", "city": "Hanoi"})
        lab.put("Products", {"id": f"p{number}"})
    lab.cloud.settle()
    lab.application(old).apply(())  # nothing says yet that its rows are built
    yield lab
    lab.stop()


def check_end(lab: Lab) -> None:
    """Hold that the view is what the new model derives, and nothing else."""
    lab.cloud.settle()
    rows = {(row["PK"]["S"], row["SK"]["S"]) for row in lab.cloud.rows()}
    assert rows == set(lab.truth(lab.new))
    names = [index.name for index in lab.deployer.tables.indexes() or ()]
    assert sorted(names) == sorted(index.name for index in lab.new.indexes)
    assert lab.application(lab.new).plan().steps == ()


def test_every_access_pattern_is_right_at_every_moment_of_a_change(lab: Lab) -> None:
    lab.states.clear()
    lab.answers.clear()
    application = lab.application(lab.new)
    plan = application.plan()
    assert [step.title for step in plan.steps] == STEPS
    assert application.apply(plan.destroyed)
    lab.live()

    refused, ended = [GONE, BUILDING, ANSWERED], [ANSWERED, GONE]
    assert lab.states == {
        "orders-by-status": [ANSWERED],
        "orders-of-product": [ANSWERED],
        "order": [ANSWERED],
        "user": [ANSWERED],
        "product": [ANSWERED],
        "notes-of-order": ended,
        "users-of-city": ended,
        "orders-of-day": refused,
        "shipments-of-carrier": refused,
    }
    assert lab.answers[ANSWERED] > 200
    check_end(lab)


def test_a_plan_stopped_after_every_step_is_finished_by_others(lab: Lab) -> None:
    agreed = lab.application(lab.new).plan().destroyed
    done: list[str] = []
    finished = False
    while not finished:
        begun, finished = stop_soon(lab, agreed)
        titles = [line.partition(": ")[2] for line in begun]
        steps = [title for title in titles if not title.startswith("wait ")]
        done += steps
        if not steps:
            time.sleep(0.05)  # the engine takes its time to make an index
        lab.clock += 10  # a pause was cut short
        assert len(done) <= len(STEPS)
    assert done == [title for title in STEPS if not title.startswith("wait ")]
    check_end(lab)


def stop_soon(lab: Lab, agreed: Collection[str]) -> tuple[list[str], bool]:
    """Carry a plan out as somebody new, with a stop requested as soon as a step starts."""
    begun: list[str] = []
    application = lab.application(lab.new, notify=begun.append, stopped=lambda: bool(begun))
    return begun, application.apply(agreed)


def test_somebody_may_go_back_in_the_middle_of_a_plan(lab: Lab) -> None:
    """Stop in the midst of the second backfill, go back to the old model, and forward again."""
    agreed = lab.application(lab.new).plan().destroyed
    lines: list[str] = []
    application = lab.application(
        lab.new, notify=lines.append, stopped=lambda: "backfill Users" in "".join(lines)
    )
    assert not application.apply(agreed)
    back = lab.application(lab.old)
    plan = back.plan()
    assert "backfill Orders" in [step.title for step in plan.steps]
    assert back.apply(plan.destroyed)
    lab.live()
    rows = {(row["PK"]["S"], row["SK"]["S"]) for row in lab.cloud.rows()}
    assert rows == set(lab.truth(lab.old))
    forward = lab.application(lab.new)
    assert forward.apply(forward.plan().destroyed)
    check_end(lab)


def test_an_index_is_not_dropped_that_came_into_the_plan_later(lab: Lab) -> None:
    application = lab.application(lab.new)
    with pytest.raises(PlanError, match="was not in the plan that you confirmed"):
        application.apply(())
    names = [index.name for index in lab.deployer.tables.indexes() or ()]
    assert {"ByProduct", "ByCity"} <= set(names)
