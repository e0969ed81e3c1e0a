"""A service's log, of which only the critical events are indexed.

On a bad day, all services write to one list of critical events. It is spread over four shards, and
a query merges them.
"""

from collections.abc import Iterator

from adminview import AccessPattern, Index, Item, Row, Source, key, view

events = Source("LogEvents", partition_key="service", sort_key="eventId")

critical = Index("GSI1", partition="GSI1_PK", sort="GSI1_SK", include=["data"], shards=4)

events_of_service = AccessPattern(
    "events-of-service",
    partition="SERVICE#{service}",
    about="Every event of one service",
)
critical_logs = AccessPattern(
    "critical-logs",
    index=critical,
    partition="CriticalLogs",
    descending=True,
    about="The critical events of all services, newest first",
)
critical_logs_since = AccessPattern(
    "critical-logs-since",
    index=critical,
    partition="CriticalLogs",
    sort_from="{since}",
    about="The critical events of all services from some time on",
)


@view(events)
def event(item: Item) -> Iterator[Row]:
    """List an event under its service; index it if it is critical."""
    yield Row(
        key("SERVICE", item["service"]),
        key("EVENT", item["eventId"]),
        data=item.pick("level", "at", "message"),
        indexes=[critical("CriticalLogs", item["at"])] if item["level"] == "CRITICAL" else [],
    )
