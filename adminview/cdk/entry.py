"""What one key of the context holds: as cdk.json has it, or as text behind `-c`."""

from collections.abc import Collection, Mapping
from json import JSONDecodeError, loads
from typing import Any

from adminview.model.errors import SettingsError


def is_nothing(given: object) -> bool:
    """Tell whether a key is left empty; 0, false, [] and {} are values, if wrong ones."""
    return given is None or given == ""


def lists_nothing(given: object) -> bool:
    """Tell whether a key that holds a list is left empty, or holds an empty one."""
    return is_nothing(given) or given == []


def given_or(given: object, default: str) -> Any:
    """Take what a key holds, whatever it is, or *default* if that is nothing."""
    return default if is_nothing(given) else given


def read_object(
    key: str, given: object, *, example: str, known: Collection[str] | None = None
) -> Mapping[str, Any]:
    """Read an object whose keys are *known*, or any if none are; nothing given is an empty one."""
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
