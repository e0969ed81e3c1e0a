"""JSON for DynamoDB.

orjson writes a row in a fraction of the time that Python's json module takes. Python's module is
the fallback: where orjson refuses a value (a lone surrogate, for example) or is not installed. Both
give the same result for DynamoDB JSON, which has only text, booleans, None, lists and maps. They
differ for other values, which a hand-made `RawValue` could hold: orjson writes NaN as null and a
UUID as text.
"""

from collections.abc import Callable
from functools import partial
from json import JSONEncoder, loads
from typing import Any, Final, TypeAlias

try:
    import orjson
except ImportError:  # no wheel for this machine, or a bundle for another platform
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
    """Serialize a value; raises a TypeError, ValueError or RecursionError.

    *default* converts values that JSON does not have.
    """
    if orjson:
        try:
            return orjson.dumps(value, default, _ONLY_JSON)
        except TypeError:
            pass  # Python's module may accept it
    encode = _plain(default=default).encode if default else _encode
    return encode(value).encode()


def parse(text: bytes) -> Any:
    """Parse JSON; raises a ValueError."""
    if orjson:
        try:
            return orjson.loads(text)
        except ValueError:
            pass  # Python's module may accept it
    return loads(text)
