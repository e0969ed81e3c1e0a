"""A total is rebuilt under the next epoch while orders change and its access pattern is queried."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from io import StringIO
from pathlib import Path
from random import Random
from typing import Any

import pytest

from adminview.aws.deadline import Deadline
from adminview.aws.view_reader import Boto3Reader, ViewReader
from adminview.bulk.verification import Verification, VerifyReport
from adminview.bulk.verify.phases import VERIFY_TOTALS
from adminview.bulk.verify.scope import Scope
from adminview.cli.commands.verify import VerifyOptions, verify_here
from adminview.cli.output.printing import Console
from adminview.cli.shutdown import Shutdown
from adminview.local.engines import Engine
from adminview.model import Registry
from adminview.model.errors import PatternNotReadyError
from adminview.model.item import to_python
from adminview.model.row import VIEW_TABLE
from adminview.model.total import totals_table
from adminview.query.engine import QueryEngine
from adminview.totals.changes import contributions
from tests.support.backfill_workers import bulk_of
from tests.support.live_deployment import Lab, load

pytestmark = pytest.mark.slow

TOTALS = totals_table(VIEW_TABLE)
ORDERS = '''
"""Orders, counted by status."""

from adminview import AccessPattern, Row, Source, Total, view

orders = Source("Orders", partition_key="id")
statuses = Total({total})
per_status = AccessPattern("orders-per-status", total=statuses)


@view(orders)
def details(item):
    counted = [statuses(item["status"]{sums})]
    yield Row(f"ORDER#{{item['id']}}", {sort}, data=item.pick("id"), totals=counted)
'''
NAMED = '"OrdersByStatus", sort="status"'
FIRST = ORDERS.format(total=NAMED, sums="", sort='"DETAILS"')
REBUILT = ORDERS.format(total=f"{NAMED}, epoch=2, epoch_was=1", sums="", sort='"DETAILS"')
ENDED = ORDERS.format(total=f"{NAMED}, epoch=2", sums="", sort='"DETAILS"')
CHANGED = ORDERS.format(
    total=f'{NAMED}, sums=["units"]', sums=', units=item["units"]', sort='"MORE"'
)
NONE = FIRST.replace(", totals=counted", "").replace(
    'per_status = AccessPattern("orders-per-status", total=statuses)\n', ""
)
DRIFT = 5


@dataclass
class Story:
    """Somebody changes orders, and queries the totals whenever nothing is in flight."""

    random: Random = field(default_factory=lambda: Random(3))  # noqa: S311
    drift: Counter[str] = field(default_factory=Counter)  # planted in epoch 1
    answers: list[str] = field(default_factory=list)  # who answered, each new one

    def __call__(self, lab: Lab) -> None:
        if not lab.touched:  # no page of a backfill is half written
            lab.cloud.settle()
            self.check(lab)
        number = f"o{self.random.randrange(8)}"
        if self.random.random() < 0.2:
            lab.delete("Orders", number)
        else:
            lab.put("Orders", self.order(number))

    def order(self, number: str) -> dict[str, Any]:
        status = self.random.choice(["PENDING", "PAID", "SHIPPED"])
        return {"id": number, "status": status, "units": self.random.randint(1, 9)}

    def check(self, lab: Lab) -> None:
        there = lab.deployer
        patterns = {pattern.name: pattern for pattern in there.api.patterns}
        if "orders-per-status" not in patterns:
            self.heard("gone")
            return
        older = there.pending.get("orders-per-status")
        reader = ViewReader(Boto3Reader(lab.cloud.clients.dynamodb), VIEW_TABLE)
        engine = QueryEngine(there.api, reader, there.pending)
        try:
            rows = [to_python(result.row["data"]) for result in engine.rows("orders-per-status")]
        except PatternNotReadyError:
            self.heard("refused")
            return
        total = patterns["orders-per-status"].total
        assert total
        epoch = older or str(total.epoch)
        counted = {row["status"]: row["count"] for row in rows}
        expected = Counter(image["status"]["S"] for image in lab.items.values())
        if epoch == "1":
            expected.update(self.drift)
        assert counted == {status: count for status, count in expected.items() if count}
        if total.sums and not older:
            units = sum(int(image["units"]["N"]) for image in lab.items.values())
            assert sum(row["units"] for row in rows) == units
        self.heard(f"epoch {epoch}")

    def heard(self, who: str) -> None:
        if self.answers[-1:] != [who]:
            self.answers.append(who)


@pytest.fixture
def models(tmp_path: Path) -> dict[str, Registry]:
    texts = {
        "first": FIRST,
        "rebuilt": REBUILT,
        "ended": ENDED,
        "changed": CHANGED,
        "none": NONE,
    }
    loaded = {}
    for name, text in texts.items():
        folder = tmp_path / name
        folder.mkdir()
        loaded[name] = load(folder, orders=text)
    return loaded


@pytest.fixture
def story() -> Story:
    return Story()


@pytest.fixture
def lab(
    engine: Engine, models: dict[str, Registry], story: Story, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Lab]:
    """Deploy and fill the first model."""
    # The writer never pauses: an item that changes ten times in a row would be dead-lettered.
    monkeypatch.setattr("adminview.reconcile.reconciler.ROUNDS", 1000)
    lab = Lab.start(engine, (models["first"], models["rebuilt"]), {}, story)
    for number in range(8):
        lab.put("Orders", story.order(f"o{number}"))
    lab.cloud.settle()
    lab.application(models["first"]).apply(())
    story.answers.clear()
    yield lab
    lab.stop()


def verified(lab: Lab, model: Registry, *, repair: bool = False) -> VerifyReport:
    lab.cloud.settle()
    bulk = replace(bulk_of(lab.cloud), registry=model)
    options = VerifyOptions(Scope(segments=1, grace=0.0, repair=repair), totals=True)
    verify_here(bulk, options, Shutdown(), Console(file=StringIO()))
    return Verification(bulk, kind=VERIFY_TOTALS).report(deadline=Deadline.after(10))


def plant(lab: Lab, story: Story) -> None:
    lab.cloud.clients.dynamodb.update_item(
        TableName=TOTALS,
        Key={"PK": {"S": "OrdersByStatus.1"}, "SK": {"S": "PENDING"}},
        UpdateExpression="ADD #c :more",
        ExpressionAttributeNames={"#c": "count"},
        ExpressionAttributeValues={":more": {"N": str(DRIFT)}},
    )
    story.drift["PENDING"] += DRIFT


def stored(lab: Lab, partition: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = lab.cloud.clients.dynamodb.scan(TableName=TOTALS)["Items"]
    return [item for item in items if item["PK"]["S"] == partition]


def test_drift_is_rebuilt_under_the_next_epoch_while_the_old_one_answers(
    lab: Lab, models: dict[str, Registry], story: Story
) -> None:
    plant(lab, story)
    run = verified(lab, models["first"])
    assert [finding["group"] for finding in run.findings] == [["PENDING"]]

    application = lab.application(models["rebuilt"])
    plan = application.plan()
    titles = [step.title for step in plan.steps]
    assert "deploy the API: keep orders-per-status on epoch 1 until then" in titles
    assert titles[-1] == (
        "deploy the API: switch on orders-per-status, when OrdersByStatus includes all rows"
    )
    assert application.apply(plan.destroyed)
    lab.live()
    lab.live()
    assert story.answers == ["epoch 1", "epoch 2"]

    application = lab.application(models["ended"])
    assert application.apply(application.plan().destroyed)
    lab.live()
    lab.live()
    assert story.answers == ["epoch 1", "epoch 2"]
    run = verified(lab, models["ended"], repair=True)
    assert run.findings == []
    assert run.counts["totals"]["abandoned"] == 1  # what was too much in epoch 1
    old = stored(lab, "OrdersByStatus.1")
    assert old
    assert all("expires" in item for item in old)
    assert lab.application(models["ended"]).plan().steps == ()


def test_a_changed_total_is_refused_until_the_sweep_and_then_exact(
    lab: Lab, models: dict[str, Registry], story: Story
) -> None:
    """The rows get another key, too: until the sweep, they contribute twice."""
    lab.live()
    application = lab.application(models["changed"])
    plan = application.plan()
    assert any("is rejected until all rows are backfilled" in note for note in plan.notes)
    kinds = [step.kind for step in plan.steps]
    assert kinds.index("sweep") < len(kinds) - 1 - kinds[::-1].index("deploy-api")
    assert application.apply(plan.destroyed)
    lab.live()
    lab.live()
    assert story.answers == ["epoch 1", "refused", "epoch 1"]
    assert verified(lab, models["changed"]).findings == []


def test_a_dropped_total_becomes_empty_and_expires(
    lab: Lab, models: dict[str, Registry], story: Story
) -> None:
    lab.live()
    application = lab.application(models["none"])
    assert application.apply(application.plan().destroyed)
    lab.live()
    lab.cloud.settle()
    assert story.answers == ["epoch 1", "gone"]
    rows = lab.cloud.rows()
    assert rows
    assert not any(contributions(row)[0] for row in rows)
    old = stored(lab, "OrdersByStatus.1")
    assert old
    assert all(item["count"] == {"N": "0"} and "expires" in item for item in old)


def test_a_rebuild_can_be_taken_back(lab: Lab, models: dict[str, Registry], story: Story) -> None:
    lines: list[str] = []
    application = lab.application(
        models["rebuilt"], notify=lines.append, stopped=lambda: "backfill" in "".join(lines)
    )
    assert not application.apply(application.plan().destroyed)
    back = lab.application(models["first"])
    assert back.plan().refusals == ()
    assert back.apply(back.plan().destroyed)
    lab.live()
    lab.live()
    assert story.answers == ["epoch 1"]
    assert verified(lab, models["first"]).findings == []
