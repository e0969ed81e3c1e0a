"""A DynamoDB client that deducts the consumed capacity of every call from a budget."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from adminview.aws.call_owners import Owners, find_in_doubt, keep_in_doubt
from adminview.aws.rate_limit import PageSizer, RateLimiter
from adminview.aws.retry import THROTTLED, error_code

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

READS = frozenset({"scan", "query", "get_item", "batch_get_item"})
WRITES = frozenset({"batch_write_item", "delete_item", "put_item", "update_item"})
REFUSED = "ConditionalCheckFailedException"  # billed all the same
LEFT = ("UnprocessedItems", "UnprocessedKeys")  # present in a throttled batch response


class Metered:
    """Deducts consumed capacity and never waits: callers wait before they start a page.

    Waiting inside a page would extend the time in which its writes may still arrive.
    """

    def __init__(self, client: "DynamoDBClient", reads: RateLimiter, writes: RateLimiter) -> None:
        self._client: Any = client
        self.reads = reads
        self.writes = writes
        rates = [rate for budget in (reads, writes) if (rate := budget.per_second) is not None]
        self._pace = PageSizer(min(rates)) if rates else None

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return the client's method; one that consumes capacity is metered."""
        call: Callable[..., Any] = getattr(self._client, name)
        if name in READS:
            return partial(_call, call, self.reads)
        return partial(_call, call, self.writes) if name in WRITES else call

    def find_in_doubt(self) -> Sequence[Owners]:
        return find_in_doubt(self._client)

    def keep_in_doubt(self, calls: Sequence[Owners], /) -> None:
        keep_in_doubt(self._client, calls)

    @property
    def wait_seconds(self) -> float:
        """Seconds until both budgets allow the next call."""
        return max(self.reads.wait_seconds, self.writes.wait_seconds)

    def begin_page(self, most: int) -> int:
        """Return how many items the next page may have; 0 if the caller must wait."""
        if self._pace is None:
            return most
        return 0 if self.wait_seconds else self._pace.begin(most)

    def end_page(self, most: int, items: int) -> None:
        """Report the end of a page with *items* items."""
        if self._pace is not None:
            self._pace.end(most, items, self.wait_seconds)

    def add_debt(self, seconds: float) -> None:
        """Continue a wait of *seconds* that an earlier client did not finish."""
        if seconds > 0:
            self.reads.add_debt(seconds)
            self.writes.add_debt(seconds)


def _call(call: Callable[..., Any], budget: RateLimiter, **request: Any) -> Any:
    try:
        response = call(**{"ReturnConsumedCapacity": "TOTAL", **request})
    except ClientError as error:
        if error_code(error) in THROTTLED:
            budget.throttled()
        elif error_code(error) == REFUSED:
            budget.spend(1)  # at least: the error does not report its capacity
        raise
    consumed = response.get("ConsumedCapacity", [])
    consumed = consumed if isinstance(consumed, list) else [consumed]
    budget.spend(sum(entry.get("CapacityUnits", 0) for entry in consumed))
    if any(response.get(name) for name in LEFT):
        budget.throttled()
    return response
