"""tests/infra/alarms.md lists every alarm, so that a change is read before it is deployed."""

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
    "its threshold": lambda alarm: alarm.update(Threshold=1),
    "its statistic": lambda alarm: alarm.update(Statistic="Minimum"),
    "its period": lambda alarm: alarm.update(Period=60),
    "its metric": lambda metric: metric.update(MetricName="Duration"),
    "its namespace": lambda metric: metric.update(Namespace="AWS/Other"),
    "the name of a dimension": lambda metric: metric["Dimensions"][0].update(Name="Other"),
    "the value of a dimension": lambda metric: metric["Dimensions"][0].update(Value="Other"),
    "how many periods count": lambda alarm: alarm.update(EvaluationPeriods=9),
    "how many of them reach it": lambda alarm: alarm.update(DatapointsToAlarm=9),
    "missing data": lambda alarm: alarm.update(TreatMissingData="breaching"),
}


def changed(dev: Assembly, name: str, change: Change) -> Assembly:
    assembly = replace(dev, templates=deepcopy(dev.templates))
    alarms = {
        alarm["Properties"]["AlarmName"]: alarm["Properties"] for alarm in assembly.resources(ALARM)
    }
    change(alarms[f"AdminView-dev-{name}"])
    return assembly


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_row_changes_with(change: Change, dev: Assembly) -> None:
    assert page(changed(dev, "iterator-age", change)) != page(dev)


def test_a_row_changes_with_an_expression(dev: Assembly) -> None:
    def fill(alarm: dict[str, Any]) -> None:
        (reported,) = [entry for entry in alarm["Metrics"] if entry["ReturnData"]]
        reported["Expression"] = "visible"

    assert page(changed(dev, "letters", fill)) != page(dev)


def test_a_row_says_that_an_alarm_rings_below_its_threshold(dev: Assembly) -> None:
    assembly = changed(
        dev, "letters", lambda alarm: alarm.update(ComparisonOperator="LessThanThreshold")
    )
    assert page(assembly) != page(dev)


def test_an_alarm_that_compares_otherwise_has_no_row(dev: Assembly) -> None:
    other = "GreaterThanUpperThreshold"
    assembly = changed(dev, "letters", lambda alarm: alarm.update(ComparisonOperator=other))
    with pytest.raises(AssertionError):
        page(assembly)
