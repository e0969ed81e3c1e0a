"""When somebody is called is written down, so that a change of it is read before it is deployed."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from tests.infra.alarms import ALARM, COMMAND, PAGE, page
from tests.support.synthesis import Assembly

Change = Callable[[dict[str, Any]], object]


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_every_alarm_is_exactly_what_its_row_says(
    stage: str, request: pytest.FixtureRequest
) -> None:
    assembly: Assembly = request.getfixturevalue(stage)
    assert page(assembly) == PAGE.read_text(), f"if that is meant, write it anew: {COMMAND}"


CHANGES: dict[str, Change] = {
    "its threshold": lambda one: one.update(Threshold=1),
    "its statistic": lambda one: one.update(Statistic="Minimum"),
    "its period": lambda one: one.update(Period=60),
    "its metric": lambda one: one.update(MetricName="Duration"),
    "its namespace": lambda one: one.update(Namespace="AWS/Other"),
    "the name of a dimension": lambda one: one["Dimensions"][0].update(Name="Other"),
    "the value of a dimension": lambda one: one["Dimensions"][0].update(Value="Other"),
    "how many periods count": lambda one: one.update(EvaluationPeriods=9),
    "how many of them reach it": lambda one: one.update(DatapointsToAlarm=9),
    "missing data": lambda one: one.update(TreatMissingData="breaching"),
}


def changed(dev: Assembly, name: str, change: Change) -> Assembly:
    made = replace(dev, templates=deepcopy(dev.templates))
    found = {one["Properties"]["AlarmName"]: one["Properties"] for one in made.resources(ALARM)}
    change(found[f"AdminView-dev-{name}"])
    return made


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_row_changes_with(change: Change, dev: Assembly) -> None:
    assert page(changed(dev, "iterator-age", change)) != page(dev)


def test_a_row_changes_with_an_expression(dev: Assembly) -> None:
    def fill(alarm: dict[str, Any]) -> None:
        (reported,) = [one for one in alarm["Metrics"] if one["ReturnData"]]
        reported["Expression"] = "visible"

    assert page(changed(dev, "letters", fill)) != page(dev)


def test_a_row_says_that_an_alarm_rings_below_its_threshold(dev: Assembly) -> None:
    made = changed(dev, "letters", lambda one: one.update(ComparisonOperator="LessThanThreshold"))
    assert page(made) != page(dev)


def test_an_alarm_that_compares_otherwise_has_no_row(dev: Assembly) -> None:
    other = "GreaterThanUpperThreshold"
    made = changed(dev, "letters", lambda one: one.update(ComparisonOperator=other))
    with pytest.raises(AssertionError):
        page(made)
