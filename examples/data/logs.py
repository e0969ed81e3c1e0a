"""A few events of two services."""

from typing import Any

from examples.query import ExampleQuery, ExpectedRow, Items


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


def expected(service: str, event_id: str, level: str = "CRITICAL") -> ExpectedRow:
    return ExpectedRow(f"SERVICE#{service}", f"EVENT#{event_id}", {"level": level})


QUERIES = [
    ExampleQuery(
        "events-of-service",
        {"service": "search"},
        [expected("search", "e1"), expected("search", "e2", "WARNING"), expected("search", "e3")],
    ),
    ExampleQuery(
        "critical-logs",
        {},
        [expected("search", "e3"), expected("billing", "e2"), expected("search", "e1")],
    ),
    ExampleQuery(
        "critical-logs",
        {},
        [expected("search", "e3"), expected("billing", "e2")],
        limit=2,
    ),
    ExampleQuery("critical-logs", {}, counted=3),
    ExampleQuery(
        "critical-logs-since",
        {"since": "2025-05-20T10:30:00Z"},
        [expected("billing", "e2"), expected("search", "e3")],
    ),
]
