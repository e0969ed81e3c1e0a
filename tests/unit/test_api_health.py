"""Health: a stream that has changes and is not read is told; what nobody counts is unknown."""

from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from adminview.aws.settings import PulseSettings
from adminview.aws.stream_metrics import Reading, SourceActivity, StreamMetrics
from adminview.model.errors import ServiceError
from tests.support.api_client import Answered, Client, Fixed
from tests.support.fakes import NO_WAIT
from tests.support.query_table import Lab, make_registry

NOW = datetime(2025, 3, 1, 9, 0, tzinfo=UTC)
LABEL = "2025-01-01T00:00:00.000"


def ago(minutes: int) -> datetime:
    return NOW - timedelta(minutes=minutes)


def health(reading: Reading | None) -> Answered:
    return Client(Lab(make_registry()).query_engine, Fixed(reading)).send("/health")


def test_without_metrics_nothing_is_known_and_nothing_is_wrong() -> None:
    answered = health(None)
    assert (answered.status, answered.json["status"]) == (200, "unknown")


def test_quiet_sources_and_those_that_are_read_are_healthy() -> None:
    beats = {
        "Orders": SourceActivity(ago(9), ago(9)),
        "Users": SourceActivity(None, None),
        "Payments": SourceActivity(None, ago(2)),
    }
    answered = health(Reading(beats, invoked=ago(1), age=1.5))
    assert (answered.status, answered.json) == (
        200,
        {
            "status": "healthy",
            "detail": "every stream with changes is read",
            "sources": {"Orders": "read", "Payments": "quiet", "Users": "quiet"},
            "ageSeconds": 1.5,
        },
    )


UNREAD = "Orders: the table was written and its stream has not been read since"


@pytest.mark.parametrize(
    ("reading", "words"),
    [
        (
            Reading(
                {"Orders": SourceActivity(ago(9), None), "Users": SourceActivity(ago(9), ago(8))},
                ago(1),
                None,
            ),
            UNREAD,
        ),
        (Reading({"Orders": SourceActivity(ago(9), ago(14))}, ago(1), None), UNREAD),
        (Reading({"Orders": SourceActivity(ago(1000), None)}, ago(1), None), UNREAD),
        # Fetched for a sync that never ran, or has not since.
        (Reading({"Orders": SourceActivity(ago(9), ago(8))}, None, None), UNREAD),
        (Reading({"Orders": SourceActivity(ago(9), ago(8))}, ago(30), None), UNREAD),
        (
            Reading({"Orders": SourceActivity(ago(9), ago(8))}, ago(8), 901.0),
            "the sync is 901 seconds behind; the limit is 900",
        ),
    ],
)
def test_an_unread_stream_or_a_late_sync_is_a_problem(reading: Reading, words: str) -> None:
    answered = health(reading)
    assert (answered.status, answered.detail) == (503, words)
    assert answered.json["sources"].keys() == reading.beats.keys()


def test_metrics_that_cannot_be_read_are_no_health() -> None:
    class Refusing:
        """CloudWatch without leave."""

        def read(self) -> Reading:
            raise ServiceError("AccessDenied", "read metrics")

    client = Client(Lab(make_registry()).query_engine, Refusing())
    answered = client.send("/health")
    assert (answered.status, answered.detail) == (
        503,
        "the metrics cannot be read, so the state of the streams is unknown",
    )
    assert "AccessDenied" in client.log.getvalue()


class Metrics:
    """CloudWatch with points by metric and minute before now, in pages of one metric each."""

    def __init__(self, **points: dict[int, float]) -> None:
        self.points = points
        self.requests: list[dict[str, Any]] = []

    def get_metric_data(self, **asked: Any) -> dict[str, Any]:
        self.requests.append(asked)
        queries = asked["MetricDataQueries"]
        place = int(asked.get("NextToken", 0))
        metric = queries[place]["MetricStat"]["Metric"]
        points = self.points.get(metric["MetricName"], {})
        following = {"NextToken": str(place + 1)} if place + 1 < len(queries) else {}
        return {
            "MetricDataResults": [
                {
                    "Id": queries[place]["Id"],
                    "Timestamps": [NOW - timedelta(minutes=minutes) for minutes in points],
                    "Values": list(points.values()),
                }
            ],
            **following,
        }


def pulse(metrics: Metrics, clock: Any = lambda: NOW) -> StreamMetrics:
    settings = PulseSettings("sync-function", {"Orders": LABEL})
    tables = {"Orders": "prod-Orders"}
    return StreamMetrics(
        lambda: cast("Any", metrics), tables, settings, clock=clock, backoff=NO_WAIT
    )


def test_the_pulse_finds_when_things_last_happened() -> None:
    metrics = Metrics(
        ConsumedWriteCapacityUnits={12: 4.0, 6: 1.0, 2: 100.0},  # the last may not be read yet
        ReturnedRecordsCount={11: 3.0, 1: 2.0},
        Invocations={11: 1.0, 1: 1.0},
        IteratorAge={11: 90_000.0, 3: 1500.0, 1: 500.0},  # the first is over
    )
    assert pulse(metrics).read() == Reading({"Orders": SourceActivity(ago(6), ago(1))}, ago(1), 0.5)


def test_the_age_is_that_of_the_last_runs_if_they_were_recent() -> None:
    assert pulse(Metrics(IteratorAge={6: 80_000_000.0})).read().age == 80_000
    assert pulse(Metrics(IteratorAge={16: 80_000_000.0})).read().age is None


def test_what_has_no_points_did_not_happen() -> None:
    assert pulse(Metrics()).read() == Reading({"Orders": SourceActivity(None, None)}, None, None)


def test_metrics_are_named_as_aws_documents_them() -> None:
    metrics = Metrics()
    pulse(metrics).read()
    first = metrics.requests[0]
    assert first["EndTime"] - first["StartTime"] == timedelta(hours=24)
    named = {
        one["MetricStat"]["Metric"]["MetricName"]: {
            dimension["Name"]: dimension["Value"]
            for dimension in one["MetricStat"]["Metric"]["Dimensions"]
        }
        for one in first["MetricDataQueries"]
    }
    assert named == {
        "Invocations": {"FunctionName": "sync-function"},
        "IteratorAge": {"FunctionName": "sync-function"},
        "ConsumedWriteCapacityUnits": {"TableName": "prod-Orders"},
        "ReturnedRecordsCount": {
            "TableName": "prod-Orders",
            "StreamLabel": "2025-01-01T00:00:00.000",
            "Operation": "GetRecords",
        },
    }


def test_the_pulse_is_taken_once_a_minute_at_most() -> None:
    metrics, times = Metrics(), iter([0, 59, 60])
    taken = pulse(metrics, lambda: NOW + timedelta(seconds=next(times)))
    counts = []
    for _ in range(3):
        taken.read()
        counts.append(len(metrics.requests))
    assert counts == [4, 4, 8]


def test_settings_of_the_pulse_come_back_from_the_environment() -> None:
    settings = PulseSettings("sync-function", {"Users": "later", "Orders": LABEL})
    assert PulseSettings.from_env(settings.to_env(), settings.streams) == settings
    assert PulseSettings.from_env({}, []) is None
