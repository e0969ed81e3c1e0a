"""AWS prices in US dollars, with a date; a file can override them."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final, TypeGuard

from adminview.model.errors import SettingsError

MOST: Final = 10**15  # of anything: more is a typing error, and may not fit a float


@dataclass(frozen=True, slots=True)
class Prices:
    """On-demand prices, without free tiers and discounts."""

    region: str = "us-east-1"
    as_of: str = "2026-05"  # prices change rarely
    write_units: float = 0.625  # per million
    # Per thousand write units per second that are added, once: the price of provisioned capacity.
    warm_throughput: float = 0.65
    table_storage: float = 0.25  # per GB-month, tables and indexes
    table_recovery: float = 0.20  # per GB-month, tables only: point-in-time recovery
    function_time: float = 0.0000133334  # per GB-second, arm64
    function_requests: float = 0.20  # per million
    log_bytes: float = 0.50  # per GB ingested
    metrics: float = 0.30  # per custom metric and month

    def override(self, prices: object) -> "Prices":
        """Replace some prices; raise SettingsError for unknown names and wrong types."""
        known = {field.name: type(getattr(self, field.name)) for field in fields(self)}
        if not isinstance(prices, Mapping):
            msg = f"prices: found {type(prices).__name__}; expected an object with {_names(known)}"
            raise SettingsError(msg)
        for name, value in prices.items():
            if name not in known:
                msg = f"prices: unknown {name!r}; expected {_names(known)}"
                raise SettingsError(msg)
            if not _fits(value, known[name]):
                expected = "text" if known[name] is str else "a number of US dollars, 0 or more"
                msg = f"prices: {name} is {value!r}; expected {expected}"
                raise SettingsError(msg)
        return replace(self, **prices)


def is_amount(value: object) -> TypeGuard[float]:
    """Return whether *value* is a number from 0 to MOST; NaN and booleans are not."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= MOST


def _fits(value: object, kind: type) -> bool:
    return isinstance(value, str) and bool(value) if kind is str else is_amount(value)


def _names(known: Mapping[str, Any]) -> str:
    return ", ".join(known)
