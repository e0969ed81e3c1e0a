"""What AWS asks for, in US dollars: a list with a date, which another list may replace."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from lambdas.model.errors import SettingsError


@dataclass(frozen=True, slots=True)
class Prices:
    """On demand, without free tiers and discounts."""

    region: str = "us-east-1"
    as_of: str = "2026-05"  # AWS changes its prices a few times in ten years
    write_units: float = 0.625  # per million
    read_units: float = 0.125  # per million
    table_storage: float = 0.25  # per GB and month
    function_time: float = 0.0000133334  # per GB-second, arm64
    function_requests: float = 0.20  # per million
    log_bytes: float = 0.50  # per GB taken in

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


def _fits(value: object, kind: type) -> bool:
    if kind is str:
        return isinstance(value, str) and bool(value)
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def _names(known: Mapping[str, Any]) -> str:
    return ", ".join(known)
