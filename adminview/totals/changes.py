"""Records of AdminViewTable's stream -> the changes of each group."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal, DecimalException
from itertools import islice
from typing import Any, Final, TypeAlias

from adminview.model.errors import RowError, UnreadableRecordError, kind_of
from adminview.model.item import normalize_number
from adminview.model.limits import PARTITION_LIMIT, SORT_LIMIT
from adminview.model.row import TOTALS
from adminview.model.total import (
    AMOUNT_DIGITS,
    COUNT,
    INTERNAL,
    MOST_SUMS,
    MOST_TOTALS,
    PROBE,
    RANK,
    RESERVED_NAMES,
    SUM_NAME,
)

# Amounts of a DynamoDB number have exponents from -130 to 125: enough to add them without rounding.
EXACT: Final = Context(prec=300)
MOST_GROUPS: Final = 2 * MOST_TOTALS  # of one row: a contribution may have two epochs
ZERO, ONE = Decimal(), Decimal(1)
IMAGES: Final = {"INSERT": (False, True), "MODIFY": (True, True), "REMOVE": (True, False)}

Group: TypeAlias = tuple[str, str]  # PK and SK of a total
Amounts: TypeAlias = dict[str, Decimal]


@dataclass(slots=True)
class GroupChange:
    """What one record adds to one group."""

    sequence: int
    at: float  # when the row changed, in seconds since 1970
    record: int  # position in the batch
    amounts: Amounts


@dataclass(slots=True)
class BatchChanges:
    """What a batch changes, by group; the changes of a group are in the order of the records."""

    groups: dict[Group, list[GroupChange]] = field(default_factory=dict)
    malformed: int = 0  # contributions that AdminView cannot have written; they are skipped
    newest: float = 0.0  # the time of the newest record


def read_changes(records: Sequence[Mapping[str, Any]]) -> BatchChanges:
    """Return what *records* change; raises an UnreadableRecordError."""
    changes = BatchChanges()
    for position, record in enumerate(records):
        try:
            _read(changes, position, record)
        except UnreadableRecordError:
            raise
        except Exception as error:
            msg = f"a record of AdminViewTable's stream is invalid: {kind_of(error)}"
            raise UnreadableRecordError(msg) from error
    return changes


def contributions(
    row: Mapping[str, Any] | None,
) -> tuple[dict[Group, Amounts], int]:
    """Return what a row contributes, and how many of its contributions are malformed."""
    stored = row.get(TOTALS) if row else None
    if stored is None:
        return {}, 0
    amounts: dict[Group, Amounts] = {}
    malformed = 0
    groups = [*islice(_groups(stored), MOST_GROUPS + 1)]
    if len(groups) > MOST_GROUPS:
        return {}, 1
    for group, content in groups:
        parsed = _amounts(group, content)
        if parsed is None:
            malformed += 1
        else:
            amounts[group] = parsed
    return amounts, malformed


def add(total: Amounts, amounts: Amounts) -> None:
    """Add *amounts* to *total*, exactly."""
    for name, amount in amounts.items():
        total[name] = EXACT.add(total[name], amount) if name in total else amount


def subtract(total: Amounts, amounts: Amounts) -> None:
    """Subtract *amounts* from *total*, exactly."""
    for name, amount in amounts.items():
        total[name] = EXACT.subtract(total.get(name, ZERO), amount)


def _read(changes: BatchChanges, position: int, record: Mapping[str, Any]) -> None:
    event, change = record["eventName"], record["dynamodb"]
    before, after = change.get("OldImage"), change.get("NewImage")
    if (before is not None, after is not None) != IMAGES.get(event):
        msg = (
            f"a record of AdminViewTable lacks the images of its event {event}: "
            "the stream's view type must be NEW_AND_OLD_IMAGES"
        )
        raise UnreadableRecordError(msg)
    at = float(change["ApproximateCreationDateTime"])
    changes.newest = max(changes.newest, at)
    if (before or {}).get(TOTALS) == (after or {}).get(TOTALS):
        return  # the usual change of a row moves no total
    removed, bad_before = contributions(before)
    added, bad_after = contributions(after)
    changes.malformed += bad_before + bad_after
    sequence = int(change["SequenceNumber"])
    for group, amounts in removed.items():
        subtract(added.setdefault(group, {}), amounts)
    for group, delta in added.items():
        if any(delta.values()):
            moved = GroupChange(sequence, at, position, delta)
            changes.groups.setdefault(group, []).append(moved)


def _groups(stored: Any) -> Iterator[tuple[Group, Any]]:
    """Yield each group with its content, which is None if it is malformed."""
    partitions = stored.get("M") if isinstance(stored, dict) else None
    if not isinstance(partitions, dict):  # as JSON is decoded; a Mapping would take much longer
        yield ("", ""), None
        return
    for partition, sorts in partitions.items():
        inner = sorts.get("M") if isinstance(sorts, dict) else None
        if not isinstance(inner, dict):
            yield (partition, ""), None
            continue
        for sort, content in inner.items():
            yield (partition, sort), content


def _amounts(group: Group, content: Any) -> Amounts | None:
    """Parse the amounts of one contribution; None if AdminView cannot have written them.

    The result depends only on the contribution. So a contribution that is skipped when its row is
    written is also skipped when the row is deleted.
    """
    stored = content.get("M") if isinstance(content, Mapping) else None
    partition, sort = group
    is_key = _is_key(partition, PARTITION_LIMIT) and _is_key(sort, SORT_LIMIT)
    if partition.startswith(INTERNAL) and not partition.startswith(PROBE):
        return None  # it would change an archive, and so what other totals count
    if not isinstance(stored, Mapping) or not is_key or len(stored) > MOST_SUMS + 1:  # the rank
        return None
    amounts = {COUNT: ONE}
    for name, value in stored.items():
        if not (name == RANK or _is_sum(name)):
            return None
        try:
            text = normalize_number(Decimal(value["N"]))
        except (DecimalException, KeyError, TypeError, ValueError, RowError):
            return None
        # An amount of a hundred digits would make DynamoDB refuse the whole update of the group.
        if len(text) > AMOUNT_DIGITS and sum(map(str.isdigit, text)) > AMOUNT_DIGITS:
            return None
        amounts[name] = Decimal(text)
    return amounts


def _is_key(text: str, limit: int) -> bool:
    try:
        return 0 < len(text.encode()) <= limit
    except UnicodeEncodeError:  # half of a surrogate pair
        return False


def _is_sum(name: str) -> bool:
    return bool(SUM_NAME.fullmatch(name)) and name not in RESERVED_NAMES
