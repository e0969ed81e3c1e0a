"""What the calls of a run cost, estimated from their number. Prices are rounded up."""

from collections.abc import Mapping
from typing import Final

from adminview.cli.costing.prices import Prices

# An item that is written leads to rows, index entries, stream reads, invocations and log lines.
FOLLOWED: Final = 20.0
# Dollars per call, without free tiers; all other calls are free.
PER_CALL: Final = {
    "cloudwatch:GetMetricData": 20 * 0.01 / 1000,  # per metric, at most 20 in a call
    "cloudwatch": 0.01 / 1000,
    "dynamodb": 0.25e-6,  # a read unit, rounded up
    "execute-api": 1e-6 + 1e-5,  # the request, and a function of 1 GB for half a second
    "sns": 0.5e-6,
    "sqs": 0.4e-6,
    "stepfunctions:StartExecution": 20 * 0.025 / 1000,  # state transitions
    "stepfunctions:RedriveExecution": 20 * 0.025 / 1000,
}


def dollars(calls: Mapping[str, int], sent_bytes: int) -> float:
    """Return the cost of calls by service and operation, and of the bytes of items and rows."""
    write_unit = Prices().write_units / 1e6
    units = (sent_bytes / 1024 + sum(calls.values())) * FOLLOWED
    called = sum(
        count * PER_CALL.get(name, PER_CALL.get(name.partition(":")[0], 0.0))
        for name, count in calls.items()
    )
    return called + units * write_unit
