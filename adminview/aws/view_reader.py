"""The AdminViewTable, as it is asked."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import Any

from adminview.aws.deadline import Deadline
from adminview.aws.retry import Backoff, call_with_retry
from adminview.aws.table_scanner import Found, get_all
from adminview.aws.view_readers import Reader
from adminview.model import KeyCondition
from adminview.model.row import Attributes, RowKey, key_image, key_of


@dataclass(slots=True)
class Meter:
    """Read units that were consumed, and calls that were made."""

    units: float = 0.0
    calls: int = 0
    _lock: Lock = field(default_factory=Lock, repr=False, compare=False)

    def add(self, answer: Mapping[str, Any]) -> None:
        """Count one call."""
        consumed = answer.get("ConsumedCapacity") or {}
        some = consumed if isinstance(consumed, list) else [consumed]
        with self._lock:
            self.calls += 1
            self.units += sum(one.get("CapacityUnits", 0.0) for one in some)


class ViewReader:
    """Questions to one table and its indexes."""

    def __init__(self, reader: Reader, name: str, backoff: Backoff | None = None) -> None:
        self._reader = reader
        self._name = name
        self._backoff = backoff or Backoff()

    def rows(  # noqa: PLR0913 - all but the question are keywords
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
        """Answer a key condition row by row, in the order of the keys; pages are read as needed."""
        query = _query(self._name, condition, consistent=consistent) | {
            "ScanIndexForward": not descending,
            **({"Limit": page_size} if page_size else {}),
        }
        start: Any = {"ExclusiveStartKey": after} if after else {}
        while True:
            page = self._ask(query | start, deadline, meter)
            yield from page["Items"]
            if not (last := page.get("LastEvaluatedKey")):
                return
            start = {"ExclusiveStartKey": last}

    def count(
        self, condition: KeyCondition, *, consistent: bool, deadline: Deadline, meter: Meter
    ) -> int:
        """Count the rows that meet a key condition, without reading them over the network."""
        query = _query(self._name, condition, consistent=consistent) | {"Select": "COUNT"}
        total = 0
        start: dict[str, Any] = {}
        while True:
            page = self._ask(query | start, deadline, meter)
            total += int(page["Count"])
            if not (last := page.get("LastEvaluatedKey")):
                return total
            start = {"ExclusiveStartKey": last}

    def get(self, keys: list[RowKey], *, deadline: Deadline) -> dict[RowKey, Attributes]:
        """Read rows by their keys, in hundreds; those that are not there are left out."""
        images = [key_image(key) for key in keys]
        found = get_all(self._get, images, lambda: deadline, self._backoff)
        return {key_of(row): row for row in found}

    def _get(self, keys: list[Any], deadline: Deadline) -> Found:
        call = partial(self._reader.batch_get_item, RequestItems={self._name: {"Keys": keys}})
        answer = call_with_retry(call, f"read items of {self._name}", self._backoff, deadline)
        left = answer.get("UnprocessedKeys", {}).get(self._name, {}).get("Keys", [])
        return answer.get("Responses", {}).get(self._name, []), left

    def _ask(self, query: dict[str, Any], deadline: Deadline, meter: Meter) -> Any:
        call = partial(self._reader.query, ReturnConsumedCapacity="TOTAL", **query)
        page = call_with_retry(call, f"ask {self._name}", self._backoff, deadline)
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
