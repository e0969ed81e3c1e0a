"""Plans that add, change, rebuild and drop totals, and what they refuse."""

from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from adminview.cli.deployment.facts import Declared, Deployed
from adminview.cli.deployment.totals_lag import totals_lag
from adminview.cli.model_lock.lock import validate_description
from adminview.cli.model_lock.model_diff import Description, ModelDiff
from adminview.cli.model_lock.wording import as_data, describe_diff
from adminview.cli.planning.apply import PlanError, PlanRunner
from adminview.cli.planning.cdk import POLL_SECONDS, SILENT_SECONDS, CdkDeployer
from adminview.cli.planning.refusals import _epochs
from adminview.cli.planning.sample import stale_row_refusals
from adminview.cli.planning.steps import DeployApi
from adminview.model import AccessPattern, Sum, Total
from adminview.model.errors import SettingsError
from tests.support.plan_simulator import World, model, question


def sales(**changes: Any) -> Any:
    return Total("DailySales", sort="day", **changes).shape()


def counting(code: str, total: Any, *more: Any) -> Description:
    """Describe a model that counts orders by day; its code names the total."""
    requested = (question("daily-sales", total), *more) if total else more
    return model({"Orders": code}, (), (*requested, question("one")), (total,) if total else ())


FIRST = counting("a", sales())
REBUILT = counting("b", sales(epoch=2, epoch_was=1))
ENDED = counting("c", sales(epoch=2))


def deployed(old: Description = FIRST) -> World:
    world = World()
    world.reach(old)
    world.now += 1000
    return world


def titles(world: World, new: Description) -> list[str]:
    plan = world.plan(new)
    assert plan.refusals == ()
    return [step.title for step in plan.steps]


def test_a_new_total_is_refused_until_the_backfill_and_the_sweep() -> None:
    steps = titles(deployed(counting("z", None)), FIRST)
    assert steps[2] == "deploy the API: refuse daily-sales until backfilled"
    assert steps[-3:] == [
        "backfill Orders",
        "sweep the rows of Orders",
        "deploy the API: switch on daily-sales, when DailySales includes all rows",
    ]


def test_under_a_new_epoch_the_old_one_answers_until_all_is_there() -> None:
    world = deployed()
    assert titles(world, REBUILT) == [
        "deploy the API: keep daily-sales on epoch 1 until then",
        "deploy the views: the sync function and the repair functions",
        "wait 300 seconds",
        "backfill Orders",
        "sweep the rows of Orders",
        "deploy the API: switch on daily-sales, when DailySales includes all rows",
    ]
    first = world.plan(REBUILT).steps[0]
    assert first.phase.pending == {"daily-sales": "1"}
    assert world.plan(REBUILT).notes == ()
    world.reach(REBUILT)
    assert world.deployed.pending == {}
    world.now += 1000
    assert titles(world, ENDED)[0] == "deploy the API: the access patterns as declared"


@pytest.mark.parametrize(
    "total", [sales(epoch=2), sales(sums=["units"]), sales(sums=["units"], epoch=2, epoch_was=1)]
)
def test_without_an_epoch_that_can_answer_a_pattern_is_rejected_and_the_plan_says_so(
    total: Any,
) -> None:
    world = deployed()
    plan = world.plan(counting("b", total))
    assert plan.refusals == ()
    assert plan.steps[0].phase.pending == {"daily-sales": None}
    assert [note for note in plan.notes if "'daily-sales' is rejected until" in note]
    world.reach(counting("b", total))


@pytest.mark.parametrize("sizes", [Sum("units", digits=5), Sum("units", scale=2)])
def test_the_digits_of_a_sum_change_no_total(sizes: Sum) -> None:
    world = deployed(counting("a", sales(sums=["units"])))
    assert world.plan(counting("b", sales(sums=[sizes]))).steps[0].phase.pending == {}


def test_another_condition_on_the_same_total_is_answered_at_once() -> None:
    world = deployed()
    other = counting("b", None, question("daily-sales", sales(), condition="{other}"))
    assert world.plan({**other, "totals": [sales()]}).steps[0].phase.pending == {}


def test_a_pattern_that_moves_between_the_table_and_a_total_waits() -> None:
    on_table, on_total = counting("a", None, question("sold")), counting("b", sales())
    on_total = {**on_total, "patterns": [question("sold", sales()), question("one")]}
    for old, new in ((on_table, on_total), (on_total, on_table)):
        world = deployed(old)
        plan = world.plan(new)
        assert plan.refusals == ()
        (api,) = [step for step in plan.steps if isinstance(step, DeployApi)][:1]
        assert api.phase.pending == {"sold": None}
        world.reach(new)


def test_a_dropped_total_takes_its_patterns_with_it() -> None:
    steps = titles(deployed(), counting("b", None))
    assert steps[0] == "deploy the API: remove daily-sales"
    assert "backfill Orders" in steps


