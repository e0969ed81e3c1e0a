"""Stream record -> change: whose it is, and the item before and after."""

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

# Which images each event must carry; a stream of another view type would leave rows behind.
IMAGES = {"INSERT": (False, True), "MODIFY": (True, True), "REMOVE": (True, False)}


@dataclass(frozen=True, slots=True)
class Route:
    """Where the records of one table go."""

    table: str
    source: Source
    views: tuple[View, ...]


@dataclass(slots=True)  # not frozen: to make one would take three times as long
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
        """Say on a row where it comes from."""
        return provenance(self.owner, self.sequence, self.at, model)


def routes(registry: Registry, tables: Mapping[str, str]) -> dict[str, Route]:
    """Route each table, by its exact name, to the views of its source."""
    if unknown := sorted(set(tables) - {source.name for source in registry.sources}):
        msg = f"settings name a table for {', '.join(unknown)}, which no view file declares"
        raise SettingsError(msg)
    found: dict[str, Route] = {}
    for source in registry.sources:
        table = tables.get(source.name, source.name)
        if table in found:
            msg = f"table {table!r} stands behind {found[table].source.name!r} and {source.name!r}"
            raise SettingsError(msg)
        found[table] = Route(table, source, registry.views_of(source))
    return found


def decode(record: StreamRecord, routes: Mapping[str, Route]) -> Change:
    """Read a stream record, or say why it cannot be one of ours."""
    table = table_of(record)
    route = routes.get(table)
    if route is None:
        msg = f"no source is declared for table {table!r}; followed are {', '.join(sorted(routes))}"
        raise UnreadableRecordError(msg)
    try:
        return _read(record, route)
    except RecordError:
        raise
    except Exception as error:
        msg = f"a record of {table!r} is not one of a stream: {kind_of(error)}"
        raise UnreadableRecordError(msg) from error


def _read(record: StreamRecord, route: Route) -> Change:
    event, change = record["eventName"], record["dynamodb"]
    before, after = change.get("OldImage"), change.get("NewImage")
    if (before is not None, after is not None) != IMAGES.get(event):
        msg = (
            f"a record of source {route.source.name!r} says {event} without the images of one: "
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
    """Find the table whose stream a record is from."""
    try:
        return table_of_stream(record["eventSourceARN"])
    except (KeyError, IndexError, TypeError) as error:
        msg = "a record does not name its stream"
        raise UnreadableRecordError(msg) from error


def sequence_of(record: StreamRecord) -> str | None:
    """Find the sequence number even of a record that is otherwise unreadable."""
    try:
        sequence = record["dynamodb"]["SequenceNumber"]
    except (KeyError, TypeError):
        return None
    return str(sequence) if sequence else None
