"""Our keys of the CDK context: the object `adminview` in cdk.json, or `-c adminview:key=value`.

The context also holds an app's own keys and the CDK's feature flags. So all our keys are under one
key, and an unknown key within it is an error.
"""

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from json import JSONDecodeError, loads
from typing import Any, Final

from adminview.aws.settings import STAGES, keys_of_stage
from adminview.aws.stack_outputs import STAGE
from adminview.model.errors import SettingsError

OURS: Final = "adminview"
OVERRIDE: Final = f"{OURS}:"
STAGES_EXAMPLE: Final = '{"prod": {"alarms": {"email": "ops@example.com"}}}'
EXAMPLE: Final = '{"stage": "prod", "prefix": "team-a-"}'
SIMILAR: Final = 0.6


def read_context(
    context: Mapping[str, Any],
    known: Collection[str],
    hints: Mapping[str, str] | None = None,
    stages: Collection[str] = (),
) -> dict[str, Any]:
    """Return our keys of *context*, or raise a SettingsError that names an unknown one.

    The keys of a stage replace those of the file, and those of the command line replace both.
    """
    entries = dict(read_object(OURS, context.get(OURS), example=EXAMPLE))
    typed = {
        key.removeprefix(OVERRIDE): value
        for key, value in context.items()
        if key.startswith(OVERRIDE)
    }
    _check_keys(OURS, entries | typed, known, hints)
    if STAGES not in known:
        return entries | typed
    listed = read_object(
        STAGES, (entries | typed).get(STAGES), example=STAGES_EXAMPLE, known=stages
    )
    own = {
        name: read_object(f"{STAGES}.{name}", keys, example=EXAMPLE)
        for name, keys in listed.items()
    }
    for name, keys in own.items():
        inner = [key for key in known if key not in ("stage", STAGES)]
        _check_keys(f"{STAGES}.{name}", keys, inner, hints)
    stage = value_or((entries | typed).get("stage"), STAGE)
    chosen = {key: value for key, value in typed.items() if key != STAGES}
    return keys_of_stage({**entries, STAGES: own}, str(stage)) | chosen


def _check_keys(
    place: str, entries: Mapping[str, Any], known: Collection[str], hints: Mapping[str, str] | None
) -> None:
    for key in entries:
        if key not in known:
            hint = (hints or {}).get(key) or _hint(key, known)
            msg = f"context {place}: unknown key {key!r}; {hint}"
            raise SettingsError(msg)


def _hint(key: str, known: Collection[str]) -> str:
    lower = {name.lower(): name for name in known}
    similar = get_close_matches(key.lower(), lower, n=1, cutoff=SIMILAR)
    return f"did you mean {lower[similar[0]]!r}?" if similar else f"there are {', '.join(known)}"


def is_empty(value: object) -> bool:
    """Return whether a key is left empty. 0, false, [] and {} are values, valid or not."""
    return value is None or value == ""


def is_empty_list(value: object) -> bool:
    """Return whether a key is left empty or holds an empty list."""
    return is_empty(value) or value == []


def value_or(value: object, default: str) -> Any:
    """Return *value* as it is, or *default* if the key is left empty."""
    return default if is_empty(value) else value


def read_object(
    key: str, value: object, *, example: str, known: Collection[str] | None = None
) -> Mapping[str, Any]:
    """Read an object, which `-c` passes as JSON text, or raise a SettingsError.

    An empty key is an empty object. If *known* is given, other keys are refused.
    """
    try:
        entries = loads(value) if isinstance(value, str) and value else value
    except JSONDecodeError as error:
        msg = f"context {key}: not JSON ({error}); expected an object such as {example}"
        raise SettingsError(msg) from error
    if is_empty(entries):
        return {}
    if not isinstance(entries, Mapping):
        msg = f"context {key}: found {type(entries).__name__}; expected an object such as {example}"
        raise SettingsError(msg)
    if known is not None and (unknown := sorted(set(entries) - set(known))):
        msg = (
            f"context {key}: unknown {', '.join(map(repr, unknown))}; there are {', '.join(known)}"
        )
        raise SettingsError(msg)
    return entries
