"""One key of the context that holds an object: as cdk.json has it, or as JSON text behind `-c`."""

from collections.abc import Collection, Mapping
from json import JSONDecodeError, loads
from typing import Any

from lambdas.model.errors import SettingsError


def read_object(
    key: str, given: object, *, example: str, known: Collection[str] | None = None
) -> Mapping[str, Any]:
    """Read an object whose keys are *known*, or any if none are; nothing given is an empty one."""
    try:
        found = loads(given) if isinstance(given, str) and given else given
    except JSONDecodeError as error:
        msg = f"context {key}: not JSON ({error}); expected an object such as {example}"
        raise SettingsError(msg) from error
    if found is None or found == "":
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