def test_a_retired_epoch_cannot_come_back() -> None:
    plan = deployed(ENDED).plan(counting("d", sales()))
    assert plan.steps == ()
    assert plan.refusals[0] == (
        "total 'DailySales' is declared with epoch 1, but epoch 2 is deployed: a retired epoch "
        "is not up to date; declare a higher one"
    )


@pytest.mark.parametrize("lost", ["totals", "stream"])
@pytest.mark.parametrize("epochs", [{}, {"epoch": 2, "epoch_was": 1}])
def test_a_total_whose_stack_or_stream_is_gone_needs_a_new_epoch(
    lost: str, epochs: dict[str, int]
) -> None:
    state = replace(deployed().deployed, **{lost: False})  # type: ignore[arg-type]
    again = counting("d", sales(**epochs))
    (refusal,) = _epochs(state, Declared(again))
    assert "declare epoch=2 without epoch_was" in refusal
    assert [*_epochs(state, Declared(counting("d", sales(epoch=2))))] == []


def test_digits_that_do_not_fit_one_total_together_need_a_new_epoch() -> None:
    wide, narrow = sales(sums=[Sum("v", 20, 9)]), sales(sums=[Sum("v", 9, 20)])
    state = deployed(counting("a", wide)).deployed
    (refusal,) = _epochs(state, Declared(counting("b", narrow)))
    assert "v could exceed DynamoDB's digits" in refusal
    fits = sales(sums=[Sum("v", 9, 9)])
    assert [*_epochs(state, Declared(counting("b", fits)))] == []


def test_a_rebuild_can_be_taken_back_while_the_old_epoch_is_kept() -> None:
    world = deployed()
    for _ in range(3):
        world.carry_out(world.plan(REBUILT).steps[0], REBUILT)
    assert world.plan(FIRST).steps[0].phase.pending == {}
    world.reach(FIRST)


def test_the_epoch_that_queries_return_is_declared_until_the_new_one_is_complete() -> None:
    world = deployed()
    for _ in range(2):
        world.carry_out(world.plan(REBUILT).steps[0], REBUILT)
    assert world.plan(ENDED).refusals[0] == (
        "queries of total 'DailySales' still return epoch 1: declare epoch_was=1 until epoch 2 is "
        "complete"
    )


def test_a_model_of_a_release_before_totals_has_none() -> None:
    old = {name: part for name, part in counting("a", None).items() if name != "totals"}
    assert Declared(old).totals == {}
    assert validate_description(old, "it") == old
    change = ModelDiff.between(old, FIRST)
    assert change.totals.new == ("DailySales",)
    assert Deployed(api=old).total_in_use(question("one")) is None


def test_a_description_with_an_impossible_total_is_refused() -> None:
    broken = {**FIRST, "totals": [sales() | {"epoch": [0, 0]}]}
    with pytest.raises(SettingsError):
        validate_description(broken, "it")


def step_titles(old: Any, new: Any) -> list[str]:
    words = describe_diff(ModelDiff.between(counting("a", old), counting("b", new)))
    return words.get("Totals", [])


def test_totals_are_named_in_plain_words() -> None:
    ranked = sales(sums=["units", "revenue"], ranked_by="units")
    assert step_titles(None, ranked) == [
        "new: DailySales, counts rows per day, adds up units and revenue, ranked by units"
    ]
    assert step_titles(ranked, None) == [
        "dropped: DailySales; it becomes empty when its rows are rebuilt, and expires"
    ]
    assert step_titles(sales(), ranked) == [
        (
            "changed: DailySales, counts rows per day, now counts rows per day, adds up units and "
            "revenue, ranked by units; its access patterns are rejected until all rows are rebuilt"
        )
    ]
    assert step_titles(sales(), sales(epoch=2, epoch_was=1)) == [
        "rebuilt: DailySales under epoch 2; queries return epoch 1 until it is complete"
    ]
    assert step_titles(sales(), sales(epoch=2)) == [
        (
            "rebuilt: DailySales under epoch 2 instead of 1; its access patterns are rejected "
            "until all rows are rebuilt"
        )
    ]
    assert step_titles(sales(epoch=2, epoch_was=1), sales(epoch=2)) == [
        "ended: epoch 1 of DailySales; it becomes empty, and expires"
    ]
    assert step_titles(sales(sums=["units"]), sales(sums=[Sum("units", scale=2)])) == [
        "changed: DailySales, the digits of units"
    ]


def test_a_pattern_on_a_total_is_named_with_it() -> None:
    change = ModelDiff.between(counting("z", None), FIRST)
    words = describe_diff(change)
    assert words["Access patterns"] == [
        "new: daily-sales, queries total DailySales where day = {it}"
    ]
    assert as_data(change)["totals"] == {"new": ("DailySales",), "dropped": (), "changed": ()}
    old = {**FIRST, "patterns": [question("daily-sales"), question("one")]}
    (line,) = describe_diff(ModelDiff.between(old, FIRST))["Access patterns"]
    assert line.startswith("changed: daily-sales: ")
    assert line.count("queries the table, now total DailySales") == 1


