"""A DynamoDB client on a budget: every call is asked what it took, and that is spent."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from adminview.aws.call_owners import Owners, find_in_doubt, keep_in_doubt
from adminview.aws.page_sizer import PageSizer
from adminview.aws.rate_limit import RateLimiter
from adminview.aws.retry import THROTTLED, error_code

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

READS = frozenset({"scan", "query", "get_item", "batch_get_item"})
WRITES = frozenset({"batch_write_item", "delete_item", "put_item", "update_item"})
REFUSED = "ConditionalCheckFailedException"  # billed all the same
LEFT = ("UnprocessedItems", "UnprocessedKeys")  # how a batch says that it was throttled


class Metered:
    """Spends what is consumed, and waits for nothing: whoever begins a piece of work does that.

    To wait within one would stretch the time in which its writes may still come.
    """

    def __init__(self, client: "DynamoDBClient", reads: RateLimiter, writes: RateLimiter) -> None:
        self._client: Any = client
        self.reads = reads
        self.writes = writes
        rates = [one.per_second for one in (reads, writes) if one.per_second is not None]
        self._pace = PageSizer(min(rates)) if rates else None

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Measure a call that is billed; hand any other on."""
        call: Callable[..., Any] = getattr(self._client, name)
        if name in READS:
            return partial(_call, call, self.reads)
        return partial(_call, call, self.writes) if name in WRITES else call

    def find_in_doubt(self) -> Sequence[Owners]:
        """Return what the client has found."""
        return find_in_doubt(self._client)

    def keep_in_doubt(self, calls: Sequence[Owners], /) -> None:
        """Return *calls* again the next time, because they could not be reported."""
        keep_in_doubt(self._client, calls)

    @property
    def limited(self) -> bool:
        """Tell whether there is a limit at all."""
        return self._pace is not None

    @property
    def rest(self) -> float:
        """Seconds until nothing is owed, and no table has just refused."""
        return max(self.reads.rest, self.writes.rest)

    def begin_page(self, most: int) -> int:
        """Say how many items the next page may have; 0 if it is another worker's turn."""
        if self._pace is None:
            return most
        return 0 if self.rest else self._pace.begin(most)

    def end_page(self, most: int, items: int) -> None:
        """Hear of the end of a page that was begun, and how many items it had."""
        if self._pace is not None:
            self._pace.end(most, items, self.rest)

    def add_debt(self, seconds: float) -> None:
        """Begin with a rest that was not had to its end, if there is a limit."""
        if seconds > 0:
            self.reads.add_debt(seconds)
            self.writes.add_debt(seconds)


def _call(call: Callable[..., Any], budget: RateLimiter, **asked: Any) -> Any:
    try:
        answer = call(**{"ReturnConsumedCapacity": "TOTAL", **asked})
    except ClientError as error:
        if error_code(error) in THROTTLED:
            budget.throttled()
        elif error_code(error) == REFUSED:
            budget.spend(1)  # at least: what it took is not told
        raise
    consumed = answer.get("ConsumedCapacity", [])
    consumed = consumed if isinstance(consumed, list) else [consumed]
    budget.spend(sum(one.get("CapacityUnits", 0) for one in consumed))
    if any(answer.get(name) for name in LEFT):
        budget.throttled()
    return answer
