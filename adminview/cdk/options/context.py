"""Our keys of the CDK context: the object `adminview` in cdk.json, or `-c adminview:key=value`.

An app keeps the context of its other stacks, and the CDK its feature flags, in the same place. So
all keys of ours are under one, and within it an unknown key is a mistake.
"""

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from json import JSONDecodeError, loads
from typing import Any, Final

from adminview.model.errors import SettingsError

OURS: Final = "adminview"
OVERRIDE: Final = f"{OURS}:"
EXAMPLE: Final = '{"stage": "prod", "prefix": "team-a-"}'
SIMILAR: Final = 0.6


def read_context(
    context: Mapping[str, Any], known: Collection[str], hints: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return our keys of *context*, or raise a SettingsError that names one nobody reads."""
    entries = dict(read_object(OURS, context.get(OURS), example=EXAMPLE))
    for key, value in context.items():
        if key.startswith(OVERRIDE):
            entries[key.removeprefix(OVERRIDE)] = value
    for key in entries:
        if key not in known:
            hint = (hints or {}).get(key) or _hint(key, known)
            msg = f"context {OURS}: unknown key {key!r}; {hint}"
            raise SettingsError(msg)
    return entries


def _hint(key: str, known: Collection[str]) -> str:
    lower = {name.lower(): name for name in known}
    similar = get_close_matches(key.lower(), lower, n=1, cutoff=SIMILAR)
    return f"did you mean {lower[similar[0]]!r}?" if similar else f"there are {', '.join(known)}"


def is_nothing(given: object) -> bool:
    """Tell whether a key is left empty; 0, false, [] and {} are values, if wrong ones."""
    return given is None or given == ""


def lists_nothing(given: object) -> bool:
    """Tell whether a key that holds a list is left empty, or holds an empty one."""
    return is_nothing(given) or given == []


def given_or(given: object, default: str) -> Any:
    """Return the value of a key, whatever it is, or *default* if the key is left empty."""
    return default if is_nothing(given) else given


def read_object(
    key: str, given: object, *, example: str, known: Collection[str] | None = None
) -> Mapping[str, Any]:
    """Read an object, which `-c` passes as JSON text, or raise a SettingsError.

    An empty key is an empty object. If *known* is given, other keys are refused.
    """
    try:
        found = loads(given) if isinstance(given, str) and given else given
    except JSONDecodeError as error:
        msg = f"context {key}: not JSON ({error}); expected an object such as {example}"
        raise SettingsError(msg) from error
    if is_nothing(found):
        return {}
    if not isinstance(found, Mapping):
        msg = f"context {key}: found {type(found).__name__}; expected an object such as {example}"
        raise SettingsError(msg)
    if known is not None and (unknown := sorted(set(found) - set(known))):
        msg = (
            f"context {key}: unknown {', '.join(map(repr, unknown))}; there are {', '.join(known)}"
        )
        raise SettingsError(msg)
    return found
