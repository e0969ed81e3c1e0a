"""Reads in bulk, each paid from a budget: a table's segments page by page, items by the hundred.

They are eventually consistent unless asked otherwise, which costs half: for a first look, never for
the last word.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, Any, TypeAlias

from adminview.aws.attribute_codec import all_from_boto3, for_boto3, from_boto3
from adminview.aws.concurrency import batched
from adminview.aws.deadline import Deadline
from adminview.aws.rate_limit import RateLimiter
from adminview.aws.retry import Backoff, call_with_retry
from adminview.aws.table_description import TableDescription
from adminview.model.attribute import PK, SK
from adminview.model.item import AttributeValue
from adminview.model.row import OWNER, Attributes

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

READ_LIMIT = 100  # keys per call, set by BatchGetItem
PAGE_LIMIT = 1000  # items per page, so that little is done again after a stop
SPREAD = 8  # places of a table that a sample is taken from
ITEMS_PER_UNIT = 2  # of 4 KB each, read without consistency

Found: TypeAlias = tuple[list[Attributes], list[Any]]  # and the keys left unprocessed


@dataclass(frozen=True, slots=True)
class ScanPage:
    """One page of a segment, and where the next one begins, if there is one."""

    items: list[Attributes]
    scanned: int  # with those that a filter left out
    last: Attributes | None


class TableScanner:
    """Any table, read a page or a hundred keys at a time."""

    def __init__(
        self,
        client: "DynamoDBClient",
        budget: RateLimiter | None = None,
        backoff: Backoff | None = None,
    ) -> None:
        self.budget = budget or RateLimiter()
        self._client = client
        self._backoff = backoff or Backoff()

    def page(
        self,
        table: str,
        segment: tuple[int, int],  # which one, of how many
        start: Attributes | None,
        *,
        deadline: Callable[[], Deadline],
        limit: int | None = None,
        **only: Any,
    ) -> ScanPage:
        """Read one page of a segment; *only* says which items and attributes of it.

        Here as below *until* is asked when a call begins: to wait for the budget is not to lose
        patience.
        """
        begin: Any = {"ExclusiveStartKey": for_boto3(start)} if start else {}
        call = partial(
            self._client.scan,
            TableName=table,
            Segment=segment[0],
            TotalSegments=segment[1],
            Limit=limit or self._page_limit(),
            ReturnConsumedCapacity="TOTAL",
            **only,
            **begin,
        )
        self.budget.wait()
        page = call_with_retry(call, f"scan {table}", self._backoff, deadline())
        self.budget.spend(page.get("ConsumedCapacity", {}).get("CapacityUnits", 0))
        last = page.get("LastEvaluatedKey")
        items: Any = page["Items"]
        return ScanPage(
            all_from_boto3(items), page["ScannedCount"], from_boto3(last) if last else None
        )

    def get(
        self,
        table: str,
        keys: Sequence[Mapping[str, AttributeValue]],
        *,
        deadline: Callable[[], Deadline],
        consistent: bool = False,
    ) -> Iterator[Attributes]:
        """Read the items of different *keys*; those that are not there are left out."""

        def get(left: list[Any], end: Deadline) -> Found:
            return self._get(table, left, end, consistent=consistent)

        images = [for_boto3(dict(key)) for key in keys]
        yield from get_all(get, images, deadline, self._backoff, self.budget.wait)

    def count(self, table: str, *, deadline: Deadline) -> int:
        """Say about how many items a table has: DynamoDB counts them every few hours."""
        return self.describe(table, deadline).items

    def place(self, table: str, *, deadline: Deadline) -> str:
        """Tell a table apart from all that have its name, elsewhere or before it."""
        found = self.describe(table, deadline)
        assert found.created
        return f"{found.arn} of {found.created.timestamp():.0f}"

    def describe(self, table: str, deadline: Deadline) -> TableDescription:
        """Describe a table; raises a ServiceError if there is none."""
        call = partial(self._client.describe_table, TableName=table)
        found = call_with_retry(call, f"describe {table}", self._backoff, deadline)["Table"]
        return TableDescription.of(found)

    def _get(self, table: str, keys: list[Any], deadline: Deadline, *, consistent: bool) -> Found:
        """Make one call."""
        call = partial(
            self._client.batch_get_item,
            RequestItems={table: {"Keys": keys, "ConsistentRead": consistent}},
            ReturnConsumedCapacity="TOTAL",
        )
        answer: Any = call_with_retry(call, f"read items of {table}", self._backoff, deadline)
        spent = answer.get("ConsumedCapacity", [])
        self.budget.spend(sum(one.get("CapacityUnits", 0) for one in spent))
        found = answer["Responses"].get(table, [])
        left = answer["UnprocessedKeys"].get(table, {}).get("Keys", [])
        return all_from_boto3(found), left

    def _page_limit(self) -> int:
        """Let a page take no more than about a second of the budget."""
        rate = self.budget.per_second
        return PAGE_LIMIT if rate is None else max(1, min(PAGE_LIMIT, int(rate * ITEMS_PER_UNIT)))


@dataclass(slots=True)
class Sample:
    """Items from several places of a table: up to about *most* of them, or all.

    Iterating reads them, a page at a time; *taken* and *whole* then tell how many there were, and
    whether they were all.
    """

    reader: TableScanner
    table: str
    most: int | None
    deadline: Callable[[], Deadline]
    only: Mapping[str, Any] = field(default_factory=dict)  # which attributes
    taken: int = 0
    whole: bool = False

    def __iter__(self) -> Iterator[Attributes]:
        places: dict[int, Attributes | None] = dict.fromkeys(range(SPREAD))
        while places and (self.most is None or self.taken < self.most):
            share = None if self.most is None else ceil((self.most - self.taken) / len(places))
            for number, start in list(places.items()):
                page = self.reader.page(
                    self.table,
                    (number, SPREAD),
                    start,
                    deadline=self.deadline,
                    limit=share,
                    **self.only,
                )
                places[number] = page.last
                if page.last is None:
                    del places[number]
                self.taken += len(page.items)
                yield from page.items
        self.whole = not places

    def count(self) -> int:
        """Count the items of the table: exactly if all were read, else as DynamoDB did."""
        if self.whole:
            return self.taken
        return max(self.taken, self.reader.count(self.table, deadline=self.deadline()))


def get_all(
    get: Callable[[list[Any], Deadline], Found],
    keys: Sequence[Any],
    deadline: Callable[[], Deadline],
    backoff: Backoff,
    wait: Callable[[], object] = lambda: None,
) -> Iterator[Attributes]:
    """Read *keys* in hundreds, and again what was left of each, while that brings something."""
    for share in batched(keys, READ_LIMIT):
        left = list(share)
        fruitless = 0
        while left:
            wait()
            if not fruitless:
                end = deadline()
            items, unprocessed = get(left, end)
            fruitless = fruitless + 1 if len(unprocessed) == len(left) else 0
            left = unprocessed
            yield from items
            if left:
                backoff.pause(fruitless, end)


def owners_only(source: str | None) -> dict[str, Any]:
    """Ask a scan of the view for keys and owners: of one source, or of all rows."""
    asked: dict[str, Any] = {
        "ProjectionExpression": f"{PK.name}, {SK.name}, #owner",
        "ExpressionAttributeNames": {"#owner": OWNER},
    }
    if source is not None:
        asked |= {
            "FilterExpression": "begins_with(#owner, :source)",
            "ExpressionAttributeValues": {":source": {"S": f"{source}/"}},
        }
    return asked
