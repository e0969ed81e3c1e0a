"""The status of a deployment: its metrics, alarms and queue, read with the operator's credentials.

CloudWatch bills each metric that is read, so a status is kept for half a minute.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from threading import Lock
from time import time
from typing import Any, Final

from adminview.aws.concurrency import batched
from adminview.aws.deadline import Deadline
from adminview.aws.observability import CHECKED, DRIFT, LAG, UNFINISHED
from adminview.aws.settings import NAMESPACE, Settings, deployment_name
from adminview.cli.console.local_status import NO_QUEUE, NO_VERIFICATION, TIMEOUT
from adminview.cli.console.progress import ProgressReader
from adminview.cli.deployment.deployment import Deployment
from adminview.http_api.health import SILENCE
from adminview.http_api.operations.dead_letters import DeadLetters
from adminview.http_api.operations.letters import queue_counts
from adminview.http_api.operations.status import (
    COUNT,
    SECONDS,
    AlarmSummary,
    Measure,
    ProgressFacts,
    RingingAlarm,
    SourceStatus,
    StatusFacts,
)
from adminview.model import Registry
from adminview.model.errors import AdminViewError

REMEMBERED: Final = 30.0  # seconds
RECENT: Final = timedelta(minutes=15)
VERIFIED: Final = timedelta(days=8)  # the schedule is daily or weekly
MINUTE, HOUR = 60, 3600
QUERY_LIMIT: Final = 500  # metrics per GetMetricData, set by CloudWatch
RECORDS, PUT, DELETED = "Records", "RowsPut", "RowsDeleted"
NO_DATA: Final = "no batch was reported in the last 15 minutes"
NOT_LISTED: Final = "list the dead letters to count them by source"

Points = Mapping[tuple[str, str], list[tuple[float, float]]]  # by source and metric: time, value


@dataclass(slots=True, kw_only=True)
class StageStatus:
    """Reads the status of one deployment."""

    registry: Registry
    settings: Settings
    deployment: Deployment
    progress_reader: ProgressReader
    letters: DeadLetters | None
    now: Callable[[], float] = time
    _last: StatusFacts | None = None
    _lock: Lock = field(default_factory=Lock)

    def progress(self) -> ProgressFacts:
        return self.progress_reader.read()

    def status(self) -> StatusFacts:
        with self._lock:
            if self._last is None or self.now() - self._last.at >= REMEMBERED:
                self._last = self._read(self.deployment.fresh())
            return self._last

    def _read(self, deployment: Deployment) -> StatusFacts:
        problems: list[str] = []
        waiting = None
        try:
            waiting = self._waiting()
        except AdminViewError as error:
            problems.append(f"the dead-letter queue cannot be read: {error}")
        recent = self._points(deployment, RECENT, MINUTE, ((LAG, "Maximum"), *SUMS))
        verified = self._points(
            deployment, VERIFIED, HOUR, ((DRIFT, "Maximum"), (CHECKED, "Sum"), (UNFINISHED, "Sum"))
        )
        alarms = _alarms(deployment)
        return StatusFacts(
            at=self.now(),
            local_model=self.registry.fingerprint,
            deployed_model=self.settings.model,
            sources=[
                self._source(name, table, recent, verified, alarms)
                for name, table in sorted(self.settings.sources.items())
            ],
            window="in 15 minutes",
            dead_letters=waiting,
            alarms=alarms,
            pending=self.progress_reader.pending,
            problems=problems,
        )

    def _waiting(self) -> dict[str, int] | None:
        if self.letters is None:
            return None
        consumer = self.letters.replayer.consumer
        return queue_counts(consumer.count(deadline=Deadline.after(TIMEOUT)))

    def _source(
        self,
        name: str,
        table: str,
        recent: "MetricReading",
        verified: "MetricReading",
        alarms: AlarmSummary,
    ) -> SourceStatus:
        known = self.letters.last_by_source() if self.letters else None
        drift = verified.last(name, DRIFT, NO_VERIFICATION)
        unfinished = verified.last(name, UNFINISHED, NO_VERIFICATION)
        times = [measure.at for measure in (drift, unfinished) if measure.at is not None]
        return SourceStatus(
            name=name,
            table=table,
            lag=recent.highest(name, LAG, NO_DATA),
            records=recent.total(name, [RECORDS], NO_DATA),
            writes=recent.total(name, [PUT, DELETED], NO_DATA),
            dead_letters=_letters(self.letters, known, name),
            drift=drift,
            checked=verified.last(name, CHECKED, NO_VERIFICATION),
            verified_at=max(times, default=None),
            verification_complete=None if unfinished.value is None else not unfinished.value,
            verification_reason=unfinished.reason,
            polled=recent.problem is None and name in alarms.polled,
        )

    def _points(
        self,
        deployment: Deployment,
        window: timedelta,
        period: int,
        metrics: Iterable[tuple[str, str]],
    ) -> "MetricReading":
        """Read metrics of all sources; an error becomes the reason why they are unknown."""
        wanted = [
            (source, name, statistic)
            for source in self.settings.sources
            for name, statistic in metrics
        ]
        end = datetime.fromtimestamp(self.now(), UTC)
        points: dict[tuple[str, str], list[tuple[float, float]]] = {}
        try:
            for batch in batched(wanted, QUERY_LIMIT):
                read = _read_metrics(
                    deployment, self.settings.service, batch, (end - window, end), period
                )
                for key, values in read:  # a metric may continue on the next page
                    points.setdefault(key, []).extend(values)
        except AdminViewError as error:
            return MetricReading({}, str(error))
        return MetricReading(points)


SUMS: Final = ((RECORDS, "Sum"), (PUT, "Sum"), (DELETED, "Sum"))


@dataclass(frozen=True, slots=True)
class MetricReading:
    """Metrics of the sources, or the reason why they cannot be read."""

    points: Points
    problem: str | None = None

    def last(self, source: str, metric: str, absent: str) -> Measure:
        """Return the latest value."""
        points = self.points.get((source, metric))
        if not points:
            return self._unknown(absent, COUNT)
        at, value = max(points)
        return Measure(value, COUNT, at)

    def highest(self, source: str, metric: str, absent: str) -> Measure:
        """Return the highest value, in seconds."""
        points = self.points.get((source, metric))
        if not points:
            return self._unknown(absent, SECONDS)
        return Measure(max(value for _, value in points), SECONDS, max(points)[0])

    def total(self, source: str, metrics: Iterable[str], absent: str) -> Measure:
        """Return the sum of all values of these metrics."""
        points = [point for name in metrics for point in self.points.get((source, name), [])]
        if not points:
            return self._unknown(absent, COUNT)
        return Measure(sum(value for _, value in points), COUNT, max(points)[0])

    def _unknown(self, absent: str, unit: str) -> Measure:
        return Measure.unknown(self.problem or absent, unit)


def _read_metrics(
    deployment: Deployment,
    service: str,
    wanted: Iterable[tuple[str, str, str]],
    window: tuple[datetime, datetime],
    period: int,
) -> Iterable[tuple[tuple[str, str], list[tuple[float, float]]]]:
    ids = {f"m{number}": metric for number, metric in enumerate(wanted)}
    request: dict[str, Any] = {
        "MetricDataQueries": [
            {"Id": id_, "MetricStat": {**_metric(service, *metric), "Period": period}}
            for id_, metric in ids.items()
        ],
        "StartTime": window[0],
        "EndTime": window[1],
    }
    while True:
        response = deployment.aws.call("cloudwatch", "GetMetricData", **request)
        for result in response["MetricDataResults"]:
            source, name, _ = ids[result["Id"]]
            times = [time.timestamp() for time in result["Timestamps"]]
            yield (source, name), [*zip(times, result["Values"], strict=True)]
        if not (token := response.get("NextToken")):
            return
        request["NextToken"] = token


def _metric(service: str, source: str, name: str, statistic: str) -> dict[str, Any]:
    dimensions = {"service": service, "source": source}
    where = [{"Name": key, "Value": value} for key, value in dimensions.items()]
    return {
        "Metric": {"Namespace": NAMESPACE, "MetricName": name, "Dimensions": where},
        "Stat": statistic,
    }


def _alarms(deployment: Deployment) -> AlarmSummary:
    """Return the states of all alarms of a deployment."""
    prefix = f"{deployment_name(deployment.prefix, deployment.stage)}-"
    request: dict[str, Any] = {"AlarmNamePrefix": prefix, "AlarmTypes": ["MetricAlarm"]}
    alarms: list[Mapping[str, Any]] = []
    try:
        while True:
            page = deployment.aws.call("cloudwatch", "DescribeAlarms", **request)
            alarms += page["MetricAlarms"]
            if not (token := page.get("NextToken")):
                break
            request["NextToken"] = token
    except AdminViewError as error:
        return AlarmSummary(reason=str(error))
    if not alarms:
        return AlarmSummary(reason="this deployment has no alarms")
    states = [str(alarm.get("StateValue")) for alarm in alarms]
    return AlarmSummary(
        ringing=[
            RingingAlarm(
                str(alarm["AlarmName"]).removeprefix(prefix),
                _time(alarm.get("StateUpdatedTimestamp")),
                str(alarm.get("AlarmDescription", "")),
            )
            for alarm in alarms
            if alarm.get("StateValue") == "ALARM"
        ],
        ok=states.count("OK"),
        no_data=states.count("INSUFFICIENT_DATA"),
        polled=frozenset(
            str(alarm["AlarmName"]).removeprefix(f"{prefix}{SILENCE}-")
            for alarm in alarms
            if alarm.get("StateValue") == "OK"
        ),
    )


def _time(value: object) -> float | None:
    return value.timestamp() if isinstance(value, datetime) else None


def _letters(letters: DeadLetters | None, known: Mapping[str, int] | None, name: str) -> Measure:
    if letters is None:
        return Measure.unknown(NO_QUEUE)
    if known is None:
        return Measure.unknown(NOT_LISTED)
    return Measure(known.get(name, 0))
