"""What the bulk function may be asked: every step, and what an event of it holds."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from adminview.model.errors import SettingsError

TEXT, NAMES, FLAG = "a text", 'a list such as ["Orders"]', "true or false"
IDS = 'an object such as {"Orders": "<UUID of an event source mapping>"}'
COUNT, AMOUNT, RATE = "a whole number from 1 on", "a whole number from 0 on", "a number above 0"
FITS: Mapping[str, Callable[[Any], bool]] = {
    TEXT: lambda value: isinstance(value, str),
    NAMES: lambda value: isinstance(value, list),
    IDS: lambda value: isinstance(value, dict),
    FLAG: lambda value: isinstance(value, bool),
    COUNT: lambda value: type(value) is int and value >= 1,  # True is no number here
    AMOUNT: lambda value: type(value) is int and value >= 0,
    RATE: lambda value: type(value) in {int, float} and value > 0,
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
        **BUDGETS,
    },
    "work": {"run": TEXT, "segment": AMOUNT, "of": COUNT, "turn": COUNT, "model": TEXT, **BUDGETS},
}
NEEDED: Mapping[str, tuple[str, ...]] = {"begin": (), "work": ("run", "segment", "of")}


def validate_request(event: Mapping[str, Any]) -> dict[str, Any]:
    """Give what an event holds; refuse what nobody would look at, or could not understand."""
    step: Any = event.get("step")
    if step not in [*STEPS]:  # it may be anything
        msg = f"the event's step is {step!r}; it is {' or '.join(map(repr, STEPS))}"
        raise SettingsError(msg)
    known = STEPS[step]
    given = {name: value for name, value in event.items() if value is not None}
    if unknown := sorted(given.keys() - known.keys() - {"step"}):
        msg = f"the event holds {', '.join(unknown)}; to {step} it may hold {', '.join(known)}"
        raise SettingsError(msg)
    if missing := [name for name in NEEDED[step] if name not in given]:
        msg = f"the event lacks {', '.join(missing)}: it is one of those that 'begin' answers with"
        raise SettingsError(msg)
    for name, kind in known.items():
        if name in given and not FITS[kind](given[name]):
            msg = f"the event's {name} is {given[name]!r}; it is {kind}"
            raise SettingsError(msg)
    return given
