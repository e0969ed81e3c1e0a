"""Read what a deployment has used from CloudWatch and DynamoDB."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from adminview.aws.aws_calls import Aws
from adminview.aws.settings import NAMESPACE, Settings
from adminview.aws.table_description import TableDescription, TableIndex
from adminview.cli.costing.usage import TABLE
from adminview.cli.costing.work import ROW_OVERHEAD
from adminview.model.total import totals_table

PERIOD: Final = 3600  # seconds
COUNTS: Final = ("Records", "Written", "Unchanged", "RowsPut", "RowsDeleted")
METRIC_LIMIT: Final = 500  # metrics per call, set by CloudWatch

Metric = tuple[str, str, tuple[tuple[str, str], ...]]  # namespace, name, dimensions
Sums = Mapping[Metric, float]  # metrics without data points are absent


@dataclass(frozen=True, slots=True)
class SourceCounts:
    """What happened to a source's records in the whole period."""

    records: float = 0.0
    written: float = 0.0
    unchanged: float = 0.0
    rows_put: float = 0.0
    rows_deleted: float = 0.0

    @property
    def rows(self) -> float:
        return self.rows_put + self.rows_deleted


@dataclass(frozen=True, slots=True)
class Observed:
    """The totals of a period; None where CloudWatch has no data."""

    seconds: float
    sources: Mapping[str, SourceCounts | None]
    units: Mapping[str, float | None]  # of the table (TABLE) and of each index
    function_seconds: float | None
    invocations: float | None
    log_bytes: float | None
    memory_mb: int
    table_bytes: float
    index_bytes: Mapping[str, float] = field(default_factory=dict)
    recoverable: bool = True
    totals: "ObservedTotals | None" = None


@dataclass(frozen=True, slots=True)
class ObservedTotals:
    """What the totals table and the totals function used in the period."""

    units: float  # of the table and its index
    function_seconds: float
    invocations: float
    memory_mb: int
    table_bytes: float  # with its index


def observe(  # noqa: PLR0913 - what is read, and of when
    aws: Aws,
    settings: Settings,
    function: str,
    hours: int,
    now: datetime,
    *,
    totals_function: str | None = None,
) -> Observed:
    """Read the sums of the last full hours."""
    described = aws.call("dynamodb", "DescribeTable", TableName=settings.view_table)
    table = TableDescription.of(described["Table"])
    backups = aws.call("dynamodb", "DescribeContinuousBackups", TableName=settings.view_table)
    configuration = aws.call("lambda", "GetFunctionConfiguration", FunctionName=function)
    indexes = {index.name: _bytes(index) for index in table.indexes if not index.local}
    end = now.replace(minute=0, second=0, microsecond=0)
    logging = configuration.get("LoggingConfig", {})
    log_group = logging.get("LogGroup", f"/aws/lambda/{function}")
    counted = {name: _count_metrics(settings.service, name) for name in settings.sources}
    units = {name: _units(settings.view_table, name) for name in (TABLE, *indexes)}
    duration, invocations = _calls(function)
    logs = ("AWS/Logs", "IncomingBytes", (("LogGroupName", log_group),))
    metrics = [
        *(metric for counts in counted.values() for metric in counts),
        *units.values(),
        *(duration, invocations, logs),
    ]
    sums = _sums(aws, metrics, end - timedelta(hours=hours), end)
    milliseconds = sums.get(duration)
    recovery = backups["ContinuousBackupsDescription"].get("PointInTimeRecoveryDescription", {})
    return Observed(
        hours * PERIOD,
        {name: _counts(metrics, sums) for name, metrics in counted.items()},
        {name: sums.get(metric) for name, metric in units.items()},
        None if milliseconds is None else milliseconds / 1000,
        sums.get(invocations),
        sums.get(logs),
        int(configuration["MemorySize"]),
        _bytes(table),
        indexes,
        recovery.get("PointInTimeRecoveryStatus") == "ENABLED",
        _totals(aws, totals_table(settings.view_table), totals_function, (hours, end))
        if totals_function
        else None,
    )


def _totals(aws: Aws, table: str, function: str, period: tuple[int, datetime]) -> ObservedTotals:
    described = TableDescription.of(aws.call("dynamodb", "DescribeTable", TableName=table)["Table"])
    configuration = aws.call("lambda", "GetFunctionConfiguration", FunctionName=function)
    units = [_units(table, name) for name in (TABLE, *(index.name for index in described.indexes))]
    duration, invocations = _calls(function)
    hours, end = period
    sums = _sums(aws, [*units, duration, invocations], end - timedelta(hours=hours), end)
    return ObservedTotals(
        sum(sums.get(metric, 0.0) for metric in units),
        sums.get(duration, 0.0) / 1000,
        sums.get(invocations, 0.0),
        int(configuration["MemorySize"]),
        _bytes(described) + sum(map(_bytes, described.indexes)),
    )


def _calls(function: str) -> tuple[Metric, Metric]:
    """Return the metrics of a function's duration and of its invocations."""
    where = (("FunctionName", function),)
    return ("AWS/Lambda", "Duration", where), ("AWS/Lambda", "Invocations", where)


def _bytes(stored: TableDescription | TableIndex) -> float:
    """Return a size as it is billed; DynamoDB updates it about every six hours."""
    return float(stored.bytes + stored.items * ROW_OVERHEAD)


def _count_metrics(service: str, source: str) -> list[Metric]:
    dimensions = (("service", service), ("source", source))
    return [(NAMESPACE, name, dimensions) for name in COUNTS]


def _units(table: str, index: str) -> Metric:
    where = (("TableName", table), *([("GlobalSecondaryIndexName", index)] if index else []))
    return "AWS/DynamoDB", "ConsumedWriteCapacityUnits", where


def _counts(metrics: list[Metric], sums: Sums) -> SourceCounts | None:
    if not any(metric in sums for metric in metrics):
        return None
    return SourceCounts(*(sums.get(metric, 0.0) for metric in metrics))


def _sums(aws: Aws, metrics: list[Metric], since: datetime, end: datetime) -> Sums:
    sums: dict[Metric, float] = {}
    for start in range(0, len(metrics), METRIC_LIMIT):
        batch = metrics[start : start + METRIC_LIMIT]
        for position, values in _values(aws, batch, since, end):
            if values:
                metric = batch[position]
                sums[metric] = sums.get(metric, 0.0) + sum(values)
    return sums


def _values(
    aws: Aws, metrics: Iterable[Metric], since: datetime, end: datetime
) -> Iterator[tuple[int, list[float]]]:
    request: dict[str, Any] = {
        "MetricDataQueries": [
            {"Id": f"m{position}", "MetricStat": _statistic(metric)}
            for position, metric in enumerate(metrics)
        ],
        "StartTime": since,
        "EndTime": end,
    }
    while True:
        response = aws.call("cloudwatch", "GetMetricData", **request)
        for result in response["MetricDataResults"]:
            yield int(result["Id"][1:]), result["Values"]
        if not (token := response.get("NextToken")):
            return
        request["NextToken"] = token


def _statistic(metric: Metric) -> dict[str, Any]:
    namespace, name, dimensions = metric
    return {
        "Metric": {
            "Namespace": namespace,
            "MetricName": name,
            "Dimensions": [{"Name": key, "Value": value} for key, value in dimensions],
        },
        "Period": PERIOD,
        "Stat": "Sum",
    }
