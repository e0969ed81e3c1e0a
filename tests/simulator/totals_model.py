"""Rows that contribute to totals, as several models declare them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from adminview.model import Row, Sum, Total
from adminview.model.total import Contribution
from tests.simulator.choices import Choices

WIDE = Sum("amount", digits=20, scale=9)
AMOUNTS = (
    Decimal(1),
    Decimal("0.1"),
    Decimal(-3),
    Decimal(0),
    Decimal("99999999999999999999.999999999"),
)
HOSTILE: tuple[Any, ...] = (
    {"S": "Groups.1"},
    {"M": {"Groups.1": {"M": {"a": {"M": {"PK": {"N": "1"}}}}}}},
    {"M": {"Groups.1": {"M": {"a": {"M": {"amount": {"N": "1E+100"}}}}}}},
)

plain = Total("Groups", sort="group", sums=[WIDE])
ranked = Total("Groups", sort="group", sums=[WIDE], ranked_by="amount")
counted = Total("Groups", sort="group", ranked_by="count")
other_sum = Total("Groups", sort="group", sums=["parts"])
partitioned = Total("Groups", partition="group", sums=[WIDE])
renamed = Total("Others", sort="group", sums=[WIDE])
rebuilt = Total("Groups", sort="group", sums=[WIDE], epoch=2, epoch_was=1)
second = Total("Groups", sort="group", sums=[WIDE], epoch=2)


@dataclass(frozen=True, slots=True)
class RowState:
    """The groups that a row is in, each with an amount."""

    groups: tuple[tuple[str, Decimal], ...]
    hostile: Any = None  # what somebody else wrote instead of contributions

    def __str__(self) -> str:
        """Show the groups, or that there are none that count."""
        shown = " ".join(f"{group}{amount}" for group, amount in self.groups)
        return "hostile" if self.hostile else f"{{{shown}}}"


Contribute = Callable[[str, Decimal], Contribution]

MODELS: dict[str, Sequence[Contribute]] = {
    "plain": [lambda group, amount: plain(group, amount=amount)],
    "ranked": [lambda group, amount: ranked(group, amount=amount)],
    "counted": [lambda group, _: counted(group)],
    "other sum": [lambda group, amount: other_sum(group, parts=amount)],
    "partitioned": [lambda group, amount: partitioned(group, amount=amount)],
    "renamed": [lambda group, amount: renamed(group, amount=amount)],
    "rebuilt": [lambda group, amount: rebuilt(group, amount=amount)],
    "second epoch": [lambda group, amount: second(group, amount=amount)],
    "two totals": [
        lambda group, amount: plain(group, amount=amount),
        lambda group, amount: renamed(group, amount=amount),
    ],
    "none": [],
}


def draw_state(choices: Choices, groups: int, malformed_percent: int) -> RowState | None:
    """Draw what a row becomes; None deletes it."""
    if choices.happens(25):
        return None
    if choices.happens(malformed_percent):
        return RowState((), choices.pick(HOSTILE))
    names = "abc"[:groups]
    first = choices.pick(names)
    chosen = [first, *(name for name in names if name != first and choices.happens(20))]
    return RowState(tuple((name, choices.pick(AMOUNTS)) for name in chosen))


def image(name: str, state: RowState, model: str, version: int) -> dict[str, Any]:
    """Write a row as DynamoDB stores it."""
    totals = [
        contribute(group, amount) for contribute in MODELS[model] for group, amount in state.groups
    ]
    row = Row("ROWS", name, data={"version": version}, totals=totals).attributes()
    return row | ({"_totals": state.hostile} if state.hostile else {})
