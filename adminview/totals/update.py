"""The changes of one group -> one conditional UpdateItem, and the cleanup of its item."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from typing import Any, Final

from adminview.model.attribute import PK, SK
from adminview.model.item import AttributeValue, normalize_number, number_text
from adminview.model.total import ARCHIVED, COUNT, EXPIRES, INTERNAL, RANK
from adminview.totals.archive import mark_bound
from adminview.totals.changes import Amounts, Group, GroupChange, add
from adminview.totals.comparison import amounts_of
from adminview.totals.position import (
    HOUR,
    LIVE_HOURS,
    MOST_EXPIRED,
    encode_position,
    expired,
    lower_bound,
    positions_of,
    sequence_of,
    time_of,
)

MOST_REMOVED: Final = 100  # in one call: DynamoDB takes at most 300 operators in a condition
TRIAL: Final = (f"{INTERNAL}trial", f"{INTERNAL}trial")
CONDITION: Final = (
    "attribute_not_exists(#p) AND attribute_not_exists(#f) OR #p < :first "
    "OR attribute_not_exists(#p) AND #f < :oldest"
)
KEPT: Final = {COUNT, RANK}  # sent even if they do not change


@dataclass(slots=True)
class GroupUpdate:
    """Changes of one group that one call adds to its total."""

    group: Group
    position: str  # the attribute of the shard's position
    changes: Sequence[GroupChange]
    # The mark of the total when its archive was read, and no archived position covers the changes.
    mark: AttributeValue | None = None

    @property
    def first_record(self) -> int:
        """The position in the batch of the first record that is not included yet."""
        return self.changes[0].record

    def request(self, table: str) -> dict[str, Any]:
        """Return the arguments of UpdateItem, in DynamoDB JSON.

        Raises a RowError if an amount has more digits than DynamoDB keeps.
        """
        amounts: Amounts = {}
        for change in self.changes:
            add(amounts, change.amounts)
        last = self.changes[-1]
        # A total without a count could not be hidden; one without a rank would be in no ranking.
        sent = {name: amount for name, amount in amounts.items() if amount or name in KEPT}
        names = {"#p": self.position, "#x": EXPIRES, "#f": ARCHIVED}
        values: dict[str, AttributeValue] = {
            ":first": lower_bound(self.changes[0].sequence),
            ":last": encode_position(last.sequence, last.at),
            ":oldest": mark_bound(min(change.at for change in self.changes)),
        }
        condition = CONDITION
        if self.mark:
            values[":mark"] = self.mark
            condition += " OR attribute_not_exists(#p) AND #f = :mark"
        added = []
        for number, (name, amount) in enumerate(sent.items()):
            names[f"#a{number}"] = name
            number_text(amount)  # raises if DynamoDB would round it
            values[f":a{number}"] = {"N": normalize_number(amount)}
            added.append(f"#a{number} :a{number}")
        return {
            "TableName": table,
            "Key": key_of_group(self.group),
            "UpdateExpression": f"ADD {', '.join(added)} SET #p = :last REMOVE #x",
            "ConditionExpression": condition,
            "ExpressionAttributeNames": names,
            "ExpressionAttributeValues": values,
            "ReturnValues": "ALL_NEW",
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }

    def is_in(self, item: Mapping[str, Any]) -> bool:
        """Return whether *item*, a response, shows that this update was made."""
        last = self.changes[-1]
        position = encode_position(last.sequence, last.at)
        return self.is_about(item) and item.get(self.position) == position

    def is_about(self, item: Mapping[str, Any]) -> bool:
        """Return whether *item* is this group's total and has a position of the shard."""
        return self.position in item and self._is_total(item)

    def needs_archive(self, item: Mapping[str, Any]) -> bool:
        """Return whether *item* is this group's total, and its archive may cover the changes."""
        mark = item.get(ARCHIVED)
        return bool(
            mark and mark != self.mark and self.position not in item and self._is_total(item)
        )

    def after_archive(
        self, archive: Mapping[str, Any], mark: AttributeValue
    ) -> "GroupUpdate | None":
        """Return the update without the changes that the archive covers; None if none is left."""
        left = self.uncovered(archive) if self.position in archive else self
        return left and GroupUpdate(self.group, self.position, left.changes, mark)

    def _is_total(self, item: Mapping[str, Any]) -> bool:
        key = key_of_group(self.group)
        return all(item.get(name) == key[name] for name in key)

    def uncovered(self, item: Mapping[str, Any]) -> "GroupUpdate | None":
        """Return the update without the changes that *item* includes; None if none is left."""
        covered = sequence_of(item[self.position])
        left = [change for change in self.changes if change.sequence > covered]
        return GroupUpdate(self.group, self.position, left) if left else None

    def halves(self) -> "tuple[GroupUpdate, GroupUpdate] | None":
        """Split the update in two, in order; None if it has one change."""
        if len(self.changes) == 1:
            return None
        middle = len(self.changes) // 2
        return (
            GroupUpdate(self.group, self.position, self.changes[:middle], self.mark),
            GroupUpdate(self.group, self.position, self.changes[middle:], self.mark),
        )


