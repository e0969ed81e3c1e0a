"""Stream record -> change of a source item."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from adminview.model.errors import (
    RecordError,
    SettingsError,
    UnreadableRecordError,
    kind_of,
)
from adminview.model.item import AttributeValue, Image
from adminview.model.registry import Registry
from adminview.model.row import Attributes, provenance
from adminview.model.source import Source
from adminview.model.stream import FAR_FUTURE, table_of_stream
from adminview.model.view import View

StreamRecord: TypeAlias = Mapping[str, Any]

# The images that each event must carry; without them, stale rows would stay in the view.
IMAGES = {"INSERT": (False, True), "MODIFY": (True, True), "REMOVE": (True, False)}


@dataclass(frozen=True, slots=True)
class Route:
    """The source and the views of one table."""

    table: str
    source: Source
    views: tuple[View, ...]


@dataclass(slots=True)  # not frozen: that would take three times as long to create
class Change:
    """One change of one source item."""

    route: Route
    key: dict[str, AttributeValue]
    owner: str
    before: Image | None
    after: Image | None
    sequence: str
    at: float  # seconds since 1970

    def provenance(self, model: str) -> Attributes:
        return provenance(self.owner, self.sequence, self.at, model)


def routes(registry: Registry, tables: Mapping[str, str]) -> dict[str, Route]:
    """Map each table name to its route; raises a SettingsError if *tables* is wrong."""
    if unknown := sorted(set(tables) - {source.name for source in registry.sources}):
        msg = f"settings map a table to {', '.join(unknown)}, which no view file declares"
        raise SettingsError(msg)
    by_table: dict[str, Route] = {}
    for source in registry.sources:
        table = tables.get(source.name, source.name)
        if table in by_table:
            msg = (
                f"sources {by_table[table].source.name!r} and {source.name!r} share table {table!r}"
            )
            raise SettingsError(msg)
        by_table[table] = Route(table, source, registry.views_of(source))
    return by_table


def decode(record: StreamRecord, routes: Mapping[str, Route]) -> Change:
    """Return the change that a record describes; raises a RecordError if it is unreadable."""
    table = table_of(record)
    route = routes.get(table)
    if route is None:
        msg = f"no source is declared for table {table!r}; declared are {', '.join(sorted(routes))}"
        raise UnreadableRecordError(msg)
    try:
        return _read(record, route)
    except RecordError:
        raise
    except Exception as error:
        msg = f"a record of {table!r} is not a valid stream record: {kind_of(error)}"
        raise UnreadableRecordError(msg) from error


def _read(record: StreamRecord, route: Route) -> Change:
    event, change = record["eventName"], record["dynamodb"]
    before, after = change.get("OldImage"), change.get("NewImage")
    if (before is not None, after is not None) != IMAGES.get(event):
        msg = (
            f"a record of source {route.source.name!r} lacks the images of its event {event}: "
            "the stream's view type must be NEW_AND_OLD_IMAGES"
        )
        raise UnreadableRecordError(msg)
    key = route.source.key_of(change["Keys"])
    sequence, at = str(change["SequenceNumber"]), change.get("ApproximateCreationDateTime", 0)
    return Change(route, key, route.source.owner_of(key), before, after, sequence, _time(at))


def _time(seconds: float) -> float:
    if not 0 <= seconds < FAR_FUTURE:
        msg = "not a time"
        raise ValueError(msg)
    return float(seconds)


def table_of(record: StreamRecord) -> str:
    """Return the table whose stream a record is from; raises an UnreadableRecordError."""
    try:
        return table_of_stream(record["eventSourceARN"])
    except (KeyError, IndexError, TypeError) as error:
        msg = "a record does not name its stream"
        raise UnreadableRecordError(msg) from error


def sequence_of(record: StreamRecord) -> str | None:
    """Return a record's sequence number, even if the rest is unreadable; None if it has none."""
    try:
        sequence = record["dynamodb"]["SequenceNumber"]
    except (KeyError, TypeError):
        return None
    return str(sequence) if sequence else None
