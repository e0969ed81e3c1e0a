"""Records of AdminViewTable's stream: rows that contribute to totals."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from adminview.totals.changes import GroupChange
from adminview.totals.position import position_name
from adminview.totals.update import GroupUpdate

AT = 1_790_000_000.0
GROUP = ("Sales.1#north", "2025")
SHARD = position_name("shardId-1")
Groups = Mapping[tuple[str, str], Mapping[str, int | str]]  # PK and SK of a total -> amounts


def stored(groups: Groups) -> dict[str, Any]:
    """Write contributions as a row stores them, apart from the code under test."""
    partitions: dict[str, Any] = {}
    for (partition, sort), amounts in groups.items():
        content = {"M": {name: {"N": str(amount)} for name, amount in amounts.items()}}
        partitions.setdefault(partition, {"M": {}})["M"][sort] = content
    return {"M": partitions}


def row(totals: Any, pk: str = "ROW", sk: str = "1") -> dict[str, Any]:
    """Make a row; *totals* is what its attribute holds, or None."""
    attribute = {} if totals is None else {"_totals": totals}
    return {"PK": {"S": pk}, "SK": {"S": sk}, "data": {"M": {}}, **attribute}


def record(
    sequence: int,
    before: dict[str, Any] | None,
    after: dict[str, Any] | None,
    at: float = AT,
) -> dict[str, Any]:
    """Make the record of a change of a row, as Lambda delivers it."""
    event = "INSERT" if before is None else "REMOVE" if after is None else "MODIFY"
    images = {"OldImage": before, "NewImage": after}
    present = before or after
    assert present
    return {
        "eventID": str(sequence),
        "eventName": event,
        "eventSource": "aws:dynamodb",
        "dynamodb": {
            "ApproximateCreationDateTime": at,
            "Keys": {"PK": present["PK"], "SK": present["SK"]},
            **{name: image for name, image in images.items() if image is not None},
            "SequenceNumber": f"{sequence:021d}",
            "StreamViewType": "NEW_AND_OLD_IMAGES",
        },
    }


def added(sequence: int, groups: Groups, at: float = AT) -> dict[str, Any]:
    """Make the record of a new row that contributes to *groups*."""
    return record(sequence, None, row(stored(groups), sk=str(sequence)), at)


def removed(sequence: int, groups: Groups, at: float = AT) -> dict[str, Any]:
    """Make the record of a deleted row that contributed to *groups*."""
    return record(sequence, row(stored(groups), sk=str(sequence)), None, at)


def event(*records: Mapping[str, Any], shard: str = "shardId-1") -> dict[str, Any]:
    """Make the event of a tumbling window."""
    return {
        "Records": [*records],
        "window": {"start": "2026-09-21T14:00:00Z", "end": "2026-09-21T14:15:00Z"},
        "state": {},
        "shardId": shard,
        "eventSourceARN": "arn:aws:dynamodb:us-east-1:111122223333:table/AdminViewTable/stream/1",
        "isFinalInvokeForWindow": False,
        "isWindowTerminatedEarly": False,
    }


def change(sequence: int, count: int = 1, at: float = AT, **sums: Any) -> GroupChange:
    """Make what one record changes of a group."""
    amounts = {"count": Decimal(count), **{name: Decimal(sum_) for name, sum_ in sums.items()}}
    return GroupChange(sequence, at, sequence, amounts)


def update(*changes: GroupChange, shard: str = SHARD) -> GroupUpdate:
    """Make the update of a group."""
    return GroupUpdate(GROUP, shard, changes)
