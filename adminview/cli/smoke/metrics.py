"""Checks 7 and 8: which metrics CloudWatch has, and how it fills a metric without data."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from adminview.aws.settings import NAMESPACE, SYNC_FUNCTION_OUTPUT
from adminview.cli.deployment.stacks import SYNC, WATCH
from adminview.cli.smoke.check import (
    Cleanup,
    Seen,
    SmokeCheck,
    UnknownError,
    failed,
    passed,
    unknown,
)
from adminview.cli.smoke.run import SmokeRun
from adminview.cli.smoke.scratch import ScratchItem

PERIOD: Final = 60
WINDOW: Final = timedelta(minutes=30)
FIRST_SECONDS: Final = 300.0  # after a write, CloudWatch is expected to have its metrics
LATE_SECONDS: Final = 240.0  # more, before a metric counts as absent
POLL_SECONDS: Final = 20.0  # each metric that is read costs money
STREAM, LAMBDA = "AWS/DynamoDB", "AWS/Lambda"
# What a mapping counts with MetricsConfig EventCount. The first two have data after each change.
OF_MAPPING: Final = ("PolledEventCount", "InvokedEventCount")
RARE: Final = (
    "FilteredOutEventCount",
    "FailedInvokeEventCount",
    "DroppedEventCount",
    "OnFailureDestinationDeliveredEventCount",
)
METRIC_NAME: Final = re.compile(r'"MetricName": "(\w+)"')


@dataclass(frozen=True, slots=True)
class NamedMetric:
    """A metric with its dimensions."""

    namespace: str
    name: str
    dimensions: Mapping[str, str]

    def query(self, id_: str, statistic: str = "SampleCount", *, shown: bool = True) -> Any:
        """Return the query of GetMetricData."""
        where = [{"Name": name, "Value": value} for name, value in self.dimensions.items()]
        metric = {"Namespace": self.namespace, "MetricName": self.name, "Dimensions": where}
        return {
            "Id": id_,
            "MetricStat": {"Metric": metric, "Stat": statistic, "Period": PERIOD},
            "ReturnData": shown,
        }


def list_metrics(run: SmokeRun, cleanup: Cleanup) -> Seen:
    """Wait five minutes after a write, and list the metrics that have data."""
    item = _touch(run, cleanup)
    metrics = [*_metrics(run, item)]
    used = {*METRIC_NAME.findall(json.dumps(_watch_template(run)))}
    present: list[str] = []
    began = run.clock()
    while True:
        present = _present(run, metrics)
        missing = {metric.name for metric in metrics} - {*present} - {*RARE}
        if not missing & used or run.clock() - began > run.patience(LATE_SECONDS):
            return evaluate_metrics(present, missing, used)
        run.pause(run.patience(POLL_SECONDS))


def evaluate_metrics(present: Sequence[str], missing: set[str], used: set[str]) -> Seen:
    """Evaluate which metrics have data; *used* are those of the deployed alarms."""
    line = f"with data: {', '.join(present) or 'none'}"
    if missing:
        line += f"; without: {', '.join(sorted(missing))}"
    if needed := sorted(missing & used):
        advice = f"report it: alarms use {', '.join(needed)}, and would not ring"
        return failed(line, advice)
    if not used:
        return unknown(line, "deploy the Watch stack: its alarms name the metrics that matter")
    return passed(line)


def fill_absent(run: SmokeRun, cleanup: Cleanup) -> Seen:
    """Evaluate the form of the silence alarms with a metric that has never had data."""
    item = _touch(run, cleanup)
    absent = NamedMetric(NAMESPACE, "Records", {"service": run.mark})
    written = NamedMetric(STREAM, "ConsumedWriteCapacityUnits", {"TableName": item.route.table})
    expressions = {
        "filled": "FILL(absent, 0)",
        "silent": "IF(FILL(absent, 0) == 0 AND FILL(written, 0) > 0, 1, 0)",
    }
    values = _values(
        run,
        [
            absent.query("absent", shown=False),
            written.query("written", "Sum"),
            *({"Id": id_, "Expression": text} for id_, text in expressions.items()),
        ],
    )
    return evaluate_fill(values)


def evaluate_fill(values: Mapping[str, Sequence[float]]) -> Seen:
    """Evaluate the points of the filled metric, and of the form of a silence alarm."""
    if not any(values.get("written", ())):
        msg = "CloudWatch does not show the write yet"
        raise UnknownError(msg, "repeat this check: --only 8")
    silent = values.get("silent", ())
    line = f"FILL of no data: {len(values.get('filled', ()))} points; IF of it: {len(silent)}"
    if any(value == 1 for value in silent):
        return passed(f"{line}, one of them at least is 1")
    return failed(f"{line}, none of them is 1", "report it: silence alarms would not ring")


def _touch(run: SmokeRun, cleanup: Cleanup) -> ScratchItem:
    """Return an item that was written at least five minutes ago, in this run."""
    item = run.any_scratch("")
    if run.written_at is None:
        run.put(item, cleanup)
        run.delete(item)
    assert run.written_at is not None
    left = run.written_at + run.patience(FIRST_SECONDS) - run.now()
    if left > 0:
        run.pause(left)
    return item


def _metrics(run: SmokeRun, item: ScratchItem) -> Iterator[NamedMetric]:
    table, source = item.route.table, item.route.source.name
    described = run.call("dynamodb", "DescribeTable", TableName=table)["Table"]
    stream = {
        "TableName": table,
        "StreamLabel": described["LatestStreamLabel"],
        "Operation": "GetRecords",
    }
    function = {"FunctionName": run.deployment.output(SYNC, SYNC_FUNCTION_OUTPUT)}
    mapping = {"EventSourceMappingUUID": run.deployment.mappings[source]}
    yield NamedMetric(STREAM, "ConsumedWriteCapacityUnits", {"TableName": table})
    for name in ("ReturnedRecordsCount", "SuccessfulRequestLatency"):
        yield NamedMetric(STREAM, name, stream)
    for name in ("Invocations", "IteratorAge"):
        yield NamedMetric(LAMBDA, name, function)
    for name in (*OF_MAPPING, *RARE):
        yield NamedMetric(LAMBDA, name, mapping)
    yield NamedMetric(NAMESPACE, "Records", {"service": run.settings.service, "source": source})


def _present(run: SmokeRun, metrics: Sequence[NamedMetric]) -> list[str]:
    queries = [metric.query(f"m{place}") for place, metric in enumerate(metrics)]
    values = _values(run, queries)
    return [metric.name for place, metric in enumerate(metrics) if values.get(f"m{place}")]


def _values(run: SmokeRun, queries: Iterable[Any]) -> dict[str, list[float]]:
    end = datetime.fromtimestamp(run.now(), tz=UTC)
    response = run.call(
        "cloudwatch",
        "GetMetricData",
        MetricDataQueries=[*queries],
        StartTime=end - WINDOW,
        EndTime=end,
    )
    return {result["Id"]: result["Values"] for result in response["MetricDataResults"]}


def _watch_template(run: SmokeRun) -> Any:
    stack = run.deployment.part(WATCH).stack
    return stack.template if stack else {}


CHECKS: Final = (
    SmokeCheck(
        7,
        "CloudWatch has the metrics that alarms and /health use, five minutes after a write",
        "stream reads by Lambda and the counts of the mapping have data for a source",
        list_metrics,
        minutes=1,
        cents=2,
        after_minutes=FIRST_SECONDS / 60,
        only_on_aws=True,
    ),
    SmokeCheck(
        8,
        "FILL works on a metric without data",
        "IF(FILL(absent, 0) == 0 AND …) is evaluated, so that a silent source rings",
        fill_absent,
        minutes=0.1,
        cents=0.1,
        after_minutes=FIRST_SECONDS / 60,
        only_on_aws=True,
    ),
)
