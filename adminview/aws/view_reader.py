"""Reads AdminViewTable: queries, counts and rows by key, with boto3 or the direct HTTP client.

Both clients take and return DynamoDB JSON as Lambda delivers it. A boto3 client converts every
value, which takes most of the time of a query; the direct client passes values through.
`transport.eligibility` decides which one is used.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol

from adminview.aws.attribute_codec import all_from_boto3, for_boto3, from_boto3
from adminview.aws.deadline import Deadline
from adminview.aws.responses import check_members
from adminview.aws.retry import Backoff, all_pages, call_with_retry
from adminview.aws.table_scanner import get_all
from adminview.aws.transport.matching import check_match
from adminview.model import KeyCondition
from adminview.model.json_codec import dump_json
from adminview.model.row import Attributes, RowKey, key_image, key_of
from adminview.model.total import totals_table

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from adminview.aws.transport.http_client import HttpClient

VALUES, START = "ExpressionAttributeValues", "ExclusiveStartKey"


class Reader(Protocol):
    """Reads a table; arguments and responses are those of the API."""

    def query(self, **request: Any) -> dict[str, Any]: ...

    def batch_get_item(self, **request: Any) -> dict[str, Any]: ...


class Boto3Reader:
    """Reads through a boto3 client, which has binary values as bytes."""

    def __init__(self, client: "DynamoDBClient") -> None:
        self._client: Any = client

    def query(self, **request: Any) -> dict[str, Any]:
        converted = {name: for_boto3(request[name]) for name in (VALUES, START) if name in request}
        page: dict[str, Any] = self._client.query(**{**request, **converted})
        check_members("Query", page)
        rows = {"Items": all_from_boto3(page["Items"])} if "Items" in page else {}
        last = page.get("LastEvaluatedKey")
        return {**page, **rows, **({"LastEvaluatedKey": from_boto3(last)} if last else {})}

    def batch_get_item(self, **request: Any) -> dict[str, Any]:
        """Read rows by key; the keys must be text."""
        response: dict[str, Any] = self._client.batch_get_item(**request)
        check_members("BatchGetItem", response)
        items = {table: all_from_boto3(rows) for table, rows in response["Responses"].items()}
        return {**response, "Responses": items}


class HttpReader:
    """Reads with the direct HTTP client."""

    def __init__(self, direct: "HttpClient") -> None:
        self._direct = direct

    def query(self, **request: Any) -> dict[str, Any]:
        return self._call("Query", request)

    def batch_get_item(self, **request: Any) -> dict[str, Any]:
        return self._call("BatchGetItem", request)

    def _call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        response = self._direct.call(operation, dump_json(request))
        check_match(operation, request, response)
        return response


@dataclass(slots=True)
class Meter:
    """Counts consumed read units and calls; thread-safe."""

    units: float = 0.0
    calls: int = 0
    _lock: Lock = field(default_factory=Lock, repr=False, compare=False)

    def add(self, response: Mapping[str, Any]) -> None:
        consumed = response.get("ConsumedCapacity") or {}
        entries = consumed if isinstance(consumed, list) else [consumed]
        with self._lock:
            self.calls += 1
            self.units += sum(entry.get("CapacityUnits", 0.0) for entry in entries)


class ViewReader:
    """Reads one view table and its indexes."""

    def __init__(self, reader: Reader, name: str, backoff: Backoff | None = None) -> None:
        self._reader = reader
        self._name = name
        self._backoff = backoff or Backoff()

    @property
    def totals(self) -> "ViewReader":
        """Reads the totals table that belongs to the view table."""
        return ViewReader(self._reader, totals_table(self._name), self._backoff)

    def rows(  # noqa: PLR0913 - all but the condition are keywords
        self,
        condition: KeyCondition,
        *,
        after: Attributes | None,
        page_size: int | None,
        descending: bool,
        consistent: bool,
        deadline: Deadline,
        meter: Meter,
    ) -> Iterator[Attributes]:
        """Yield the rows of a key condition in key order; reads pages as needed."""
        query = _query(self._name, condition, consistent=consistent) | {
            "ScanIndexForward": not descending,
            **({"Limit": page_size} if page_size else {}),
        }
        start: Any = {"ExclusiveStartKey": after} if after else {}
        for page in self._pages(query | start, deadline, meter):
            yield from page["Items"]

    def count(
        self, condition: KeyCondition, *, consistent: bool, deadline: Deadline, meter: Meter
    ) -> int:
        """Count the rows of a key condition without transferring them."""
        query = _query(self._name, condition, consistent=consistent) | {"Select": "COUNT"}
        return sum(int(page["Count"]) for page in self._pages(query, deadline, meter))

    def get(self, keys: list[RowKey], *, deadline: Deadline) -> dict[RowKey, Attributes]:
        """Read rows by key, a hundred per call; absent rows are left out."""
        images = [key_image(key) for key in keys]
        pages = get_all(
            self._get, self._name, images, deadline=lambda: deadline, backoff=self._backoff
        )
        return {key_of(row): row for page in pages for row in page}

    def _get(self, keys: list[Any], deadline: Deadline) -> Any:
        call, action = self._reader.batch_get_item, f"read items of {self._name}"
        request = {self._name: {"Keys": keys}}
        return call_with_retry(call, action, self._backoff, deadline, RequestItems=request)

    def _pages(self, query: dict[str, Any], deadline: Deadline, meter: Meter) -> Iterator[Any]:
        call, action = self._reader.query, f"query {self._name}"
        read = partial(call_with_retry, call, action, self._backoff, deadline)
        for page in all_pages(read, {"ReturnConsumedCapacity": "TOTAL", **query}):
            meter.add(page)
            yield page


def _query(table: str, condition: KeyCondition, *, consistent: bool) -> dict[str, Any]:
    return {
        "TableName": table,
        "KeyConditionExpression": condition.expression,
        "ExpressionAttributeNames": condition.names,
        "ExpressionAttributeValues": condition.values,
        "ConsistentRead": consistent,
        **({"IndexName": condition.index} if condition.index else {}),
    }