STALE: Any = {"PK": {"S": "x"}, "_totals": {"M": {"DailySales.1": {"M": {}}}}}


@pytest.mark.parametrize(
    ("total", "counts"),
    [
        (Total("DailySales", sort="day"), True),
        (Total("DailySales", sort="day", epoch=2, epoch_was=1), True),
        (Total("DailySales", sort="day", epoch=2), False),
        (Total("DailySale", sort="day"), False),
    ],
)
def test_a_total_that_would_count_stale_rows_is_refused(total: Total, counts: bool) -> None:  # noqa: FBT001
    pattern = AccessPattern("daily-sales", total=total)
    refusals = [*stale_row_refusals({"Orders": [STALE]}, [pattern], {"daily-sales"})]
    assert bool(refusals) == counts
    assert not refusals or "until the sweep it would count them twice" in refusals[0]
    assert [*stale_row_refusals({"Orders": [STALE]}, [pattern], set())] == []


class Waiting:
    """A deployer that records its calls."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def deploy(self, stacks: Any, _: Any) -> None:
        self.calls += stacks

    def await_totals(self, **_: Any) -> None:
        self.calls.append("await totals")


@pytest.mark.parametrize("stopped", [False, True])
def test_patterns_on_totals_are_switched_on_when_the_totals_have_caught_up(stopped: bool) -> None:  # noqa: FBT001
    deployer: Any = Waiting()
    nothing: Any = None
    builder: Any = Mock()
    runner = PlanRunner(
        model=FIRST,
        read=nothing,
        deployer=deployer,
        builder=builder,
        now=lambda: 0.0,
        sleep=lambda _: None,
        stopped=lambda: stopped,
    )
    step = DeployApi(reason="", on=("daily-sales",), totals=("DailySales",))
    assert runner._deploy(step) is not stopped
    assert deployer.calls == ["await totals", *([] if stopped else ["Api"])]
    assert builder.complete.called is not stopped, "it is recorded before the API reads it"
    deployer.calls.clear()
    assert runner._deploy(replace(step, totals=()))
    assert deployer.calls == ["Api"]


class Counted:
    """Probes of which some more are in the totals each time; None means that all are."""

    def __init__(self, *counts: int | None) -> None:
        self.counts = iter(counts)
        self.counted = 0

    def have_arrived(self) -> bool:
        count = next(self.counts)
        self.counted = self.counted if count is None else count
        return count is None


def deployer_with(probes: Counted, slept: list[float]) -> CdkDeployer:
    tables: Any = None
    return CdkDeployer("dev", "", tables, Path(), (), slept.append, probes=lambda: probes)


def test_it_waits_until_the_probes_have_arrived() -> None:
    slept: list[float] = []
    deployer_with(Counted(0, 0, 3, None), slept).await_totals(stopped=lambda: False)
    assert slept == [POLL_SECONDS] * 3
    deployer_with(Counted(), slept).await_totals(stopped=lambda: True)
    assert len(slept) == 3


def test_it_waits_as_long_as_more_probes_arrive_and_gives_up_after_a_long_silence() -> None:
    slept: list[float] = []
    rounds = int(SILENT_SECONDS / POLL_SECONDS)
    slow = [count for count in range(4) for _ in range(rounds)]
    deployer_with(Counted(*slow, None), slept).await_totals(stopped=lambda: False)
    assert sum(slept) == 4 * SILENT_SECONDS
    with pytest.raises(
        PlanError, match=r"nothing was counted for 30 minutes.*runbook.md#totals-lag"
    ):
        deployer_with(Counted(*[7] * (rounds + 2)), slept).await_totals(stopped=lambda: False)


class Metrics:
    """A deployment of which only the age of the totals function's records is read."""

    def __init__(self, points: dict[int, float]) -> None:
        self.points = points
        self.aws = self

    def output(self, *_: str) -> str:
        return "totals-function"

    def call(self, service: str, operation: str, **request: Any) -> Any:
        assert (service, operation) == ("cloudwatch", "GetMetricData")
        (query,) = request["MetricDataQueries"]
        dimensions = query["MetricStat"]["Metric"]["Dimensions"]
        assert dimensions == [{"Name": "FunctionName", "Value": "totals-function"}]
        timestamps, values = list(self.points), list(self.points.values())
        return {"MetricDataResults": [{"Timestamps": timestamps, "Values": values}]}


def test_the_lag_is_the_greatest_of_the_last_minutes() -> None:
    there: Any = Metrics({3: 5_000.0, 2: 61_000.0})  # a late shard was not invoked in minute 3
    assert totals_lag(there) == 61.0
    silent: Any = Metrics({})
    assert totals_lag(silent) is None
