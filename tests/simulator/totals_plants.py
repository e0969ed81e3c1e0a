"""Wrong variants of the totals that look harmless. The simulation must catch each of them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from secrets import token_bytes
from typing import Any

import pytest

from adminview.aws import totals_table
from adminview.aws.attribute_codec import from_boto3
from adminview.aws.deadline import Deadline
from adminview.aws.totals_table import Boto3Updater, Request, Result, TotalsOutcome, TotalsTable
from adminview.handlers import totals as handler
from adminview.model import delivery
from adminview.totals import archive, position, update
from adminview.totals.changes import Group, GroupChange
from adminview.totals.update import GroupUpdate, key_of_group
from tests.simulator.plants import Plant

VALUES = "ExpressionAttributeValues"


def _change_request(
    monkeypatch: pytest.MonkeyPatch, change: Callable[[GroupUpdate, Request], Request]
) -> None:
    """Send another request for each group."""
    request = GroupUpdate.request

    def changed(self: GroupUpdate, table: str) -> Request:
        return change(self, request(self, table))

    monkeypatch.setattr(GroupUpdate, "request", changed)


def _without_condition(_: GroupUpdate, request: Request) -> Request:
    return {name: value for name, value in request.items() if name != "ConditionExpression"}


def no_fence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Add the sums without looking at the position."""
    _change_request(monkeypatch, _without_condition)


def separate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the position after the sums, by a call of its own."""
    send = Boto3Updater._send

    def send_twice(self: Boto3Updater, deadline: Deadline, request: Request) -> Result:
        if ":first" not in request[VALUES]:
            return send(self, deadline, request)
        sums, _, _ = request["UpdateExpression"].partition(" SET ")
        result = send(self, deadline, request | {"UpdateExpression": sums})
        if not isinstance(result, dict):
            return result
        rest = {"UpdateExpression": "SET #p = :last REMOVE #x"}
        return send(self, deadline, request | rest)

    monkeypatch.setattr(Boto3Updater, "_send", send_twice)


def token(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tell batches apart by their first and last record, as an idempotency token does."""

    def with_token(group: Group, shard: str, changes: list[GroupChange]) -> GroupUpdate:
        batch = f"{shard}/{changes[0].sequence}/{changes[-1].sequence}"
        return GroupUpdate(group, position.position_name(batch), changes)

    monkeypatch.setattr(handler, "GroupUpdate", with_token)


