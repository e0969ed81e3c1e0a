"""Stored totals, and the sums of the rows they are compared with. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from hashlib import blake2b
from typing import Any, Final
from zlib import crc32

from adminview.model.attribute import PK, SK
from adminview.model.errors import RowError
from adminview.model.item import normalize_number
from adminview.model.key import SEPARATOR, unescape
from adminview.model.total import ARCHIVED, EXPIRES, NO_SORT, RANK, Total
from adminview.totals.changes import Amounts, Group, contributions
from adminview.totals.position import positions_of

VERSION_BYTES: Final = 8  # of the hash of a total's positions


@dataclass(frozen=True, slots=True)
class StoredTotal:
    """The nonzero amounts of a stored total, and a hash of its positions."""

    amounts: Amounts
    version: str  # a hash of its positions: every update moves one

    @classmethod
    def of(cls, item: Mapping[str, Any]) -> "StoredTotal":
        positions = sorted((name, value["B"]) for name, value in positions_of(item).items())
        positions.append((ARCHIVED, item.get(ARCHIVED, {}).get("B", "")))
        digest = blake2b(repr(positions).encode(), digest_size=VERSION_BYTES)
        return cls(amounts_of(item), digest.hexdigest())


ABSENT: Final = StoredTotal({}, "")


@dataclass(frozen=True, slots=True)
class GroupName:
    """The names in the key of a total."""

    total: str
    epoch: str
    values: tuple[str, ...]

    @classmethod
    def of(cls, group: Group, totals: Iterable[Total]) -> "GroupName":
        """Return the names in a key. *totals* are declared: a sort value may read like none."""
        partition, sort = group
        name, *values = partition.split(SEPARATOR)
        total, _, epoch = name.rpartition(".")
        is_sorted = any(declared.sort for declared in totals if declared.name == total)
        sorts = (sort,) if is_sorted or sort != NO_SORT else ()
        return cls(total, epoch, (*map(unescape, values), *sorts))


@dataclass(frozen=True, slots=True)
class TotalDifference:
    """A total that differs from the sum of its rows. It contains keys: do not log it."""

    name: GroupName
    expected: Mapping[str, str]  # amounts that are not zero
    stored: Mapping[str, str]

    @classmethod
    def between(cls, name: GroupName, expected: Amounts, stored: Amounts) -> "TotalDifference":
        return cls(name, _texts(expected), _texts(stored))

    def to_json(self) -> dict[str, Any]:
        return {
            "total": self.name.total,
            "epoch": self.name.epoch,
            "group": list(self.name.values),
            "expected": dict(self.expected),
            "stored": dict(self.stored),
        }


def amounts_of(item: Mapping[str, Any]) -> Amounts:
    """Return the amounts of an item of the totals table that are not zero."""
    amounts: Amounts = {}
    for name, value in item.items():
        if "N" in value and name != EXPIRES:
            amount = Decimal(value["N"])
            if amount:
                amounts[name] = amount
    return amounts


def describe_contributions(row: Mapping[str, Any], totals: Iterable[Total]) -> list[str]:
    """Return a line for each total that a row contributes to; *totals* are declared."""
    amounts, malformed = contributions(row)
    lines = []
    for group, added in amounts.items():
        name = GroupName.of(group, totals)
        shown = ", ".join(f"{key} {text}" for key, text in _texts(added).items() if key != RANK)
        lines.append(f"{name.total} (epoch {name.epoch}) {' | '.join(name.values)}: {shown}")
    return [*lines, *(["malformed, and in no total"] * malformed)]


def group_of(item: Mapping[str, Any]) -> Group:
    return item[PK.name]["S"], item[SK.name]["S"]


def without_zeros(amounts: Amounts) -> Amounts:
    return {name: amount for name, amount in amounts.items() if amount}


def part_of(group: Sequence[str], parts: int) -> int:
    """Return the part of a group, if all groups are divided into that many parts."""
    return crc32("\n".join(group).encode("utf-8", "surrogatepass")) % parts


def _texts(amounts: Amounts) -> dict[str, str]:
    return {name: _text(amount) for name, amount in sorted(amounts.items())}


def _text(amount: Decimal) -> str:
    try:
        return normalize_number(amount)
    except RowError:  # a sum with more digits than DynamoDB keeps
        return str(amount)
