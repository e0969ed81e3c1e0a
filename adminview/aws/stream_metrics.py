"""What CloudWatch knows of the sources, their streams and the sync function."""

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

WINDOW: Final = timedelta(hours=24)  # as long as a stream keeps what nobody reads
RECENT: Final = timedelta(minutes=15)
# Metrics come minutes late: what was written only just now may have been read all the same.
GRACE: Final = timedelta(minutes=5)
PERIOD: Final = 60  # seconds; AWS counts all of these by the minute
REMEMBERED: Final = timedelta(seconds=PERIOD)  # each metric asked for costs money
SECONDS: Final = 10.0

Points = dict[datetime, float]


@dataclass(frozen=True, slots=True)
class SourceActivity:
    """What happened at one source lately."""

    written: datetime | None  # when it was last written, long enough ago to have been read since
    read: datetime | None  # when its stream last gave records, to whoever follows it


@dataclass(frozen=True, slots=True)
class Reading:
    """What happened lately, at each source and in the sync function."""

    beats: Mapping[str, SourceActivity]
    invoked: datetime | None  # when the sync last ran
    age: float | None  # seconds, of the oldest record of its last runs; None if none was recent


def now() -> datetime:
    """Look at the clock."""
    return datetime.now(tz=UTC)


class StreamMetrics:
    """Reads the metrics of one deployment, once a minute at most.

    Write units are the one count of changes that AWS keeps for every kind of write; a write that
    changes nothing (a failed condition, the same item again) consumes them too. *client* is called
    when it is needed: most containers are never asked for their health.
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
        """Say what happened lately."""
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
        """Ask for all metrics at once, and give the points of each."""
        asked: dict[str, Any] = {
            "MetricDataQueries": [
                {"Id": f"m{place}", "MetricStat": {**metric, "Period": PERIOD}}
                for place, metric in enumerate(metrics)
            ],
            "StartTime": at - WINDOW,
            "EndTime": at,
        }
        found: dict[str, Points] = {f"m{place}": {} for place in range(len(metrics))}
        deadline = Deadline.after(SECONDS)
        while True:
            call = partial(self._client().get_metric_data, **asked)
            answer: Any = call_with_retry(call, "read metrics", self._backoff, deadline)
            for one in answer["MetricDataResults"]:
                found[one["Id"]].update(zip(one["Timestamps"], one["Values"], strict=True))
            if not (token := answer.get("NextToken")):
                return list(found.values())
            asked["NextToken"] = token


def _last(points: Points, before: datetime | None = None) -> datetime | None:
    """Find when something was last counted."""
    times = [when for when, value in points.items() if value and (not before or when < before)]
    return max(times, default=None)


def written_metric(table: str) -> dict[str, Any]:
    """Name the count of what was written to a table."""
    return _metric("AWS/DynamoDB", "ConsumedWriteCapacityUnits", "Sum", TableName=table)


def returned_metric(table: str, label: str) -> dict[str, Any]:
    """Name the count of records that a stream gave, to whoever follows it."""
    return _of_stream("ReturnedRecordsCount", "Sum", table, label)


def polled_metric(table: str, label: str) -> dict[str, Any]:
    """Name the count of times that a stream was asked for records, though it had none."""
    return _of_stream("SuccessfulRequestLatency", "SampleCount", table, label)


def _of_stream(name: str, statistic: str, table: str, label: str) -> dict[str, Any]:
    where = {"TableName": table, "StreamLabel": label, "Operation": "GetRecords"}
    return _metric("AWS/DynamoDB", name, statistic, **where)


def _invocations(function: str) -> dict[str, Any]:
    return _metric("AWS/Lambda", "Invocations", "Sum", FunctionName=function)


def age_metric(function: str) -> dict[str, Any]:
    """Name the age of the records that a function is given, in milliseconds."""
    return _metric("AWS/Lambda", "IteratorAge", "Maximum", FunctionName=function)


def _metric(namespace: str, name: str, statistic: str, **dimensions: str) -> dict[str, Any]:
    where = [{"Name": dimension, "Value": value} for dimension, value in dimensions.items()]
    return {
        "Metric": {"Namespace": namespace, "MetricName": name, "Dimensions": where},
        "Stat": statistic,
    }
