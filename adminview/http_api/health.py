"""Report whether the sync keeps up, by the alarms of the deployment."""

from typing import Any, Final, Protocol

from aws_lambda_powertools import Logger

from adminview.model.errors import ServiceError

OLDEST: Final = 15 * 60.0  # seconds; the oldest allowed age of a change whose row is written
# Alarms that say that rows are late or missing, by their names or the beginnings of their names.
KNOWN: Final = "iterator-age"  # one for the whole deployment
SILENCE: Final = "silence"  # one per source: Lambda does not read its stream
ALARMS: Final = ("lag", KNOWN, SILENCE, "dropped", "errors-Sync", "throttles-Sync")
HEALTHY, BEHIND, UNKNOWN = "healthy", "behind", "unknown"
NO_ALARMS: Final = "there are no alarms, so the state of the sync is unknown"
UNREADABLE: Final = "the alarms cannot be read, so the state of the sync is unknown"
KEEPS_UP: Final = "no alarm says that rows are late or missing"


class AlarmReader(Protocol):
    def ringing(self) -> frozenset[str] | None:
        """Return the names of the alarms that ring; None if there are no alarms."""


class NoAlarms:
    """Local engines have no alarms."""

    def ringing(self) -> frozenset[str] | None:
        return None


def health(alarms: AlarmReader, logger: Logger) -> dict[str, Any]:
    """Return the health document. It describes the sync: the API itself works if it returns one."""
    try:
        ringing = alarms.ringing()
    except ServiceError as error:
        logger.warning(UNREADABLE, code=error.code)
        return _document(UNKNOWN, UNREADABLE)
    if ringing is None:
        return _document(UNKNOWN, NO_ALARMS)
    if behind := sorted(filter(_is_of_sync, ringing)):
        detail = "rows may be late or missing; the runbook has a section for each alarm"
        return _document(BEHIND, detail, behind)
    return _document(HEALTHY, KEEPS_UP)


def _is_of_sync(alarm: str) -> bool:
    return any(alarm == name or alarm.startswith(f"{name}-") for name in ALARMS)


def _document(status: str, detail: str, alarms: list[str] | None = None) -> dict[str, Any]:
    return {"status": status, "detail": detail, "alarms": alarms or []}
