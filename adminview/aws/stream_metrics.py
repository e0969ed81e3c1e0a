"""CloudWatch metrics of the sources, their streams and the sync function."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from adminview.aws.deadline import Deadline
from adminview.aws.retry import Backoff, call_with_retry
from adminview.aws.settings import PulseSettings

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch import CloudWatchClient

WINDOW: Final = timedelta(hours=24)  # the retention of a stream
RECENT: Final = timedelta(minutes=15)
# Metrics arrive minutes late: a stream may have delivered the latest writes already.
GRACE: Final = timedelta(minutes=5)
PERIOD: Final = 60  # seconds, the resolution of these metrics
REMEMBERED: Final = timedelta(seconds=PERIOD)  # each metric that is read costs money
SECONDS: Final = 10.0

Points = dict[datetime, float]


@dataclass(frozen=True, slots=True)
class SourceActivity:
    """The latest activity of one source."""

    written: datetime | None  # last write, not counting the last minutes
    read: datetime | None  # when its stream last delivered records, to any reader


@dataclass(frozen=True, slots=True)
class Reading:
    """The latest activity of the sources and of the sync function."""

    beats: Mapping[str, SourceActivity]
    invoked: datetime | None  # when the sync last ran
    # Seconds, of the oldest record of the latest runs; None if there was no recent run.
    age: float | None


def now() -> datetime:
    return datetime.now(tz=UTC)


class StreamMetrics:
    """Reads the metrics of one deployment, at most once a minute.

    Write units are the only metric that counts every kind of write; a write that changes nothing (a
    failed condition, an equal item) consumes them too. *client* is called only when it is needed:
    most containers never serve `/health`.
    """

    def __init__(
        self,
        client: Callable[[], "CloudWatchClient"],
        tables: Mapping[str, str],
        settings: PulseSettings,
        *,
        clock: Callable[[], datetime] = now,
        backoff: Backoff | None = None,
    ) -> None:
        self._client = client
        self._tables = tables
        self._settings = settings
        self._clock = clock
        self._backoff = backoff or Backoff()
        self._last: tuple[datetime, Reading] | None = None

    def read(self) -> Reading:
        """Return the latest activity; raises a ServiceError."""
        at = self._clock()
        if self._last is None or at - self._last[0] >= REMEMBERED:
            self._last = at, self._read(at)
        return self._last[1]

    def _read(self, at: datetime) -> Reading:
        names = list(self._tables)
        metrics = [_invocations(self._settings.function), age_metric(self._settings.function)]
        for name in names:
            table = self._tables[name]
            metrics += [
                written_metric(table),
                returned_metric(table, self._settings.streams[name]),
            ]
        invoked, age, *beats = self._points(metrics, at)
        recent = {when: value for when, value in age.items() if when >= at - RECENT}
        return Reading(
            beats={
                name: SourceActivity(_last(written, before=at - GRACE), _last(read))
                for name, written, read in zip(names, beats[::2], beats[1::2], strict=True)
            },
            invoked=_last(invoked),
            age=recent[max(recent)] / 1000 if recent else None,
        )

    def _points(self, metrics: list[dict[str, Any]], at: datetime) -> list[Points]:
        """Read all metrics in one request, and return the points of each."""
        request: dict[str, Any] = {
            "MetricDataQueries": [
                {"Id": f"m{place}", "MetricStat": {**metric, "Period": PERIOD}}
                for place, metric in enumerate(metrics)
            ],
            "StartTime": at - WINDOW,
            "EndTime": at,
        }
        points: dict[str, Points] = {f"m{place}": {} for place in range(len(metrics))}
        deadline = Deadline.after(SECONDS)
        while True:
            call = partial(self._client().get_metric_data, **request)
            response: Any = call_with_retry(call, "read metrics", self._backoff, deadline)
            for result in response["MetricDataResults"]:
                values = zip(result["Timestamps"], result["Values"], strict=True)
                points[result["Id"]].update(values)
            if not (token := response.get("NextToken")):
                return list(points.values())
            request["NextToken"] = token


def _last(points: Points, before: datetime | None = None) -> datetime | None:
    """Return the time of the last point above zero."""
    times = [when for when, value in points.items() if value and (not before or when < before)]
    return max(times, default=None)


def written_metric(table: str) -> dict[str, Any]:
    """Return the metric of a table's consumed write units."""
    return _metric("AWS/DynamoDB", "ConsumedWriteCapacityUnits", "Sum", TableName=table)


def returned_metric(table: str, label: str) -> dict[str, Any]:
    """Return the metric of the records that a stream delivered, to any reader."""
    return _of_stream("ReturnedRecordsCount", "Sum", table, label)


def polled_metric(table: str, label: str) -> dict[str, Any]:
    """Return the metric of the reads of a stream, empty ones included."""
    return _of_stream("SuccessfulRequestLatency", "SampleCount", table, label)


def _of_stream(name: str, statistic: str, table: str, label: str) -> dict[str, Any]:
    where = {"TableName": table, "StreamLabel": label, "Operation": "GetRecords"}
    return _metric("AWS/DynamoDB", name, statistic, **where)


def _invocations(function: str) -> dict[str, Any]:
    return _metric("AWS/Lambda", "Invocations", "Sum", FunctionName=function)


def age_metric(function: str) -> dict[str, Any]:
    """Return the metric of the age of a function's records, in milliseconds."""
    return _metric("AWS/Lambda", "IteratorAge", "Maximum", FunctionName=function)


def _metric(namespace: str, name: str, statistic: str, **dimensions: str) -> dict[str, Any]:
    where = [{"Name": dimension, "Value": value} for dimension, value in dimensions.items()]
    return {
        "Metric": {"Namespace": namespace, "MetricName": name, "Dimensions": where},
        "Stat": statistic,
    }
