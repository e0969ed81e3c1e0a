"""Times in responses."""

from datetime import UTC, datetime

from adminview.model.stream import FAR_FUTURE


def moment(seconds: float | None) -> str | None:
    """Return a time since 1970 in ISO 8601; None if it is unknown or no time."""
    if seconds is None or not 0 < seconds < FAR_FUTURE:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
