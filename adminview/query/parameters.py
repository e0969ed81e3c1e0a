"""Parameters as they are typed -> parameters as a question takes them."""

from base64 import b64decode
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from adminview.model import AccessPattern
from adminview.model.errors import QuestionError

WORDS = {"S": "text", "N": "a number", "B": "base64"}


def typed(pattern: AccessPattern, given: Mapping[str, str]) -> dict[str, Any]:
    """Read the text of each parameter as its type; unknown ones are left to the question."""
    return {
        name: _read(pattern, name, text, pattern.parameters.get(name, "S"))
        for name, text in given.items()
    }


def _read(pattern: AccessPattern, name: str, text: str, type_: str) -> Any:
    try:
        return READERS[type_](text)
    except (ArithmeticError, ValueError) as error:
        msg = f"access pattern {pattern.name!r}: {name} must be {WORDS[type_]}"
        raise QuestionError(msg) from error


def _text(text: str) -> str:
    text.encode()  # raises if it holds a lone surrogate
    return text


def _number(text: str) -> Decimal:
    number = Decimal(text)
    if not number.is_finite():
        msg = "not a number"
        raise ValueError(msg)
    return number  # its range is checked when the pattern is filled in


READERS: dict[str, Callable[[str], Any]] = {
    "S": _text,
    "N": _number,
    "B": lambda text: b64decode(text, validate=True),
}
