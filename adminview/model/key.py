"""Keys made of several parts: ``ORDER#STATUS#PENDING``."""

from decimal import Decimal
from typing import TypeAlias

from adminview.model.errors import RowError
from adminview.model.item import normalize_number, number_text

SEPARATOR, ESCAPE = "#", "%"
# The escape character comes first. Rows are stored with these codes, and no fingerprint covers
# them: with other codes, all rows must be rebuilt.
ESCAPES = {ESCAPE: "%25", SEPARATOR: "%23"}

Part: TypeAlias = str | int | Decimal


def key(first: Part, /, *parts: Part, raw: str | None = None) -> str:
    """Join parts with ``#``; different parts always give different keys.

    ``%`` and ``#`` in a part become ``%25`` and ``%23``, so no part can imitate a separator. Other
    parts stay as they are: ``key("USER", "u-1")`` is ``USER#u-1``. A number is written as DynamoDB
    writes it: 1, ``Decimal("1.0")`` and ``"1"`` are the same part. Raises RowError for an empty
    part, and for a part that is neither text nor a number.

    *raw* ends the key unescaped. Use it for a value with separators of its own, such as the sort
    key of an item. An access pattern names it ``{name:raw}``. Two such keys differ if their parts
    or their *raw* values differ, provided both have the same number of parts.
    """
    try:
        joined = SEPARATOR.join((first, *parts))  # type: ignore[arg-type]  # most are text
    except TypeError:
        plain = False
    else:
        # Most keys have nothing to escape. This runs several times for every row.
        plain = joined.count(SEPARATOR) == len(parts) and ESCAPE not in joined
    if not (plain and first and all(parts)):
        joined = SEPARATOR.join(
            escape(_text(part, place)) for place, part in enumerate((first, *parts), 1)
        )
    if raw is not None:
        return f"{joined}{SEPARATOR}{_raw(raw)}"
    if not parts:
        msg = "a key needs at least two parts; write a fixed text as a plain string"
        raise RowError(msg)
    return joined


def escape(part: str) -> str:
    """Replace the characters that a key reserves; text without them stays as it is."""
    if SEPARATOR in part or ESCAPE in part:
        for character, code in ESCAPES.items():
            part = part.replace(character, code)
    return part


def unescape(part: str) -> str:
    """Return the part that `escape` was given."""
    for character, code in reversed(ESCAPES.items()):
        part = part.replace(code, character)
    return part


def _text(part: object, place: int) -> str:
    """Convert a part to text, unescaped. Errors never quote the value."""
    if isinstance(part, str):
        if part:
            return part
        msg = f"part {place} of a key is empty"
        raise RowError(msg)
    if isinstance(part, int | Decimal) and not isinstance(part, bool):
        return normalize_number(Decimal(number_text(part)))
    msg = f"part {place} of a key must be text or a number, not {type(part).__name__}"
    raise RowError(msg)


def _raw(raw: object) -> str:
    if not isinstance(raw, str):
        msg = f"the raw end of a key must be text, not {type(raw).__name__}"
        raise RowError(msg)
    if not raw:
        msg = "the raw end of a key is empty"
        raise RowError(msg)
    return raw
