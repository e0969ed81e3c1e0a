"""Alarms look at what is counted, and ring when they should.

The functions' code is run, and what it tells CloudWatch is compared with what alarms and dashboard
ask for: nobody would notice an alarm on a metric that nobody emits.
"""

import json
import re
from dataclasses import replace
from time import time
from typing import Any

import pytest

from adminview.aws.observability import (
    BuildObserver,
    DriftObserver,
    Observability,
    TotalsObserver,
)
from adminview.aws.settings import NAMESPACE
from adminview.aws.totals_table import TotalsTable
from adminview.handlers.replay import replay
from adminview.handlers.sync import sync
from adminview.handlers.totals import TotalsRuntime, add_up
from adminview.handlers.verify import VerifyDependencies, verify
from adminview.model.total import ALL_TOTALS
from tests.infra.alarms import Counted, Watched, dashboard, watched
from tests.support.dead_letter_queue import Lab as ReplayLab
from tests.support.fakes import Context, make_runtime
from tests.support.model import USER
from tests.support.shop import registry
from tests.support.stream_records import record
from tests.support.synthesis import Assembly
from tests.support.verify_tables import Lab as VerifyLab

SERVICE = "AdminView-dev"
SOURCES = {source.name for source in registry().sources}


MALFORMED = {
    "shardId": "shardId-1",
    "Records": [
        {
            "eventName": "INSERT",
            "dynamodb": {
                "SequenceNumber": "100000000000000000001",
                "ApproximateCreationDateTime": 1_700_000_000,
                "NewImage": {"PK": {"S": "a"}, "SK": {"S": "b"}, "_totals": {"S": "no map"}},
            },
        }
    ],
}


def counted(printed: str) -> set[Counted]:
    """Read what CloudWatch would count."""
    metrics = set()
    for line in map(json.loads, printed.splitlines()):
        for reported in line.get("_aws", {}).get("CloudWatchMetrics", []):
            for dimensions in reported["Dimensions"]:
                where = frozenset((name, line[name]) for name in dimensions)
                metrics |= {
                    (reported["Namespace"], metric["Name"], where) for metric in reported["Metrics"]
                }
    return metrics


def verification(lab: VerifyLab, service: str) -> VerifyDependencies:
    observer = DriftObserver(service=service)
    return VerifyDependencies(lambda _: lab.bulk, observer, sleep=lab.sleep)


@pytest.fixture
def emitted(capsys: pytest.CaptureFixture[str]) -> set[Counted]:
    """Run what is deployed, and listen; every source counts alike, so one stands for all."""
    observer = Observability(service=SERVICE)
    runtime = make_runtime(registry(), observer=observer)
    sync({"Records": [record(registry().source("Users"), None, USER)]}, Context(), runtime)
    replay({}, Context(), ReplayLab().replayer, observer)
    verify({"sample": 1, "grace": 0.001}, Context(), verification(VerifyLab(), SERVICE))
    observer_of_totals = TotalsObserver(service=SERVICE)
    unused: Any = None  # by a batch whose only contribution is malformed
    table = TotalsTable(unused, "AdminViewTotals", time)
    add_up(MALFORMED, Context(), TotalsRuntime(table, observer_of_totals))
    DriftObserver(service=SERVICE).verified(ALL_TOTALS, {}, 0, "")
    BuildObserver(service=SERVICE).checked({}, 60.0)
    metrics = counted(capsys.readouterr().out)
    return {
        (namespace, name, frozenset({(on, _alike(on, value)) for on, value in where}))
        for namespace, name, where in metrics
    }


def _alike(dimension: str, value: str) -> str:
    """Let the names of all sources be one."""
    declared = {*SOURCES, "Things", "Notes"}
    return "any" if dimension == "source" and value in declared else value


