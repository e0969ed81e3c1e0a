"""A few events of two services."""

from typing import Any

from examples.question import Found, Items, Question


def event(service: str, event_id: str, level: str, minute: int) -> dict[str, Any]:
    """Write an event of one morning."""
    key = {"service": service, "eventId": event_id}
    at = f"2025-05-20T10:{minute:02}:00Z"
    return key | {"level": level, "at": at, "message": f"{level.lower()} in {service}"}


ITEMS: Items = {
    "LogEvents": [
        event("billing", "e1", "INFO", 0),
        event("billing", "e2", "CRITICAL", 30),
        event("search", "e1", "CRITICAL", 5),
        event("search", "e2", "WARNING", 40),
        event("search", "e3", "CRITICAL", 45),
    ]
}


def found(service: str, event_id: str, level: str = "CRITICAL") -> Found:
    """Expect an event."""
    return Found(f"SERVICE#{service}", f"EVENT#{event_id}", {"level": level})


QUESTIONS = [
    Question(
        "events-of-service",
        {"service": "search"},
        [found("search", "e1"), found("search", "e2", "WARNING"), found("search", "e3")],
    ),
    Question(
        "critical-logs",
        {},
        [found("search", "e3"), found("billing", "e2"), found("search", "e1")],
    ),
    Question(
        "critical-logs",
        {},
        [found("search", "e3"), found("billing", "e2")],
        limit=2,
    ),
    Question("critical-logs", {}, counted=3),
    Question(
        "critical-logs-since",
        {"since": "2025-05-20T10:30:00Z"},
        [found("billing", "e2"), found("search", "e3")],
    ),
]
