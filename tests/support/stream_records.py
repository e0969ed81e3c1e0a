"""Stream records, as a table would emit them."""

import json
from collections.abc import Iterable, Mapping
from itertools import count
from typing import Any

from adminview.model.item import encode
from adminview.model.source import Source

STREAM = "arn:aws:dynamodb:us-east-1:111122223333:table/{}/stream/2026-01-01T00:00:00.000"
AT = 1_790_000_000


def image(item: Mapping[str, Any]) -> dict[str, Any]:
    """Encode an item as DynamoDB JSON."""
    return {name: encode(value) for name, value in item.items()}


def record(
    source: Source,
    before: Mapping[str, Any] | None,
    after: Mapping[str, Any] | None,
    sequence: int = 1,
    *,
    at: float = AT,
    table: str | None = None,
) -> dict[str, Any]:
    """Return the record of one change, as Lambda delivers it."""
    item = before if after is None else after
    assert item is not None
    images = {"OldImage": before, "NewImage": after}
    event = "INSERT" if before is None else "REMOVE" if after is None else "MODIFY"
    record: dict[str, Any] = {
        "eventID": str(sequence),
        "eventName": event,
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": "us-east-1",
        "eventSourceARN": STREAM.format(table or source.name),
        "dynamodb": {
            "ApproximateCreationDateTime": at,
            "Keys": image({key.name: item[key.name] for key in source.key}),
            **{name: image(item) for name, item in images.items() if item is not None},
            "SequenceNumber": f"{sequence:021d}",
            "StreamViewType": "NEW_AND_OLD_IMAGES",
        },
    }
    delivered: dict[str, Any] = json.loads(json.dumps(record))
    return delivered  # as the function receives it


def ttl_deletion(source: Source, before: Mapping[str, Any], sequence: int = 1) -> dict[str, Any]:
    """Return the record of an item that DynamoDB deleted because its time to live had passed."""
    who = {"principalId": "dynamodb.amazonaws.com", "type": "Service"}
    return record(source, before, None, sequence) | {"userIdentity": who}


class SourceTable:
    """A source table that records its stream."""

    def __init__(self, source: Source, sequences: Iterable[int] | None = None) -> None:
        self.source = source
        self.items: dict[tuple[Any, ...], dict[str, Any]] = {}
        self.stream: list[dict[str, Any]] = []
        self._sequences = iter(sequences or count(1))

    def put(self, item: Mapping[str, Any]) -> None:
        """Write an item; an equal copy emits no record, as on AWS."""
        key = tuple(item[key.name] for key in self.source.key)
        before = self.items.get(key)
        if before != item:
            self.items[key] = dict(item)
            self.stream.append(record(self.source, before, item, next(self._sequences)))

    def delete(self, *key: Any) -> None:
        """Delete an item, if it exists."""
        if before := self.items.pop(key, None):
            self.stream.append(record(self.source, before, None, next(self._sequences)))
