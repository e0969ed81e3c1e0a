"""JSON, as it goes to DynamoDB and comes from it.

orjson writes a row in a fraction of the time that Python's own module takes. Where it refuses (text
that is no UTF-8, as a lone surrogate is) Python's own has the last word; so it has where orjson is
not installed. For text, booleans, None, lists and maps of them, which is all that DynamoDB JSON is
made of, they come to the same. For what a hand-made `Wire` might hold besides they may not: NaN is
null to one of them, and a UUID text.
"""

from collections.abc import Callable
from functools import partial
from json import JSONEncoder, loads
from typing import Any, Final, TypeAlias

try:
    import orjson
except ImportError:  # no wheel for this machine, or a bundle for another one
    orjson = None  # type: ignore[assignment]

Default: TypeAlias = Callable[[Any], Any]

_plain: Final = partial(JSONEncoder, separators=(",", ":"), check_circular=False)
_encode: Final = _plain().encode
_ONLY_JSON: Final = (
    orjson.OPT_PASSTHROUGH_SUBCLASS
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
    if orjson
    else 0
)


def dump_json(value: Any, default: Default | None = None) -> bytes:
    """Write a value, or raise a TypeError, ValueError or RecursionError.

    *default* is asked for what stands for a value that is no JSON.
    """
    if orjson:
        try:
            return orjson.dumps(value, default, _ONLY_JSON)
        except TypeError:
            pass  # it may be one that only Python's own takes
    encode = _plain(default=default).encode if default else _encode
    return encode(value).encode()


def parse(text: bytes) -> Any:
    """Read a value, or raise a ValueError."""
    if orjson:
        try:
            return orjson.loads(text)
        except ValueError:
            pass  # likewise
    return loads(text)
