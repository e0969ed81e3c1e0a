"""The items that services write in a history, and the rows that the views derive."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from types import ModuleType, SimpleNamespace
from typing import Any

from adminview.model import Index, Item, Registry, Row, Source, view
from adminview.model.row import RowKey
from tests.simulator.choices import Choices

SECRET = "secret-of-a-customer"  # noqa: S105 - must be in no dead letter
REFUSED = -1  # the value of a row that the table refuses
INDEXED = 1  # the value of a row that is also in an index
ROWS = "ABCD"

things = Source("Things", partition_key="id")
others = Source("Others", partition_key="id")
by_state = Index("ByState", partition="shelf")
# The fault is in the views and ends when fixed views are deployed: it is not part of an item.
deployed = SimpleNamespace(fixed=False)


@dataclass(frozen=True, slots=True)
class State:
    """One of the states that an item can have."""

    number: int
    rows: dict[str, int]
    poison: bool = False

    @property
    def ill(self) -> bool:
        """Return whether it cannot be synced before the fix."""
        return self.poison or REFUSED in self.rows.values()

    def __str__(self) -> str:
        """Show the rows, and their faults."""
        rows = "".join(f"{name}{value}" for name, value in self.rows.items())
        return f"{{{rows.replace('-1', '!')}}}{' poison' * self.poison}"


@dataclass(frozen=True, slots=True)
class Name:
    """An item that services may write."""

    source: Source
    id: str

    @property
    def key(self) -> dict[str, Any]:
        """The key of the item."""
        return {"id": {"S": self.id}}

    @property
    def owner(self) -> str:
        """The item as its rows name it, computed without the code under test."""
        return f"{self.source.name}/{self.id}"

    def image(self, state: State | None) -> dict[str, Any] | None:
        """Return the item as DynamoDB stores it."""
        if state is None:
            return None
        return {
            **self.key,
            "state": {"N": str(state.number)},
            "rows": {"M": {name: {"N": str(value)} for name, value in state.rows.items()}},
            "poison": {"BOOL": state.poison},
            "secret": {"S": SECRET},
        }


NAMES = (Name(things, "a"), Name(things, "b"), Name(others, "a"))


class PartOutcome(Enum):
    """What a new model does with a part that had a row in the old one."""

    KEPT = 0
    CHANGED = 1  # the row has other content
    MOVED = 2  # it has another key
    DROPPED = 3


@dataclass(frozen=True, slots=True)
class Model:
    """The rows that the views of one deployment derive."""

    name: str = "model-1"
    outcomes: tuple[PartOutcome, ...] = (PartOutcome.KEPT,) * len(ROWS)
    swapped: bool = False  # two rows exchange their keys

    def part(self, name: str, value: int) -> tuple[str, int] | None:
        """Return the row of a part and its content; None if it has no row."""
        place = ROWS.index(name) ^ self.swapped
        match self.outcomes[place]:
            case PartOutcome.DROPPED:
                return None
            case PartOutcome.MOVED:
                return ROWS[place].lower(), value
            case PartOutcome.CHANGED:
                return ROWS[place], value if value == REFUSED else value + 10
            case _:
                return ROWS[place], value

    def rows(self, name: Name, state: State | None) -> dict[RowKey, str]:
        """Return all rows of a state with their content, computed without the code under test."""
        if state is None:
            return {}
        where = f" SHELF#{state.number % 2}"
        rows = [row for part in state.rows.items() if (row := self.part(*part))]
        return {
            (f"{name.source.name}#{name.id}", sort): f"{value}{where if value == INDEXED else ''}"
            for sort, value in rows
        }


def draw_model(choices: Choices) -> Model:
    """Choose the model that replaces the first one."""
    outcomes = tuple(
        choices.pick((PartOutcome.KEPT, *PartOutcome, PartOutcome.CHANGED)) for _ in ROWS
    )
    return Model("model-2", outcomes, swapped=choices.below(3) > 0)


def draw_states(choices: Choices, poison_percent: int, refused_percent: int) -> list[State]:
    """Choose the states that the items of a history can have."""
    states = []
    for number in range(2 + choices.below(4)):
        rows = {name: value - 1 for name in ROWS if (value := choices.below(3))}
        poison = choices.happens(poison_percent)
        if rows and not poison and choices.happens(refused_percent):
            rows[min(rows)] = REFUSED
        states.append(State(number, rows, poison))
    return states


def make_registry(model: Model) -> Registry:
    """Declare the sources, and the views of a model."""

    @view(things)
    def parts_of_thing(item: Item) -> Iterator[Row]:
        """Derive a row per part."""
        yield from _parts(model, "Things", item)

    @view(others)
    def parts_of_other(item: Item) -> Iterator[Row]:
        """Derive a row per part, under another name."""
        yield from _parts(model, "Others", item)

    module = ModuleType("simulated")
    module.__dict__.update(
        things=things,
        others=others,
        by_state=by_state,
        parts_of_thing=parts_of_thing,
        parts_of_other=parts_of_other,
    )
    return Registry.of([module])


def _parts(model: Model, source: str, item: Item) -> Iterator[Row]:
    if item["poison"] and not deployed.fixed:
        raise ValueError(item["secret"])
    for name, number in item["rows"].items():
        if row := model.part(name, int(number)):
            sort, value = row
            yield Row(
                f"{source}#{item['id']}",
                sort,
                data={"value": value},
                indexes=[by_state(shelf(item["state"]))] if value == INDEXED else [],
            )


def shelf(state: Decimal) -> str:
    """Return the index partition of a state's rows, which can change while their data does not."""
    return f"SHELF#{state % 2}"