def shown(assembly: Assembly) -> set[Counted]:
    """List what alarms and dashboard ask for in our own namespace."""
    requested = set().union(*(alarm.counted for alarm in watched(assembly).values()))
    for widget in dashboard(assembly)[1:]:
        for namespace, *rest in widget["properties"]["metrics"]:
            if namespace == NAMESPACE:
                name, *pairs = [part for part in rest if isinstance(part, str)]
                requested.add(
                    (namespace, name, frozenset(zip(pairs[::2], pairs[1::2], strict=True)))
                )
    return {metric for metric in requested if metric[0] == NAMESPACE}


@pytest.mark.parametrize("deployed", ["dev", "totals"])
def test_alarms_and_dashboard_ask_for_nothing_that_the_code_does_not_count(
    deployed: str, emitted: set[Counted], request: pytest.FixtureRequest
) -> None:
    requested = {
        (namespace, name, frozenset({(on, _alike(on, value)) for on, value in where}))
        for namespace, name, where in shown(request.getfixturevalue(deployed))
    }
    assert len(requested) > 10
    assert requested <= emitted, requested - emitted


def test_functions_count_in_the_name_of_their_deployment_and_alarms_ask_for_it(
    dev: Assembly, mixed: Assembly, totals: Assembly
) -> None:
    named = ((dev, SERVICE), (mixed, "team-a-AdminView-dev"), (totals, SERVICE))
    for assembly, service in named:
        reported = {
            function["Properties"]["Environment"]["Variables"]["POWERTOOLS_SERVICE_NAME"]
            for function in assembly.resources("AWS::Lambda::Function")
        }
        assert reported == {service}
        assert {dict(where)["service"] for _, _, where in shown(assembly)} == {service}


def test_only_a_run_over_all_sources_says_that_the_view_was_verified(
    dev: Assembly, capsys: pytest.CaptureFixture[str]
) -> None:
    ((_, name, where),) = watched(dev)["unverified"].counted
    lab = VerifyLab()
    event = {"sample": 1, "grace": 0.001, "source": "Notes"}
    verify(event, Context(), verification(lab, SERVICE))
    assert (NAMESPACE, name, where) not in counted(capsys.readouterr().out)
    verify({"sample": 1, "grace": 0.001}, Context(), verification(lab, SERVICE))
    assert (NAMESPACE, name, where) in counted(capsys.readouterr().out)


UNFILLED = re.compile(r"(?<!FILL\()\b[a-z]+")  # ids are written small, functions in capitals


def evaluate(alarm: Watched, **points: float | None) -> float | None:
    """Work out an expression at one point, as CloudWatch documents its functions.

    There is no point where one that is missing is not filled.
    """
    assert points.keys() == alarm.metrics.keys()
    if any(points[id_] is None for id_ in UNFILLED.findall(alarm.expression)):
        return None
    readable = alarm.expression.replace(" AND ", " and ").replace(" OR ", " or ")
    known = {
        "FILL": lambda point, value: value if point is None else point,
        "IF": lambda condition, then, otherwise: then if condition else otherwise,
    }
    return float(eval(readable, known, dict(points)))  # noqa: S307 - the template's own words


SILENT: dict[str, tuple[list[float | None], int]] = {
    "stopped, whether the table is written or not": ([None] * 3, 1),
    "stopped a while ago": ([1200, None, None, None], 1),
    # Write units are no part of it: a failed condition or an equal item consumes them, too.
    "idle: empty polls are counted": ([1200] * 3, 0),
    "restarted": ([None, None, 40], 0),
    "paused": ([1200, None, None], 0),
}


@pytest.mark.parametrize(("polls", "silent"), SILENT.values(), ids=SILENT)
def test_silence_is_a_stream_that_nobody_polls(
    totals: Assembly, polls: list[float | None], silent: int
) -> None:
    for name in ("silence-Orders", "totals-silence-AdminViewTable"):
        assert watched(totals)[name].rings(*polls) == silent


def test_an_expression_over_counts_adds_them_up(dev: Assembly) -> None:
    alarms = watched(dev)
    assert evaluate(alarms["letters"], visible=0, notvisible=2, delayed=1) == 3
    assert evaluate(alarms["index-throttling-GSI1"], reads=None, writes=4) == 4