def upkeep(
    table: str, update: GroupUpdate, item: Mapping[str, Any], now: float
) -> list[dict[str, Any]]:
    """Return the calls after an update: remove expired positions, let an empty total expire.

    Each call has a condition, so that it does nothing if the item has changed since.
    """
    calls = []
    own = update.position
    if len(item) > MOST_EXPIRED:  # it has other attributes, too; this is only a fast first check
        others = {name: value for name, value in positions_of(item).items() if name != own}
        old = expired(others, update.changes[-1].at)
        if len(old) >= MOST_EXPIRED:
            calls.append(_remove(table, item, dict(islice(old.items(), MOST_REMOVED))))
    if item[COUNT] == {"N": "0"}:
        calls.append(_expire(table, item, own, now))
    return calls


def expire_leftover(table: str, item: Mapping[str, Any], now: float) -> dict[str, Any] | None:
    """Return the call that lets a forgotten empty total expire; None if *item* is not forgotten.

    A total is forgotten if it is empty, has no expiry time, and all its positions are old: the call
    that should have set the time failed, and no further record will repeat it.
    """
    positions = positions_of(item)
    if EXPIRES in item or amounts_of(item) or len(expired(positions, now)) < len(positions):
        return None
    return expire_unused(table, (item[PK.name]["S"], item[SK.name]["S"]), Decimal(), now)


def expire_unused(table: str, group: Group, count: Decimal, now: float) -> dict[str, Any]:
    """Return the call that lets a total expire, if it still has this count."""
    return {
        "TableName": table,
        "Key": key_of_group(group),
        "UpdateExpression": "SET #x = :at",
        "ConditionExpression": "#c = :count AND attribute_not_exists(#x)",
        "ExpressionAttributeNames": {"#x": EXPIRES, "#c": COUNT},
        "ExpressionAttributeValues": {
            ":at": {"N": str((int(now // HOUR) + LIVE_HOURS + 2) * HOUR)},
            ":count": {"N": number_text(count)},
        },
    }


def trial(table: str, now: float) -> dict[str, Any]:
    """Return an update that every totals table takes. Its item counts nothing, and expires."""
    return {
        "TableName": table,
        "Key": key_of_group(TRIAL),
        "UpdateExpression": "ADD #c :zero, #r :zero SET #x = :at",
        "ExpressionAttributeNames": {"#c": COUNT, "#r": RANK, "#x": EXPIRES},
        "ExpressionAttributeValues": {":zero": {"N": "0"}, ":at": {"N": str(int(now) + HOUR)}},
    }


def _remove(
    table: str, item: Mapping[str, Any], positions: Mapping[str, AttributeValue]
) -> dict[str, Any]:
    names = {f"#p{number}": name for number, name in enumerate(positions)}
    values = {f":p{number}": value for number, value in enumerate(positions.values())}
    return {
        "TableName": table,
        "Key": {PK.name: item[PK.name], SK.name: item[SK.name]},
        "UpdateExpression": f"REMOVE {', '.join(names)}",
        "ConditionExpression": " AND ".join(
            f"{name} = {value}" for name, value in zip(names, values, strict=True)
        ),
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": values,
    }


def _expire(table: str, item: Mapping[str, Any], own: str, now: float) -> dict[str, Any]:
    """Let DynamoDB delete an empty total when the stream can deliver none of its records again.

    Deleting it at once would delete its positions too, and a redelivered record would count twice.
    The time is counted from now, because another shard may add a newer position before this call
    arrives. Without its rank, which is zero, it leaves the ranking at once.
    """
    newest = max(int(now), *map(time_of, positions_of(item).values()), 0) // HOUR
    return {
        "TableName": table,
        "Key": {PK.name: item[PK.name], SK.name: item[SK.name]},
        "UpdateExpression": "SET #x = :at REMOVE #r",
        "ConditionExpression": "#c = :zero AND #p = :own",
        "ExpressionAttributeNames": {"#x": EXPIRES, "#c": COUNT, "#p": own, "#r": RANK},
        "ExpressionAttributeValues": {
            ":at": {"N": str((newest + LIVE_HOURS + 2) * HOUR)},
            ":zero": {"N": "0"},
            ":own": item[own],
        },
    }


def key_of_group(group: Group) -> dict[str, AttributeValue]:
    partition, sort = group
    return {PK.name: {"S": partition}, SK.name: {"S": sort}}