def one_position(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep one position for all shards."""
    monkeypatch.setattr(handler, "position_name", lambda _: position.position_name("all"))


def lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Lambda deliver two batches of a shard at once."""
    two = replace(delivery.TOTALS_DELIVERY, parallelization=2)
    monkeypatch.setattr(delivery, "TOTALS_DELIVERY", two)


def read_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read the position, and update without a condition."""
    apply = TotalsTable.apply

    def read_and_apply(
        self: TotalsTable, updates: Iterable[GroupUpdate], deadline: Deadline
    ) -> TotalsOutcome:
        left = []
        for group_update in updates:
            client: Any = self._updater._client  # type: ignore[attr-defined]
            item = client.get_item(Key=key_of_group(group_update.group)).get("Item", {})
            rest = (
                group_update.uncovered(from_boto3(item))
                if group_update.position in item
                else group_update
            )
            left += [rest] if rest else []
        return apply(self, left, deadline)

    monkeypatch.setattr(TotalsTable, "apply", read_and_apply)
    no_fence(monkeypatch)


def last_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare the position with the last record of the batch, not with the first."""

    def with_last(group_update: GroupUpdate, request: Request) -> Request:
        last = position.lower_bound(group_update.changes[-1].sequence)
        return request | {VALUES: request[VALUES] | {":first": last}}

    _change_request(monkeypatch, with_last)


def prune_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove positions after an hour or two, while their records can still come again."""
    monkeypatch.setattr(position, "LIVE_HOURS", 0)


def drop_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a total that reaches zero be deleted at once, and its positions with it."""
    monkeypatch.setattr(update, "LIVE_HOURS", -30)


def skip_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send no update for changes that cancel each other."""
    apply = TotalsTable.apply

    def apply_some(
        self: TotalsTable, updates: Iterable[GroupUpdate], deadline: Deadline
    ) -> TotalsOutcome:
        return apply(
            self, [group_update for group_update in updates if _moves(group_update)], deadline
        )

    monkeypatch.setattr(TotalsTable, "apply", apply_some)


def _moves(group_update: GroupUpdate) -> bool:
    values = group_update.request("T")[VALUES]
    return any(value.get("N", "0") != "0" for value in values.values())


def all_covered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take a failed condition to mean that the total includes the whole batch."""
    monkeypatch.setattr(GroupUpdate, "uncovered", lambda *_: None)


def one_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip a record more than the position covers."""
    uncovered = GroupUpdate.uncovered

    def one_less(self: GroupUpdate, item: Mapping[str, Any]) -> GroupUpdate | None:
        left = uncovered(self, item)
        rest = left.changes[1:] if left else []
        return GroupUpdate(self.group, self.position, rest) if rest else None

    monkeypatch.setattr(GroupUpdate, "uncovered", one_less)


def expiry_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the expiry of a total that counts rows again."""

    def without_removal(_: GroupUpdate, request: Request) -> Request:
        expression = request["UpdateExpression"].removesuffix(" REMOVE #x")
        return request | {"UpdateExpression": expression}

    _change_request(monkeypatch, without_removal)


def expires_blindly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a total expire although it may have changed since it was empty."""
    expire = update._expire

    def blindly(*arguments: Any) -> Request:
        request = expire(*arguments)
        return {name: value for name, value in request.items() if name != "ConditionExpression"}

    monkeypatch.setattr(update, "_expire", blindly)


def checkpoint_after(monkeypatch: pytest.MonkeyPatch) -> None:
    """Report the last record of an unfinished group instead of the first."""
    monkeypatch.setattr(
        GroupUpdate,
        "first_record",
        property(lambda group_update: group_update.changes[-1].record + 1),
    )


def no_archive(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take a shard without a position for one that was never counted, as before there was one."""
    monkeypatch.setattr(update, "CONDITION", "attribute_not_exists(#p) OR #p < :first")


def archive_after(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the positions from the total before they are in the archive."""

    def removed_first(
        self: TotalsTable, group_update: GroupUpdate, item: Any, moved: Any, deadline: Deadline
    ) -> None:
        remove = archive.remove_moved(self._name, item, moved, token_bytes(5))
        (result,) = self._updater.send([remove], deadline)
        if not isinstance(result, dict):
            return
        now, version = self._now(), token_bytes(5)
        (read,) = self._updater.send(
            [archive.open_archive(self._name, group_update.group, now)], deadline
        )
        if isinstance(read, dict):
            stored = archive.store(
                self._name, read["Attributes"], moved, at=now, now=now, version=version
            )
            self._updater.send([stored], deadline)

    monkeypatch.setattr(TotalsTable, "_archive", removed_first)


def remove_blindly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove archived positions although they may have moved on."""
    remove = archive.remove_moved

    def blindly(*arguments: Any) -> Request:
        request = remove(*arguments)
        return {name: value for name, value in request.items() if name != "ConditionExpression"}

    monkeypatch.setattr(totals_table, "remove_moved", blindly)


def mark_too_low(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mark the time of the oldest archived position, not of the newest."""
    monkeypatch.setattr(archive, "max", min, raising=False)


def archive_pruned_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove positions from the archive while their records can still come again."""
    monkeypatch.setattr(archive, "expired", lambda positions, _: positions)


PLANTS: dict[str, Plant] = {
    "nofence": no_fence,
    "separate": separate,
    "token": token,
    "oneposition": one_position,
    "lanes": lanes,
    "readfirst": read_first,
    "lastonly": last_only,
    "pruneearly": prune_early,
    "dropzero": drop_zero,
    "zero not sent": skip_zero,
    "covered is done": all_covered,
    "one covered too many": one_too_many,
    "expiry stays": expiry_stays,
    "expires blindly": expires_blindly,
    "checkpoint after": checkpoint_after,
    "no look at the archive": no_archive,
    "archived after removal": archive_after,
    "removed blindly": remove_blindly,
    "mark too low": mark_too_low,
    "archive pruned early": archive_pruned_early,
}
