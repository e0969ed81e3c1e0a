"""The events of the bulk function: steps, and the fields of each."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from adminview.model.errors import SettingsError

TEXT, NAMES, FLAG = "a text", 'a list such as ["Orders"]', "true or false"
IDS = 'an object such as {"Orders": "<UUID of an event source mapping>"}'
COUNT, AMOUNT, RATE = "a whole number from 1 on", "a whole number from 0 on", "a number above 0"
SECONDS = "a number from 0 on"
FITS: Mapping[str, Callable[[Any], bool]] = {
    TEXT: lambda value: isinstance(value, str),
    NAMES: lambda value: isinstance(value, list),
    IDS: lambda value: isinstance(value, dict),
    FLAG: lambda value: isinstance(value, bool),
    COUNT: lambda value: type(value) is int and value >= 1,  # bool is a subclass of int
    AMOUNT: lambda value: type(value) is int and value >= 0,
    RATE: lambda value: type(value) in {int, float} and value > 0,
    SECONDS: lambda value: type(value) in {int, float} and value >= 0,
}
BUDGETS: Final = {"max_rcu": RATE, "max_wcu": RATE, "tolerated_failures": AMOUNT}
STEPS: Mapping[str, Mapping[str, str]] = {
    "begin": {
        "task": TEXT,
        "sources": NAMES,
        "mappings": IDS,  # set by the state machine
        "migration": TEXT,
        "segments": COUNT,
        "concurrency": COUNT,
        "restart": FLAG,
        "sample": RATE,  # this and the next two: of a verification
        "grace": SECONDS,
        "repair": FLAG,
        "model": TEXT,  # this and the next two: of a build
        "phase": TEXT,
        "waits": AMOUNT,
        **BUDGETS,
    },
    "work": {
        "task": TEXT,  # only of a build
        "run": TEXT,
        "segment": AMOUNT,
        "of": COUNT,
        "generation": COUNT,
        "model": TEXT,
        **BUDGETS,
    },
    "finish": {"runs": NAMES, "tolerated_failures": AMOUNT},
}
NEEDED: Mapping[str, tuple[str, ...]] = {
    "begin": (),
    "work": ("run", "segment", "of"),
    "finish": ("runs",),
}


def validate_request(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return the event without nulls; raise a SettingsError for unknown or malformed fields."""
    step: Any = event.get("step")
    if step not in [*STEPS]:  # may be unhashable
        msg = f"the event's step is {step!r}; it must be {' or '.join(map(repr, STEPS))}"
        raise SettingsError(msg)
    known = STEPS[step]
    request = {name: value for name, value in event.items() if value is not None}
    if unknown := sorted(request.keys() - known.keys() - {"step"}):
        msg = f"unknown fields: {', '.join(unknown)}; step {step!r} takes {', '.join(known)}"
        raise SettingsError(msg)
    if missing := [name for name in NEEDED[step] if name not in request]:
        msg = f"the event lacks {', '.join(missing)}: pass an event that step 'begin' returned"
        raise SettingsError(msg)
    for name, kind in known.items():
        if name in request and not FITS[kind](request[name]):
            msg = f"the event's {name} is {request[name]!r}; it must be {kind}"
            raise SettingsError(msg)
    return request
