"""Read the alarms and the dashboard of a template, and evaluate when they ring.

`python -m tests.infra.alarms` writes the alarms as the table of alarms.md.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.infra.roles import table, write
from tests.support.synthesis import Assembly

Counted = tuple[str, str, frozenset[tuple[str, str]]]  # namespace, name, dimensions
ALARM = "AWS::CloudWatch::Alarm"
PAGE = Path(__file__).with_name("alarms.md")
COMMAND = "python -m tests.infra.alarms"
TEXT = f"""# Alarms

Every alarm of the dev stage; prod has the same. An alarm rings when M of the last N periods reach
the threshold. The column `metrics` has the id of each metric in the expression, its statistic, its
namespace and name, and its dimensions. `{COMMAND}` writes this page from the templates, and
`test_alarms.py` compares it with them.
"""
HEAD = ("alarm", "expression", "metrics", "period (s)", "threshold", "M of N", "missing data")


@dataclass(frozen=True)
class Watched:
    """One alarm, with its references read."""

    properties: dict[str, Any]
    metrics: dict[str, dict[str, Any]]  # by their ids, in expressions
    expression: str

    def rings(self, *points: float | None) -> bool | None:
        """Say whether the newest *points* ring it, None being missing; None if they do not say.

        So far as CloudWatch documents it: M of the last N points. On AWS it may look past missing
        points to older ones.
        """
        last = points[-self.properties["EvaluationPeriods"] :]
        missing = self.properties["TreatMissingData"]
        if missing in {"ignore", "missing"} and all(point is None for point in last):
            return None
        bad = [missing == "breaching" if point is None else self.reached(point) for point in last]
        return bool(sum(bad) >= self.properties["DatapointsToAlarm"])

    def reached(self, point: float) -> bool:
        """Say whether one point reaches the threshold."""
        threshold = self.properties["Threshold"]
        if self.properties["ComparisonOperator"] == "LessThanThreshold":
            return bool(point < threshold)
        assert self.properties["ComparisonOperator"] == "GreaterThanOrEqualToThreshold"
        return bool(point >= threshold)

    @property
    def seconds(self) -> int:
        """Say how long a period is."""
        (period,) = {metric["Period"] for metric in self.metrics.values()}
        return int(period)

    @property
    def counted(self) -> set[Counted]:
        """Name what it looks at."""
        return {
            (metric["Namespace"], metric["Name"], metric["On"]) for metric in self.metrics.values()
        }


def deployment(assembly: Assembly) -> str:
    """Name the deployment that is watched."""
    (name,) = [
        stack.removesuffix("-Watch") for stack in assembly.templates if stack.endswith("-Watch")
    ]
    return name


def watched(assembly: Assembly) -> dict[str, Watched]:
    """Give the alarms of a deployment by their names, without the deployment's."""
    name = deployment(assembly)
    alarms = [alarm["Properties"] for alarm in assembly.resources(ALARM)]
    assert all(alarm["AlarmName"].startswith(f"{name}-") for alarm in alarms)
    return {alarm["AlarmName"].removeprefix(f"{name}-"): _read(alarm, assembly) for alarm in alarms}


def page(assembly: Assembly) -> str:
    """Write a row for each alarm."""
    rows = [_row(name, alarm, assembly) for name, alarm in watched(assembly).items()]
    return "\n".join([TEXT, *table(HEAD, rows)])


def dashboard(assembly: Assembly) -> list[dict[str, Any]]:
    """Give the widgets of the dashboard."""
    (resource,) = assembly.resources("AWS::CloudWatch::Dashboard")
    body = json.loads(assembly.name(resource["Properties"]["DashboardBody"]))
    return [widget | {"title": widget["properties"]["title"]} for widget in body["widgets"]]


def _read(alarm: dict[str, Any], assembly: Assembly) -> Watched:
    if "Metrics" not in alarm:
        return Watched(alarm, {"m": _metric(alarm, alarm["Period"], alarm, assembly)}, "m")
    (expression,) = [entry["Expression"] for entry in alarm["Metrics"] if entry["ReturnData"]]
    stats = {
        entry["Id"]: entry["MetricStat"] for entry in alarm["Metrics"] if not entry["ReturnData"]
    }
    metrics = {
        id_: _metric(stat["Metric"], stat["Period"], stat, assembly) for id_, stat in stats.items()
    }
    return Watched(alarm, metrics, expression)


def _metric(
    metric: dict[str, Any], period: int, stat: dict[str, Any], assembly: Assembly
) -> dict[str, Any]:
    dimensions = {
        dimension["Name"]: assembly.name(dimension["Value"]) for dimension in metric["Dimensions"]
    }
    return {
        "Namespace": metric["Namespace"],
        "Name": metric["MetricName"],
        "On": frozenset(dimensions.items()),
        "Period": period,
        "Statistic": stat.get("Stat") or stat.get("Statistic"),
    }


def _row(name: str, alarm: Watched, assembly: Assembly) -> list[str]:
    properties = alarm.properties
    alarm.reached(0)  # refuses other comparisons
    below = "below " if alarm.properties["ComparisonOperator"] == "LessThanThreshold" else ""
    return [
        name,
        f"`{alarm.expression}`",
        "<br>".join(_described(id_, metric, assembly) for id_, metric in alarm.metrics.items()),
        str(alarm.seconds),
        below + str(properties["Threshold"]),
        f"{properties['DatapointsToAlarm']} of {properties['EvaluationPeriods']}",
        properties["TreatMissingData"],
    ]


def _described(id_: str, metric: dict[str, Any], assembly: Assembly) -> str:
    whose = deployment(assembly)
    on = [f"{name} {_value(value, whose)}" for name, value in sorted(metric["On"])]
    return (
        f"{id_}: {metric['Statistic']} of {metric['Namespace']} {metric['Name']} ({', '.join(on)})"
    )


def _value(value: str, whose: str) -> str:
    """Name a thing alike in all deployments."""
    return "of the deployment" if value == whose else value


if __name__ == "__main__":
    write(PAGE, page)