def test_one_dead_letter_is_counted_though_sqs_reports_no_other_counts(dev: Assembly) -> None:
    alarm = watched(dev)["letters"]
    assert evaluate(alarm, visible=1, notvisible=None, delayed=None) == 1
    assert evaluate(alarm, visible=None, notvisible=None, delayed=1) == 1
    assert evaluate(alarm, visible=None, notvisible=None, delayed=None) == 0


def test_a_sum_of_which_a_part_is_missing_has_no_point(dev: Assembly) -> None:
    bare = replace(watched(dev)["letters"], expression="visible + FILL(notvisible, 0) + delayed")
    assert evaluate(bare, visible=1, notvisible=None, delayed=0) == 1
    assert evaluate(bare, visible=1, notvisible=0, delayed=None) is None


DAY = 86400.0
HOUR = 3600.0
# By alarm: points that ring it, then points that do not. None is a period without any count.
RINGS: dict[str, tuple[list[float | None], list[float | None]]] = {
    "lag-Orders": ([900, 1200, 2000], [900, 1200, None]),
    "lag-Users": ([900] * 3, [899] * 3),
    "iterator-age": ([6 * HOUR * 1000] * 3, [6 * HOUR * 1000 - 1] * 3),
    "silence-Orders": ([0, 0, 0], [0, 0, 1]),
    "dropped": ([1], [None]),
    "dropped-Orders": ([1], [None]),
    "totals-lag": ([HOUR * 1000] * 3, [HOUR * 1000 - 1] * 3),
    "totals-silence-AdminViewTable": ([None, None, None], [None, None, 1]),
    "totals-dropped-AdminViewTable": ([1], [0]),
    "totals-skipped": ([1], [None]),
    "totals-drift": ([1], [0]),
    "letters": ([1] * 6, [1, 1, 1, 1, 0, 1]),  # in-doubt dead letters come and go
    "oldest-letter": ([DAY], [DAY - 1]),
    "untouched-letter": ([HOUR] * 3, [HOUR - 1] * 3),
    "errors-Sync": ([3], [2]),
    "errors-Backfill": ([1] * 6, [9, 9, 9, 9, 9, 0]),
    "throttles-Sync": ([1, 1, 1], [50, 50, None]),
    "table-throttling-AdminViewTable": ([1, 1, 1], [50, 0, 50]),
    "index-throttling-GSI1": ([1, 1, 1], [50, 0, 50]),
    "drift-Orders": ([1], [0]),
    "unverified": ([1, 1], [1, 0]),
    "api-errors": ([3], [2]),
    "unbuilt": ([6 * HOUR], [6 * HOUR - 1]),
    "failed-execution-BackfillSegments": ([1], [None]),
}


@pytest.mark.parametrize("name", RINGS)
def test_an_alarm_rings_at_this_and_not_at_that(dev: Assembly, totals: Assembly, name: str) -> None:
    alarm, (bad, good) = (watched(totals) | watched(dev))[name], RINGS[name]
    assert alarm.rings(*bad) is True
    assert alarm.rings(*good) is False


def test_every_kind_of_alarm_has_been_made_to_ring(dev: Assembly, totals: Assembly) -> None:
    alarms = [*watched(dev).values(), *watched(totals).values()]
    kinds = {alarm.properties["AlarmDescription"].partition("#")[2] for alarm in alarms}
    assert {kind for kind in kinds if not any(name.startswith(kind) for name in RINGS)} == set()


def test_an_alarm_on_a_rare_metric_keeps_its_state_until_the_next_value(dev: Assembly) -> None:
    alarms = watched(dev)
    lasting = {
        name
        for name, alarm in alarms.items()
        if alarm.properties["TreatMissingData"] == "ignore" and alarm.rings(None) is None
    }
    drift = {"drift-unknown", "totals-drift", *(f"drift-{source}" for source in SOURCES)}
    assert lasting == drift | {"oldest-letter", "unbuilt"}
    assert [name for name, alarm in alarms.items() if alarm.rings(None, None)] == []
