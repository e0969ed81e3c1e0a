"""Bulk reads within a budget: pages of a table's segments, and items by the hundred.

Reads are eventually consistent by default, at half the cost. Decisions need a consistent read.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, Any

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
PAGE_LIMIT = 1000  # items per page: bounds the work that a stopped run repeats
SPREAD = 8  # segments of a table that a sample is taken from
ITEMS_PER_UNIT = 2  # of 4 KB each, eventually consistent


@dataclass(frozen=True, slots=True)
class ScanPage:
    """One page of a segment."""

    items: list[Attributes]
    scanned: int  # including items that a filter removed
    last: Attributes | None  # the next page starts after it; None: this is the last page
    table: str = ""


class TableScanner:
    """Reads any table."""

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
        """Read one page of a segment; *only* holds filter and projection arguments of Scan.

        *deadline* is called when the request starts, so that waiting for the budget does not
        shorten it.
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
            all_from_boto3(items), page["ScannedCount"], from_boto3(last) if last else None, table
        )

    def get(
        self,
        table: str,
        keys: Sequence[Mapping[str, AttributeValue]],
        *,
        deadline: Callable[[], Deadline],
        consistent: bool = False,
    ) -> Iterator[Attributes]:
        """Yield the items of *keys*, which must differ; absent items are left out."""

        def get(left: list[Any], end: Deadline) -> Any:
            response: Any = call_with_retry(
                self._client.batch_get_item,
                f"read items of {table}",
                self._backoff,
                end,
                RequestItems={table: {"Keys": left, "ConsistentRead": consistent}},
                ReturnConsumedCapacity="TOTAL",
            )
            consumed = response.get("ConsumedCapacity", [])
            self.budget.spend(sum(entry.get("CapacityUnits", 0) for entry in consumed))
            return response

        images = [for_boto3(dict(key)) for key in keys]
        pages = get_all(
            get, table, images, deadline=deadline, backoff=self._backoff, wait=self.budget.wait
        )
        for items in pages:
            yield from all_from_boto3(items)

    def count(self, table: str, *, deadline: Deadline) -> int:
        """Return about how many items a table has: DynamoDB counts them every few hours."""
        return self.describe(table, deadline).items

    def place(self, table: str, *, deadline: Deadline) -> str:
        """Return an identity that no other or re-created table of this name has."""
        description = self.describe(table, deadline)
        assert description.created
        return f"{description.arn} of {description.created.timestamp():.0f}"

    def describe(self, table: str, deadline: Deadline) -> TableDescription:
        """Describe a table; raises a ServiceError if it does not exist."""
        call, action = self._client.describe_table, f"describe {table}"
        response = call_with_retry(call, action, self._backoff, deadline, TableName=table)
        return TableDescription.of(response["Table"])

    def _page_limit(self) -> int:
        """Return a page size that takes about a second of the budget at most."""
        rate = self.budget.per_second
        return PAGE_LIMIT if rate is None else max(1, min(PAGE_LIMIT, int(rate * ITEMS_PER_UNIT)))


@dataclass(slots=True)
class Sample:
    """A sample of about *most* items from several segments of a table, or all items.

    Iterating reads them page by page. Afterwards *taken* is their number, and *whole* is True if
    they are all items of the table.
    """

    reader: TableScanner
    table: str
    most: int | None
    deadline: Callable[[], Deadline]
    only: Mapping[str, Any] = field(default_factory=dict)  # projection arguments of Scan
    taken: int = 0
    whole: bool = False

    def __iter__(self) -> Iterator[Attributes]:
        positions: dict[int, Attributes | None] = dict.fromkeys(range(SPREAD))
        while positions and (self.most is None or self.taken < self.most):
            share = None if self.most is None else ceil((self.most - self.taken) / len(positions))
            for number, start in list(positions.items()):
                page = self.reader.page(
                    self.table,
                    (number, SPREAD),
                    start,
                    deadline=self.deadline,
                    limit=share,
                    **self.only,
                )
                positions[number] = page.last
                if page.last is None:
                    del positions[number]
                self.taken += len(page.items)
                yield from page.items
        self.whole = not positions

    def count(self) -> int:
        """Return the number of items: exact if all were read, else DynamoDB's count."""
        if self.whole:
            return self.taken
        return max(self.taken, self.reader.count(self.table, deadline=self.deadline()))


def get_all(  # noqa: PLR0913 - all but three are keywords
    get: Callable[[list[Any], Deadline], Any],
    table: str,
    keys: Sequence[Any],
    *,
    deadline: Callable[[], Deadline],
    backoff: Backoff,
    wait: Callable[[], object] = lambda: None,
) -> Iterator[list[Any]]:
    """Yield the items of *keys*, those of each call together; retry unprocessed keys.

    *get* returns the response of BatchGetItem for up to a hundred keys. The deadline starts again
    with every call that returned something.
    """
    for batch in batched(keys, READ_LIMIT):
        left = list(batch)
        empty_calls = 0
        while left:
            wait()
            if not empty_calls:
                end = deadline()
            response = get(left, end)
            unprocessed = response["UnprocessedKeys"].get(table, {}).get("Keys", [])
            empty_calls = empty_calls + 1 if len(unprocessed) == len(left) else 0
            left = unprocessed
            yield response["Responses"].get(table, [])
            if left:
                backoff.pause(empty_calls, end)


def owners_only(source: str | None) -> dict[str, Any]:
    """Return the Scan arguments for keys and owners of one source's rows, or of all rows."""
    arguments: dict[str, Any] = {
        "ProjectionExpression": f"{PK.name}, {SK.name}, #owner",
        "ExpressionAttributeNames": {"#owner": OWNER},
    }
    if source is not None:
        arguments |= {
            "FilterExpression": "begins_with(#owner, :source)",
            "ExpressionAttributeValues": {":source": {"S": f"{source}/"}},
        }
    return arguments
