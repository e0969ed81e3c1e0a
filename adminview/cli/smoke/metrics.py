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
    SmokeStatus,
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
POLLED: Final = "PolledEventCount"
OF_MAPPING: Final = (POLLED, "InvokedEventCount")
RARE: Final = (
    "FilteredOutEventCount",
    "FailedInvokeEventCount",
    "DroppedEventCount",
    "OnFailureDestinationDeliveredEventCount",
)
IDLE: Final = "idle"  # the records of each minute
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
    polled = next(metric for metric in metrics if metric.name == POLLED)
    used = {*METRIC_NAME.findall(json.dumps(_watch_template(run)))}
    began = run.clock()
    while True:
        queries = [metric.query(f"m{place}") for place, metric in enumerate(metrics)]
        values = _values(run, [*queries, polled.query(IDLE, "Sum")])
        present = [metric.name for place, metric in enumerate(metrics) if values.get(f"m{place}")]
        missing = {metric.name for metric in metrics} - {*present} - {*RARE}
        idle = sum(1 for records in values.get(IDLE, ()) if records == 0)
        seen = evaluate_metrics(present, missing, used, idle)
        late = run.clock() - began > run.patience(LATE_SECONDS)
        if seen.status is not SmokeStatus.FAILED or late:
            return seen
        run.pause(run.patience(POLL_SECONDS))


def evaluate_metrics(
    present: Sequence[str], missing: set[str], used: set[str], idle_minutes: int
) -> Seen:
    """Evaluate which metrics have data; *used* are those of the deployed alarms.

    In *idle_minutes*, the mapping has counted polls and no records.
    """
    line = f"with data: {', '.join(present) or 'none'}"
    if missing:
        line += f"; without: {', '.join(sorted(missing))}"
    line += f"; {POLLED} counts empty polls in {idle_minutes} minutes"
    if needed := sorted(missing & used):
        advice = f"report it: alarms use {', '.join(needed)}, and would not ring"
        return failed(line, advice)
    if POLLED in used and not idle_minutes:
        return failed(line, "report it: the silence alarms of idle sources would ring")
    if not used:
        return unknown(line, "deploy the Watch stack: its alarms name the metrics that matter")
    return passed(line)


def fill_absent(run: SmokeRun, cleanup: Cleanup) -> Seen:
    """Evaluate the form of the alarms' sums with a metric that has never had data."""
    item = _touch(run, cleanup)
    absent = NamedMetric(NAMESPACE, "Records", {"service": run.mark})
    written = NamedMetric(STREAM, "ConsumedWriteCapacityUnits", {"TableName": item.route.table})
    expressions = {
        "filled": "FILL(absent, 0)",
        "sum": "FILL(absent, 0) + FILL(written, 0)",
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
    """Evaluate the points of the filled metric, and of its sum with one that has data."""
    if not any(values.get("written", ())):
        msg = "CloudWatch does not show the write yet"
        raise UnknownError(msg, "repeat this check: --only 8")
    sums, written = values.get("sum", ()), sum(values["written"])
    line = (
        f"FILL of no data: {len(values.get('filled', ()))} points; its sum with a metric of "
        f"{written:g}: {sum(sums):g} in {len(sums)} points"
    )
    if sum(sums) == written:
        return passed(line)
    advice = "report it: alarms on throttling and dead letters would not ring"
    return failed(line, advice)


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
    stream = {
        "TableName": table,
        "StreamLabel": str(run.table(table).stream_arn).rpartition("/")[2],
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
        "CloudWatch has the metrics that alarms use, five minutes after a write",
        "metrics that alarms use have data, and the mapping of an idle source counts empty polls",
        list_metrics,
        minutes=1,
        cents=2,
        after_minutes=FIRST_SECONDS / 60,
        only_on_aws=True,
    ),
    SmokeCheck(
        8,
        "FILL works on a metric without data",
        "FILL(absent, 0) + FILL(present, 0) is the value of the metric that has data",
        fill_absent,
        minutes=0.1,
        cents=0.1,
        after_minutes=FIRST_SECONDS / 60,
        only_on_aws=True,
    ),
)
