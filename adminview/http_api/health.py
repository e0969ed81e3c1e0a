"""Is the view kept in step? By the pulse of the sources' tables, their streams and the sync."""

from http import HTTPStatus
from typing import Any, Final, Protocol

from adminview.aws.stream_metrics import Reading, SourceActivity
from adminview.http_api.problems import ProblemError
from adminview.model.errors import ServiceError

BOTH: Final = 2  # the stream and the sync
OLDEST: Final = 15 * 60.0  # seconds that the newest record read may be old
NO_PULSE: Final = "there are no metrics here, so nothing is known of the streams"
UNREADABLE: Final = "the metrics cannot be read, so nothing is known of the streams"
ALL_READ: Final = "every stream that has changes is read"


class Pulse(Protocol):
    """Where to look."""

    def read(self) -> Reading | None:
        """Say what happened lately; None where nobody keeps count."""


class NoPulse:
    """For local engines, which keep no metrics."""

    def read(self) -> Reading | None:
        """Know nothing."""
        return None


def health(pulse: Pulse) -> dict[str, Any]:
    """Tell that the streams are read, or which one is not."""
    try:
        reading = pulse.read()
    except ServiceError as error:  # not to know is no health, where there is something to know
        raise ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, UNREADABLE) from error
    if reading is None:
        return {"status": "unknown", "detail": NO_PULSE, "sources": {}, "ageSeconds": None}
    sources = {name: _state(beat, reading) for name, beat in sorted(reading.beats.items())}
    found = {"sources": sources, "ageSeconds": reading.age}
    unread = [name for name, state in sources.items() if state == "unread"]
    why = []
    if unread:
        why.append(f"{', '.join(unread)}: the table was written and its stream was not read since")
    if reading.age is not None and reading.age > OLDEST:
        why.append(f"the sync is {reading.age:.0f} seconds behind; {OLDEST:.0f} are too many")
    if why:
        raise ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, "; ".join(why), more=found)
    return {"status": "healthy", "detail": ALL_READ, **found}


def _state(beat: SourceActivity, reading: Reading) -> str:
    """Read one source's beat; what was fetched for a sync that did not run is not read."""
    if beat.written is None:
        return "quiet"
    since = [moment for moment in (beat.read, reading.invoked) if moment is not None]
    return "read" if len(since) == BOTH and min(since) >= beat.written else "unread"
