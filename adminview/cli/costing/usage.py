"""Price a month of usage, line by line."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from adminview.cli.costing.prices import Prices

MONTH: Final = 30 * 24 * 60 * 60  # seconds
MILLION: Final = 1_000_000
GIGABYTE: Final = 10**9  # as storage and logs are billed; memory is in powers of two
TABLE: Final = ""  # stands for the table among index names

Bill = dict[str, float]


@dataclass(frozen=True, slots=True)
class Usage:
    """What is used per second, and what is stored."""

    units: Mapping[str, float]  # write units, of the table (TABLE) and of each index
    memory_seconds: float  # GB-seconds of Lambda
    invocations: float
    log_bytes: float
    stored_bytes: float  # of the table and of its indexes
    recoverable_bytes: float  # of the table alone
    metrics: int

    def bill(self, prices: Prices) -> Bill:
        """Return the dollars per month by line, free lines included."""
        writes = {
            f"writes to {name or 'the table'}": units * MONTH / MILLION * prices.write_units
            for name, units in self.units.items()
        }
        return {
            "reads of the stream": 0.0,  # free for Lambda
            "function, time": self.memory_seconds * MONTH * prices.function_time,
            "function, requests": self.invocations * MONTH / MILLION * prices.function_requests,
            **writes,
            "logs": self.log_bytes * MONTH / GIGABYTE * prices.log_bytes,
            "metrics": self.metrics * prices.metrics,
            "storage": self.stored_bytes / GIGABYTE * prices.table_storage,
            "recovery to any second": self.recoverable_bytes / GIGABYTE * prices.table_recovery,
        }


def sum_bills(bills: Iterable[Bill]) -> Bill:
    total: Bill = {}
    for bill in bills:
        for line, dollars in bill.items():
            total[line] = total.get(line, 0.0) + dollars
    return total


def per_million(bill: Bill, changes: float) -> float | None:
    """Return the dollars per million changes at *changes* per second; None if that is 0."""
    return sum(bill.values()) * MILLION / (changes * MONTH) if changes else None
