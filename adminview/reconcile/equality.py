"""Whether two items, or a row and what it should be, are the same: by meaning, not by spelling.

DynamoDB gives sets back in any order, and numbers without needless zeros.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from adminview.model.errors import RowError
from adminview.model.item import AttributeValue, normalize_number
from adminview.model.row import CHANGED_AT, MODEL, SEQUENCE, Attributes

# Which change wrote a row, and which model, says nothing about what it shows.
CIRCUMSTANCES = frozenset({SEQUENCE, CHANGED_AT, MODEL})


def equivalent(
    one: Mapping[str, AttributeValue] | None, other: Mapping[str, AttributeValue] | None
) -> bool:
    """Tell whether two items are the same."""
    if one is None or other is None:
        return one is other
    return one == other or canonical(one) == canonical(other)


def equivalent_rows(one: Attributes, other: Attributes) -> bool:
    """Tell whether two rows show the same, of the same owner."""
    return equivalent(content_of(one), content_of(other))


def content_of(row: Attributes) -> Attributes:
    """Take from a row all that is the same whenever and however it is written."""
    return {name: value for name, value in row.items() if name not in CIRCUMSTANCES}


def canonical(attributes: Mapping[str, AttributeValue]) -> dict[str, AttributeValue]:
    """Spell all values in the one way that equal ones share."""
    return {name: _value(value) for name, value in attributes.items()}


def _value(value: AttributeValue) -> AttributeValue:
    ((kind, content),) = value.items()
    return {kind: _content(kind, content)}


def _content(kind: str, content: Any) -> Any:
    match kind:
        case "N":
            return _number(content)
        case "NS":
            return sorted(map(_number, content))
        case "SS" | "BS":
            return sorted(content)
        case "M":
            return canonical(content)
        case "L":
            return [_value(element) for element in content]
        case _:
            return content


def _number(digits: str) -> str:
    try:
        return normalize_number(Decimal(digits))
    except (ArithmeticError, RowError):
        return digits  # a local engine may keep what is none
