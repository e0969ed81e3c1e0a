"""What AWS asks for, in US dollars: a list with a date, which another list may replace."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final, TypeGuard

from adminview.model.errors import SettingsError

MOST: Final = 10**15  # of anything: more is a slip, and larger numbers are no floats


@dataclass(frozen=True, slots=True)
class Prices:
    """On demand, without free tiers and discounts."""

    region: str = "us-east-1"
    as_of: str = "2026-05"  # AWS changes its prices a few times in ten years
    write_units: float = 0.625  # per million
    table_storage: float = 0.25  # per GB and month, of tables and indexes
    table_recovery: float = 0.20  # per GB and month, of tables alone: to any second of 35 days
    function_time: float = 0.0000133334  # per GB-second, arm64
    function_requests: float = 0.20  # per million
    log_bytes: float = 0.50  # per GB taken in
    metrics: float = 0.30  # each and month, of those that are not AWS's own

    def with_(self, given: object) -> "Prices":
        """Take some prices from elsewhere, or say what is wrong with them."""
        known = {one.name: type(getattr(self, one.name)) for one in fields(self)}
        if not isinstance(given, Mapping):
            msg = f"prices: found {type(given).__name__}; expected an object with {_names(known)}"
            raise SettingsError(msg)
        for name, value in given.items():
            if name not in known:
                msg = f"prices: there is no {name!r}; there are {_names(known)}"
                raise SettingsError(msg)
            if not _fits(value, known[name]):
                expected = "text" if known[name] is str else "a number of US dollars, 0 or more"
                msg = f"prices: {name} is {value!r}; expected {expected}"
                raise SettingsError(msg)
        return replace(self, **given)


def is_amount(value: object) -> TypeGuard[float]:
    """Tell a number that something can be counted or paid by; NaN is none."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= MOST


def _fits(value: object, kind: type) -> bool:
    return isinstance(value, str) and bool(value) if kind is str else is_amount(value)


def _names(known: Mapping[str, Any]) -> str:
    return ", ".join(known)
