"""Reads AdminViewTable: queries, counts and rows by key."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import Any

from adminview.aws.deadline import Deadline
from adminview.aws.retry import Backoff, call_with_retry
from adminview.aws.table_scanner import GetResult, get_all
from adminview.aws.view_readers import Reader
from adminview.model import KeyCondition
from adminview.model.row import Attributes, RowKey, key_image, key_of
from adminview.model.total import totals_table


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
        while True:
            page = self._read_page(query | start, deadline, meter)
            yield from page["Items"]
            if not (last := page.get("LastEvaluatedKey")):
                return
            start = {"ExclusiveStartKey": last}

    def count(
        self, condition: KeyCondition, *, consistent: bool, deadline: Deadline, meter: Meter
    ) -> int:
        """Count the rows of a key condition without transferring them."""
        query = _query(self._name, condition, consistent=consistent) | {"Select": "COUNT"}
        total = 0
        start: dict[str, Any] = {}
        while True:
            page = self._read_page(query | start, deadline, meter)
            total += int(page["Count"])
            if not (last := page.get("LastEvaluatedKey")):
                return total
            start = {"ExclusiveStartKey": last}

    def get(self, keys: list[RowKey], *, deadline: Deadline) -> dict[RowKey, Attributes]:
        """Read rows by key, a hundred per call; absent rows are left out."""
        images = [key_image(key) for key in keys]
        rows = get_all(self._get, images, lambda: deadline, self._backoff)
        return {key_of(row): row for row in rows}

    def _get(self, keys: list[Any], deadline: Deadline) -> GetResult:
        call = partial(self._reader.batch_get_item, RequestItems={self._name: {"Keys": keys}})
        response = call_with_retry(call, f"read items of {self._name}", self._backoff, deadline)
        left = response.get("UnprocessedKeys", {}).get(self._name, {}).get("Keys", [])
        return response.get("Responses", {}).get(self._name, []), left

    def _read_page(self, query: dict[str, Any], deadline: Deadline, meter: Meter) -> Any:
        call = partial(self._reader.query, ReturnConsumedCapacity="TOTAL", **query)
        page = call_with_retry(call, f"query {self._name}", self._backoff, deadline)
        meter.add(page)
        return page


def _query(table: str, condition: KeyCondition, *, consistent: bool) -> dict[str, Any]:
    return {
        "TableName": table,
        "KeyConditionExpression": condition.expression,
        "ExpressionAttributeNames": condition.names,
        "ExpressionAttributeValues": condition.values,
        "ConsistentRead": consistent,
        **({"IndexName": condition.index} if condition.index else {}),
    }
