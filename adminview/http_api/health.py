"""Check that the sync keeps up, by the metrics of source tables, streams and the function."""

from http import HTTPStatus
from typing import Any, Final, Protocol

from adminview.aws.stream_metrics import Reading, SourceActivity
from adminview.http_api.problems import ProblemError
from adminview.model.errors import ServiceError

BOTH: Final = 2  # the stream and the sync
OLDEST: Final = 15 * 60.0  # seconds; the oldest allowed age of the newest record read
NO_METRICS: Final = "no metrics are available, so the state of the streams is unknown"
UNREADABLE: Final = "the metrics cannot be read, so the state of the streams is unknown"
ALL_READ: Final = "every stream with changes is read"


class ActivityMetrics(Protocol):
    def read(self) -> Reading | None:
        """Return the recent activity of the sources; None if there are no metrics."""


class NoMetrics:
    """Local engines have no metrics."""

    def read(self) -> Reading | None:
        return None


def health(metrics: ActivityMetrics) -> dict[str, Any]:
    """Return the health document; raise a ProblemError (503) if a stream is not read."""
    try:
        reading = metrics.read()
    except ServiceError as error:  # unknown is not healthy where metrics exist
        raise ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, UNREADABLE) from error
    if reading is None:
        return {"status": "unknown", "detail": NO_METRICS, "sources": {}, "ageSeconds": None}
    sources = {name: _state(activity, reading) for name, activity in sorted(reading.beats.items())}
    details = {"sources": sources, "ageSeconds": reading.age}
    unread = [name for name, state in sources.items() if state == "unread"]
    problems = []
    if unread:
        problems.append(
            f"{', '.join(unread)}: the table was written and its stream has not been read since"
        )
    if reading.age is not None and reading.age > OLDEST:
        problems.append(f"the sync is {reading.age:.0f} seconds behind; the limit is {OLDEST:.0f}")
    if problems:
        raise ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, "; ".join(problems), more=details)
    return {"status": "healthy", "detail": ALL_READ, **details}


def _state(activity: SourceActivity, reading: Reading) -> str:
    """Classify one source. A record fetched for a function that did not run is not read."""
    if activity.written is None:
        return "quiet"
    since = [moment for moment in (activity.read, reading.invoked) if moment is not None]
    return "read" if len(since) == BOTH and min(since) >= activity.written else "unread"
