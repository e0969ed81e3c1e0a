"""Totals: exact counts and sums over groups of rows.

A row stores what it contributes to each total. The totals function follows the stream of
AdminViewTable and adds the differences to the items of the totals table: see `adminview.totals`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Any, Final, TypeAlias

from adminview.model.attribute import PK, SK, Attribute, Spec, attributes, number
from adminview.model.errors import DeclarationError, RowError
from adminview.model.index import Index
from adminview.model.item import DIGITS, AttributeValue, normalize_number, number_text
from adminview.model.key import SEPARATOR, key, unescape
from adminview.model.limits import PARTITION_LIMIT, SORT_LIMIT, check_key

# Attributes of an item of the totals table, besides its key, its sums and its positions.
COUNT: Final = "count"
RANK: Final = "rank"  # a copy of the amount that the total is ranked by
EXPIRES: Final = "expires"  # when DynamoDB may delete a total that is empty, in seconds since 1970
ARCHIVED: Final = "archived"  # up to which time the positions are in the archive of the total
POSITION: Final = "@"  # begins the name of each position, followed by a hash of the shard
# Begin the keys of items of the totals table that are no totals of a view, whose names have no "~".
INTERNAL: Final = "~"
PROBE: Final = "~probe"  # the only one that rows may contribute to: see the probes of a plan
AVERAGE: Final = "average_"  # begins the names of averages, which are computed when reading
NO_SORT: Final = "TOTAL"  # the sort key of a total without a sort attribute

TOTAL_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
SUM_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
PARTITION_PARTS: Final = 4
MOST_SUMS: Final = 10
NAMED: Final = 3  # totals that a message names
MOST_TOTALS: Final = 20  # contributions of one row: each is an update whenever the row changes
ROW_DIGITS: Final = 9  # the sum of a billion rows needs nine more digits than one amount
AMOUNT_DIGITS: Final = DIGITS - ROW_DIGITS  # before and after the point together
AVERAGE_PLACES: Final = 6

# Orders the totals of one partition by rank. It contains only ranked totals.
RANKING: Final = Index("Ranking", partition=PK, sort=number(RANK))

EXACT: Final = Context(prec=2 * DIGITS)  # enough for a sum and one more amount
Attributes: TypeAlias = dict[str, AttributeValue]


def totals_table(view_table: str) -> str:
    """Return the name of the totals table of a view table."""
    return f"{view_table.removesuffix('Table')}Totals"


@dataclass(frozen=True, slots=True)
class Sum:
    """A sum that a total keeps: amounts with at most *digits* digits before the point.

    *scale* is the number of decimal places. DynamoDB keeps 38 digits, and a billion rows need nine
    of them, so *digits* and *scale* may have 29 together.
    """

    name: str
    digits: int = 20
    scale: int = 9

    def check(self, total: str, amount: object) -> AttributeValue:
        """Return an amount in DynamoDB JSON; raises a RowError if the sum cannot take it."""
        if isinstance(amount, bool) or not isinstance(amount, int | Decimal):
            msg = (
                f"total {total!r}: {self.name} must be a whole number or a Decimal, "
                f"not {type(amount).__name__}"
            )
            raise RowError(msg)
        try:
            exact = Decimal(number_text(amount))  # raises if DynamoDB would round it
        except RowError as error:
            msg = f"total {total!r}: {self.name}: {error}"
            raise RowError(msg) from error
        if exact and exact.adjusted() >= self.digits:
            msg = (
                f"total {total!r}: {self.name} has more than {self.digits} digits before the "
                f"point; declare Sum({self.name!r}, digits=…)"
            )
            raise RowError(msg)
        if _places(exact) > self.scale:
            msg = (
                f"total {total!r}: {self.name} has more than {self.scale} decimal places; "
                f"round it in the view, or declare Sum({self.name!r}, scale=…)"
            )
            raise RowError(msg)
        return {"N": normalize_number(exact)}

    def problems(self) -> Iterator[str]:
        if not SUM_NAME.fullmatch(self.name) or self.name.startswith(AVERAGE):
            yield f"a sum cannot be named {self.name!r}; use letters, digits and _"
        if self.name in RESERVED_NAMES:
            yield f"a sum cannot be named {self.name!r}: every total has an attribute of that name"
        whole = all(
            isinstance(size, int) and not isinstance(size, bool)
            for size in (self.digits, self.scale)
        )
        if not whole or self.digits < 1 or self.scale < 0:
            yield f"sum {self.name!r} needs digits of at least 1 and a scale of at least 0"
        elif self.digits + self.scale > AMOUNT_DIGITS:
            yield (
                f"sum {self.name!r} could exceed the {DIGITS} digits of DynamoDB: digits and scale "
                f"are {self.digits + self.scale} together, at most {AMOUNT_DIGITS} are safe"
            )


RESERVED_NAMES: Final = frozenset({PK.name, SK.name, COUNT, RANK, EXPIRES, ARCHIVED, "data"})
ALL_TOTALS: Final = "totals"  # in the place of a source, in what a verification reports
COUNTED: Final = {"N": "1"}


@dataclass(frozen=True, slots=True, init=False)
class Total:
    """Counts rows, and adds up *sums*, per group.

    A group is named by text attributes: *partition* selects some groups, *sort* orders them. A
    query reads the groups of one partition; without *partition*, it reads all groups. The number
    of rows is always kept, as ``count``. A sum is a name, or a `Sum` with a scale of its own.

    *ranked_by* names a sum or ``count``: then the groups of a partition can be queried in its
    order. Each update of such a total takes two more write units.

    If records were lost, rebuild the total under the next *epoch*, and set *epoch_was* to the old
    one: both epochs are updated, and queries return the old one until the new one is complete.

    Raises a DeclarationError if the declaration is invalid.
    """

    name: str
    partition: tuple[Attribute, ...]
    sort: tuple[Attribute, ...]
    sums: tuple[Sum, ...]
    ranked_by: str
    epoch: int
    epoch_was: int

    def __init__(  # noqa: PLR0913 - all but the name are keywords
        self,
        name: str,
        *,
        partition: Spec = (),
        sort: Spec = (),
        sums: Sequence[str | Sum] = (),
        ranked_by: str = "",
        epoch: int = 1,
        epoch_was: int = 0,
    ) -> None:
        if isinstance(sums, str | Sum):
            msg = f"total {name!r}: sums must be a list, as in sums=[{sums!r}]"
            raise DeclarationError(msg)
        for sum_ in sums:
            if not isinstance(sum_, str | Sum):
                msg = f"total {name!r}: sums takes names and Sum(…), not {sum_!r}"
                raise DeclarationError(msg)
        declared = tuple(Sum(sum_) if isinstance(sum_, str) else sum_ for sum_ in sums)
        self._set(name=name, partition=attributes(partition), sort=attributes(sort))
        self._set(sums=declared, ranked_by=ranked_by, epoch=epoch, epoch_was=epoch_was)
        for problem in self._problems():
            msg = f"total {name!r}: {problem}"
            raise DeclarationError(msg)

    @property
    def group(self) -> tuple[Attribute, ...]:
        """The attributes that name a group."""
        return self.partition + self.sort

    @property
    def rank_attribute(self) -> Attribute:
        """The sort attribute of a ranked query."""
        return number(self.ranked_by)

    def at(self, epoch: int) -> "Total":
        return Total(
            self.name,
            partition=self.partition,
            sort=self.sort,
            sums=self.sums,
            ranked_by=self.ranked_by,
            epoch=epoch,
        )

    def __call__(self, *values: object, **amounts: object) -> "Contribution":
        """Return what a row contributes: the values of its group in order, and each sum.

        Raises a RowError that names what is missing or invalid.
        """
        group = self.group
        if len(values) != len(group):
            names = ", ".join(attribute.name for attribute in group)
            msg = f"total {self.name!r} needs values of ({names}); the view gave {len(values)}"
            raise RowError(msg)
        for attribute, value in zip(group, values, strict=True):
            if not isinstance(value, str):
                msg = (
                    f"total {self.name!r}: {attribute.name} must be text, "
                    f"not {type(value).__name__}"
                )
                raise RowError(msg)
            if not value:
                msg = f"total {self.name!r}: {attribute.name} is empty"
                raise RowError(msg)
        declared = {sum_.name for sum_ in self.sums}
        if amounts.keys() != declared:
            wrong = [f"{name} is missing" for name in sorted(declared - amounts.keys())]
            wrong += [f"{name} is not declared" for name in sorted(amounts.keys() - declared)]
            sums = ", ".join(sorted(declared)) or "none"
            msg = f"total {self.name!r} has the sums ({sums}); {', '.join(wrong)}"
            raise RowError(msg)
        encoded = {sum_.name: sum_.check(self.name, amounts[sum_.name]) for sum_ in self.sums}
        if self.ranked_by:
            encoded[RANK] = encoded.get(self.ranked_by, COUNTED)
        split = len(self.partition)
        texts: list[Any] = [*values]
        partitions = [self.partition_key(texts[:split], self.epoch)]
        if self.epoch_was:
            partitions.append(self.partition_key(texts[:split], self.epoch_was))
        sort = texts[split] if self.sort else NO_SORT
        for partition in partitions:
            _check_size(self, PK.name, partition, PARTITION_LIMIT)
        _check_size(self, SK.name, sort, SORT_LIMIT)
        return Contribution(self, tuple(partitions), sort, encoded)

    def partition_key(self, values: Sequence[str], epoch: int | None = None) -> str:
        """Return the partition key of the groups with these values."""
        name = f"{self.name}.{epoch or self.epoch}"
        return key(name, *values) if values else name

    def has(self, partition: str) -> bool:
        """Return whether a partition key belongs to this total, at a declared epoch."""
        name = partition.partition(SEPARATOR)[0]
        return name in {f"{self.name}.{epoch}" for epoch in (self.epoch, self.epoch_was) if epoch}

    def row_of(self, item: Mapping[str, AttributeValue]) -> Attributes | None:
        """Return an item of the totals table as a row with `data`; None if its count is zero.

        The attributes of the group are also attributes of the row, for joins.
        """
        count = Decimal(item.get(COUNT, {"N": "0"})["N"])
        if not count:
            return None
        texts = [unescape(part) for part in item[PK.name]["S"].split(SEPARATOR)[1:]]
        if self.sort:
            texts.append(item[SK.name]["S"])
        group: Attributes = {
            attribute.name: {"S": text} for attribute, text in zip(self.group, texts, strict=True)
        }
        data: Attributes = {**group, COUNT: {"N": normalize_number(count)}}
        for sum_ in self.sums:
            amount = Decimal(item.get(sum_.name, {"N": "0"})["N"])
            data[sum_.name] = {"N": normalize_number(amount)}
            data[AVERAGE + sum_.name] = {"N": normalize_number(_average(amount, count))}
        return {PK.name: item[PK.name], SK.name: item[SK.name], **group, "data": {"M": data}}

    def shape(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "partition": [attribute.name for attribute in self.partition],
            "sort": [attribute.name for attribute in self.sort],
            "sums": [[sum_.name, sum_.digits, sum_.scale] for sum_ in self.sums],
            "ranked_by": self.ranked_by,
            "epoch": [self.epoch, self.epoch_was],
        }

    @staticmethod
    def from_shape(shape: Mapping[str, Any]) -> "Total":
        """Rebuild a total from its `shape`, which any model may have written."""
        epoch, epoch_was = shape["epoch"]
        return Total(
            shape["name"],
            partition=shape["partition"],
            sort=shape["sort"],
            sums=[Sum(*sum_) for sum_ in shape["sums"]],
            ranked_by=shape["ranked_by"],
            epoch=epoch,
            epoch_was=epoch_was,
        )

    def _set(self, **values: object) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _problems(self) -> Iterator[str]:
        if not TOTAL_NAME.fullmatch(self.name):
            yield (
                "its name must have 1 to 64 characters of A-Z a-z 0-9 _ - and begin with A-Z or a-z"
            )
        if len(self.partition) > PARTITION_PARTS:
            yield f"{len(self.partition)} partition attributes; at most {PARTITION_PARTS}"
        if len(self.sort) > 1:
            yield "it takes one sort attribute; put the others into partition"
        for attribute in self.group:
            if attribute.type != "S":
                yield f"{attribute.name!r} must be text; write a number with leading zeros"
            if attribute.name in RESERVED_NAMES:
                yield f"{attribute.name!r} cannot name a group: every total has that attribute"
        if len(self.sums) > MOST_SUMS:
            yield f"{len(self.sums)} sums; at most {MOST_SUMS}"
        for sum_ in self.sums:
            yield from sum_.problems()
        sums = [sum_.name for sum_ in self.sums]
        averages = {AVERAGE + name for name in sums}  # computed when reading
        names = [*(attribute.name for attribute in self.group), *sums, *averages]
        if repeated := {name for name in names if names.count(name) > 1}:
            yield f"two of its attributes are named {', '.join(sorted(repeated))}"
        yield from self._rank_problems()
        yield from self._epoch_problems()

    def _rank_problems(self) -> Iterator[str]:
        if not self.ranked_by:
            return
        ranks = [COUNT, *(sum_.name for sum_ in self.sums)]
        if self.ranked_by not in ranks:
            yield f"ranked_by names {self.ranked_by!r}; it can be one of {', '.join(ranks)}"
        if not self.sort:
            yield "a ranking needs a sort attribute: it orders the groups of one partition"

    def _epoch_problems(self) -> Iterator[str]:
        for epoch, least in ((self.epoch, 1), (self.epoch_was, 0)):
            if isinstance(epoch, bool) or not isinstance(epoch, int) or epoch < least:
                yield f"an epoch must be a whole number from {least} on, not {epoch!r}"
                return
        if self.epoch_was >= self.epoch:
            yield f"epoch_was is {self.epoch_was}; it must be lower than epoch, {self.epoch}"


@dataclass(slots=True)
class Contribution:
    """What one row adds to one group of a total."""

    total: Total
    partitions: tuple[str, ...]  # one per declared epoch
    sort: str
    amounts: dict[str, AttributeValue]


def encode_contributions(contributions: Sequence[Contribution]) -> AttributeValue:
    """Return a row's contributions in DynamoDB JSON: partition key -> sort key -> amounts.

    Raises a RowError if there are too many, or two for one group.
    """
    if len(contributions) > MOST_TOTALS:
        totals = [*dict.fromkeys(contribution.total.name for contribution in contributions)]
        names = ", ".join(totals[:NAMED]) + (", …" if totals[NAMED:] else "")
        msg = (
            f"a row has {len(contributions)} contributions to totals ({names}); "
            f"at most {MOST_TOTALS}"
        )
        raise RowError(msg)
    groups: dict[str, AttributeValue] = {}
    for contribution in contributions:
        for partition in contribution.partitions:
            sorts: dict[str, AttributeValue] = groups.setdefault(partition, {"M": {}})["M"]
            if contribution.sort in sorts:
                msg = (
                    f"a row contributes twice to one group of total {contribution.total.name!r}; "
                    "add up the amounts, or yield a row for each"
                )
                raise RowError(msg)
            sorts[contribution.sort] = {"M": contribution.amounts}
    return {"M": groups}


def _places(number: Decimal) -> int:
    """Return the number of decimal places, without trailing zeros."""
    exponent = number.normalize(EXACT).as_tuple().exponent
    assert isinstance(exponent, int)
    return max(0, -exponent)


def _average(amount: Decimal, count: Decimal) -> Decimal:
    places = max(AVERAGE_PLACES, _places(amount))
    quotient = Context(prec=DIGITS).divide(amount, count)
    return quotient.quantize(Decimal(1).scaleb(-places), ROUND_HALF_EVEN, EXACT)


def _check_size(total: Total, name: str, text: str, limit: int) -> None:
    if len(text) <= limit and text.isascii():
        return
    try:
        check_key(name, {"S": text}, limit)
    except RowError as error:
        msg = f"total {total.name!r}: the values of its group are too long: {error}"
        raise RowError(msg) from error
