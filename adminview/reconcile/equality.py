"""Compare items and rows by value, not by representation.

DynamoDB returns sets in any order, and numbers without trailing zeros.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from adminview.model.errors import RowError
from adminview.model.item import AttributeValue, normalize_number
from adminview.model.row import CHANGED_AT, MODEL, SEQUENCE, Attributes

# Which change and which model wrote a row does not matter for its content.
WRITE_METADATA = frozenset({SEQUENCE, CHANGED_AT, MODEL})


def equivalent(
    left: Mapping[str, AttributeValue] | None, right: Mapping[str, AttributeValue] | None
) -> bool:
    if left is None or right is None:
        return left is right
    return left == right or canonical(left) == canonical(right)


def equivalent_rows(left: Attributes, right: Attributes) -> bool:
    """Return whether two rows have the same content and owner."""
    return equivalent(content_of(left), content_of(right))


def content_of(row: Attributes) -> Attributes:
    """Return a row without the attributes that depend on when and by which model it was written."""
    return {name: value for name, value in row.items() if name not in WRITE_METADATA}


def canonical(attributes: Mapping[str, AttributeValue]) -> dict[str, AttributeValue]:
    """Normalize all values, so that equivalent ones are equal."""
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
        return digits  # a local engine may store an invalid number
