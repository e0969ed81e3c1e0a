"""The archive of a total: an item of its own with positions that no new record needs.

Every update pays for the positions of its item, and a stream with many shards leaves hundreds of
them in a day. So the old ones move to the archive. The total keeps a mark: the time up
to which positions may be archived.

- No archived position covers a record that is newer than the mark: its update needs no archive.
- An older record of a shard without a position was delivered late or again. DynamoDB refuses its
  update. The function then reads the archive, leaves out the changes that a position there covers,
  and sends the rest on the condition that the mark is still the same.
- Positions are stored in the archive first, and removed from the total afterwards. Both calls have
  conditions. If the second one is not made, the positions are in both, which does no harm.

A mark ends with random bytes, so that each move has a mark of its own.
"""

from base64 import b64encode
from binascii import a2b_base64
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final

from adminview.model.attribute import PK, SK
from adminview.model.item import AttributeValue
from adminview.model.total import ARCHIVED, EXPIRES, INTERNAL
from adminview.totals.changes import Group
from adminview.totals.position import (
    HOUR,
    LIVE_HOURS,
    MOST_EXPIRED,
    TIME_BYTES,
    expired,
    older,
    positions_of,
    sequence_of,
    time_bytes,
    time_of,
)

ARCHIVE: Final = f"{INTERNAL}archive"
# So many positions and the amounts fit into one write unit. Below, a total needs no archive.
MOST_POSITIONS: Final = 35
LEAST_MOVED: Final = 3  # a move takes several writes, so it waits for some positions
MOST_MOVED: Final = 100  # in one call: DynamoDB takes at most 300 operators in a condition
# The times of a shard's records may be out of order by less than this, in seconds.
DISORDER: Final = 900
VERSION: Final = "version"  # changes with each change of the archive
RANDOM_BYTES: Final = 5

Item = Mapping[str, Any]


def archive_key(group: Group) -> dict[str, AttributeValue]:
    """Return the key of the archive of a group: a hash, because a group's key may be long.

    The length separates the two parts: a group value may contain any character.
    """
    content = f"{len(group[0])}#{group[0]}{group[1]}".encode("utf-8", "surrogatepass")
    return {PK.name: {"S": f"{ARCHIVE}#{sha256(content).hexdigest()}"}, SK.name: {"S": ARCHIVE}}


def mark_bound(at: float) -> AttributeValue:
    """Return a value that is greater than all marks before a time."""
    return {"B": b64encode(time_bytes(at)).decode()}


def open_archive(table: str, group: Group, now: float) -> dict[str, Any]:
    """Return the call that returns the archive. It creates the archive if there is none."""
    return {
        "TableName": table,
        "Key": archive_key(group),
        "UpdateExpression": "SET #x = :at",
        "ExpressionAttributeNames": {"#x": EXPIRES},
        "ExpressionAttributeValues": {":at": _expiry(now)},
        "ReturnValues": "ALL_NEW",
    }


def is_archive(item: Item, group: Group) -> bool:
    """Return whether *item*, a response, is the archive of a group."""
    key = archive_key(group)
    return all(item.get(name) == key[name] for name in key)


def movable(item: Item, own: str, at: float) -> dict[str, AttributeValue]:
    """Return the positions of a total to move, when a record of this time was added.

    They are so old that a record of now is newer than the mark: then it needs no archive. None, if
    expired positions are removed now: a move would find the total changed, in vain.
    """
    positions = positions_of(item)
    if len(positions) <= MOST_POSITIONS:
        return {}
    others = {name: value for name, value in positions.items() if name != own}
    if len(expired(others, at)) >= MOST_EXPIRED:
        return {}
    old = older(others, at - 2 * DISORDER)
    moved = dict(sorted(old.items(), key=lambda position: time_of(position[1]))[:MOST_MOVED])
    return moved if len(moved) >= LEAST_MOVED else {}


def store(  # noqa: PLR0913 - the last ones are keywords
    table: str,
    archive: Item,
    moved: Mapping[str, AttributeValue],
    *,
    at: float,
    now: float,
    version: bytes,
) -> dict[str, Any]:
    """Return the call that adds positions to an archive, if it is still as it was read.

    It also removes positions that have expired when a record of the time *at* was added.
    """
    kept = positions_of(archive)
    new = {
        name: position
        for name, position in moved.items()
        if name not in kept or sequence_of(kept[name]) < sequence_of(position)
    }
    over = [name for name in expired(kept, at) if name not in moved][:MOST_MOVED]
    names = {f"#s{place}": name for place, name in enumerate(new)}
    removed = {f"#r{place}": name for place, name in enumerate(over)}
    values: dict[str, AttributeValue] = {
        f":s{place}": position for place, position in enumerate(new.values())
    }
    sets = [f"{name} = {value}" for name, value in zip(names, values, strict=True)]
    values |= {":at": _expiry(now), ":v": {"B": b64encode(version).decode()}}
    condition = "attribute_not_exists(#v)"
    if VERSION in archive:
        condition, values[":was"] = "#v = :was", archive[VERSION]
    expression = f"SET {', '.join([*sets, '#x = :at', '#v = :v'])}"
    if removed:
        expression += f" REMOVE {', '.join(removed)}"
    return {
        "TableName": table,
        "Key": {PK.name: archive[PK.name], SK.name: archive[SK.name]},
        "UpdateExpression": expression,
        "ConditionExpression": condition,
        "ExpressionAttributeNames": {**names, **removed, "#x": EXPIRES, "#v": VERSION},
        "ExpressionAttributeValues": values,
    }


def remove_moved(
    table: str, item: Item, moved: Mapping[str, AttributeValue], random: bytes
) -> dict[str, Any]:
    """Return the call that removes stored positions from a total, if they are still the same."""
    mark = max(time_of(position) for position in moved.values()) + DISORDER
    content = time_bytes(mark)
    names = {f"#p{place}": name for place, name in enumerate(moved)}
    values: dict[str, AttributeValue] = {
        f":p{place}": position for place, position in enumerate(moved.values())
    }
    same = [f"{name} = {value}" for name, value in zip(names, values, strict=True)]
    if ARCHIVED in item:
        same.append("#f = :was")
        values[":was"] = item[ARCHIVED]
        content = max(content, _mark_time(item[ARCHIVED]))
    else:
        same.append("attribute_not_exists(#f)")
    values[":mark"] = {"B": b64encode(content + random).decode()}
    return {
        "TableName": table,
        "Key": {PK.name: item[PK.name], SK.name: item[SK.name]},
        "UpdateExpression": f"SET #f = :mark REMOVE {', '.join(names)}",
        "ConditionExpression": " AND ".join(same),
        "ExpressionAttributeNames": {**names, "#f": ARCHIVED},
        "ExpressionAttributeValues": values,
    }


def _mark_time(mark: AttributeValue) -> bytes:
    return a2b_base64(mark["B"])[:TIME_BYTES]


def _expiry(now: float) -> AttributeValue:
    """Return when DynamoDB may delete the archive: the stream has dropped all its records."""
    return {"N": str((int(now // HOUR) + LIVE_HOURS + 2) * HOUR)}
