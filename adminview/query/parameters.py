"""Parse the text of parameters into the types of an access pattern."""

from base64 import b64decode
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from adminview.model import AccessPattern
from adminview.model.errors import QueryError

WORDS = {"S": "text", "N": "a number", "B": "base64"}


def typed(pattern: AccessPattern, texts: Mapping[str, str]) -> dict[str, Any]:
    """Parse each parameter as its type. Unknown names pass: the pattern refuses them later."""
    return {
        name: _read(pattern, name, text, pattern.parameters.get(name, "S"))
        for name, text in texts.items()
    }


def _read(pattern: AccessPattern, name: str, text: str, type_: str) -> Any:
    try:
        return READERS[type_](text)
    except (ArithmeticError, ValueError) as error:
        msg = f"access pattern {pattern.name!r}: {name} must be {WORDS[type_]}"
        raise QueryError(msg) from error


def _text(text: str) -> str:
    text.encode()  # raises for a lone surrogate
    return text


def _number(text: str) -> Decimal:
    number = Decimal(text)
    if not number.is_finite():
        msg = "not a number"
        raise ValueError(msg)
    return number  # the pattern checks the range


READERS: dict[str, Callable[[str], Any]] = {
    "S": _text,
    "N": _number,
    "B": lambda text: b64decode(text, validate=True),
}
