"""What a deployment has used, by CloudWatch's and DynamoDB's own counts."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from adminview.aws.settings import NAMESPACE, Settings
from adminview.aws.table_description import TableDescription, TableIndex
from adminview.cli.costing.usage import TABLE
from adminview.cli.costing.work import ROW_OVERHEAD
from adminview.cli.deployment.aws_calls import Aws

PERIOD: Final = 3600  # seconds
COUNTS: Final = ("Records", "Written", "Unchanged", "RowsPut", "RowsDeleted")
MAX_CONCURRENCY: Final = 500  # metrics that CloudWatch takes in one call

Metric = tuple[str, str, tuple[tuple[str, str], ...]]  # namespace, name, dimensions
Sums = Mapping[Metric, float]  # those that have any points


@dataclass(frozen=True, slots=True)
class Counted:
    """What became of a source's records, in all the hours."""

    records: float = 0.0
    written: float = 0.0
    unchanged: float = 0.0
    rows_put: float = 0.0
    rows_deleted: float = 0.0

    @property
    def rows(self) -> float:
        """Rows that were written, to put or to delete them."""
        return self.rows_put + self.rows_deleted


@dataclass(frozen=True, slots=True)
class Observed:
    """All that was counted in some hours; None where CloudWatch has no such metric."""

    seconds: float
    sources: Mapping[str, Counted | None]
    units: Mapping[str, float | None]  # of the table (TABLE) and of each index
    function_seconds: float | None
    invocations: float | None
    log_bytes: float | None
    memory_mb: int
    table_bytes: float
    index_bytes: Mapping[str, float] = field(default_factory=dict)
    recoverable: bool = True


def observe(aws: Aws, settings: Settings, function: str, hours: int, now: datetime) -> Observed:
    """Ask for the last whole hours."""
    described = aws.ask("dynamodb", "DescribeTable", TableName=settings.view_table)
    table = TableDescription.of(described["Table"])
    backups = aws.ask("dynamodb", "DescribeContinuousBackups", TableName=settings.view_table)
    told = aws.ask("lambda", "GetFunctionConfiguration", FunctionName=function)
    indexes = {one.name: _bytes(one) for one in table.indexes if not one.local}
    deadline = now.replace(minute=0, second=0, microsecond=0)
    log_group = told.get("LoggingConfig", {}).get("LogGroup", f"/aws/lambda/{function}")
    ours = {name: _ours(settings.service, name) for name in settings.sources}
    units = {name: _units(settings.view_table, name) for name in (TABLE, *indexes)}
    duration, invocations = (
        ("AWS/Lambda", name, (("FunctionName", function),)) for name in ("Duration", "Invocations")
    )
    logs = ("AWS/Logs", "IncomingBytes", (("LogGroupName", log_group),))
    asked = [*(one for each in ours.values() for one in each), *units.values()]
    found = _sums(
        aws, [*asked, duration, invocations, logs], deadline - timedelta(hours=hours), deadline
    )
    milliseconds = found.get(duration)
    recovery = backups["ContinuousBackupsDescription"].get("PointInTimeRecoveryDescription", {})
    return Observed(
        hours * PERIOD,
        {name: _counted(metrics, found) for name, metrics in ours.items()},
        {name: found.get(one) for name, one in units.items()},
        None if milliseconds is None else milliseconds / 1000,
        found.get(invocations),
        found.get(logs),
        int(told["MemorySize"]),
        _bytes(table),
        indexes,
        recovery.get("PointInTimeRecoveryStatus") == "ENABLED",
    )


def _bytes(stored: TableDescription | TableIndex) -> float:
    """Compute a size as it is billed: DynamoDB looks about every six hours."""
    return float(stored.bytes + stored.items * ROW_OVERHEAD)


def _ours(service: str, source: str) -> list[Metric]:
    dimensions = (("service", service), ("source", source))
    return [(NAMESPACE, name, dimensions) for name in COUNTS]


def _units(table: str, index: str) -> Metric:
    where = (("TableName", table), *([("GlobalSecondaryIndexName", index)] if index else []))
    return "AWS/DynamoDB", "ConsumedWriteCapacityUnits", where


def _counted(metrics: list[Metric], found: Sums) -> Counted | None:
    if not any(one in found for one in metrics):
        return None
    return Counted(*(found.get(one, 0.0) for one in metrics))


def _sums(aws: Aws, metrics: list[Metric], since: datetime, deadline: datetime) -> Sums:
    sums: dict[Metric, float] = {}
    for start in range(0, len(metrics), MAX_CONCURRENCY):
        some = metrics[start : start + MAX_CONCURRENCY]
        for place, values in _values(aws, some, since, deadline):
            if values:
                sums[some[place]] = sums.get(some[place], 0.0) + sum(values)
    return sums


def _values(
    aws: Aws, metrics: Iterable[Metric], since: datetime, deadline: datetime
) -> Iterator[tuple[int, list[float]]]:
    asked: dict[str, Any] = {
        "MetricDataQueries": [
            {"Id": f"m{place}", "MetricStat": _statistic(metric)}
            for place, metric in enumerate(metrics)
        ],
        "StartTime": since,
        "EndTime": deadline,
    }
    while True:
        answer = aws.ask("cloudwatch", "GetMetricData", **asked)
        for one in answer["MetricDataResults"]:
            yield int(one["Id"][1:]), one["Values"]
        if not (token := answer.get("NextToken")):
            return
        asked["NextToken"] = token


def _statistic(metric: Metric) -> dict[str, Any]:
    namespace, name, dimensions = metric
    return {
        "Metric": {
            "Namespace": namespace,
            "MetricName": name,
            "Dimensions": [{"Name": one, "Value": value} for one, value in dimensions],
        },
        "Period": PERIOD,
        "Stat": "Sum",
    }
