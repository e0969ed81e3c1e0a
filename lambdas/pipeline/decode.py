"""Stream record -> change: whose it is, and the item before and after."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from lambdas.model.errors import UnreadableRecordError
from lambdas.model.item import AttributeValue, Image
from lambdas.model.registry import Registry
from lambdas.model.row import CHANGED_AT, MODEL, OWNER, SEQUENCE, Attributes
from lambdas.model.source import Source
from lambdas.model.view import View

StreamRecord: TypeAlias = Mapping[str, Any]

# Which images each event must carry; a stream of another view type would leave rows behind.
IMAGES = {"INSERT": (False, True), "MODIFY": (True, True), "REMOVE": (True, False)}


@dataclass(frozen=True, slots=True)
class Route:
    """Where the records of one table go."""

    source: Source
    views: tuple[View, ...]


@dataclass(frozen=True, slots=True)
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
        return {
            OWNER: {"S": self.owner},
            SEQUENCE: {"S": self.sequence},
            CHANGED_AT: {"N": f"{self.at:.0f}"},
            MODEL: {"S": model},
        }


def routes(registry: Registry, tables: Mapping[str, str]) -> dict[str, Route]:
    """Route each table, by its exact name, to the views of its source."""
    return {
        tables.get(source.name, source.name): Route(source, registry.views_of(source))
        for source in registry.sources
    }


def decode(record: StreamRecord, routes: Mapping[str, Route]) -> Change:
    """Read a stream record, or say why it cannot be one of ours."""
    table = table_of(record)
    route = routes.get(table)
    if route is None:
        msg = f"no source is declared for table {table!r}; followed are {', '.join(sorted(routes))}"
        raise UnreadableRecordError(msg)
    try:
        return _read(record, route)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        msg = f"a record of {table!r} is not one of a stream: {type(error).__name__}"
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
    return Change(
        route=route,
        key=route.source.key_of(change["Keys"]),
        owner=route.source.owner(change["Keys"]),
        before=before,
        after=after,
        sequence=change["SequenceNumber"],
        at=float(change.get("ApproximateCreationDateTime", 0)),
    )


def table_of(record: StreamRecord) -> str:
    """Read the table's name from ``arn:…:table/Orders/stream/2025-…``."""
    try:
        return str(record["eventSourceARN"]).split(":table/")[1].split("/")[0]
    except (KeyError, IndexError, TypeError) as error:
        msg = "a record does not name its stream"
        raise UnreadableRecordError(msg) from error


def sequence_of(record: StreamRecord) -> str | None:
    """Find the sequence number even of a record that is otherwise unreadable."""
    try:
        return str(record["dynamodb"]["SequenceNumber"])
    except (KeyError, TypeError):
        return None
