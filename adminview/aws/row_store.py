"""Reads and writes rows of AdminViewTable by owner; a write never touches another item's row.

It makes one conditional call per row, for repairs. `ViewTable` is faster but unconditional.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

from adminview.aws.attribute_codec import all_from_boto3, for_boto3
from adminview.aws.call_owners import Owners, find_in_doubt, keep_in_doubt
from adminview.aws.deadline import Deadline
from adminview.aws.retry import Backoff, all_pages, call_with_retry
from adminview.aws.table_scanner import get_all
from adminview.aws.view_table import REFUSALS
from adminview.model.attribute import PK, SK
from adminview.model.errors import RefusedRowError, ServiceError
from adminview.model.row import OWNER, OWNER_INDEX, Attributes, RowKey, key_image, key_of

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

CONDITION_FAILED = "ConditionalCheckFailedException"
OWNERS_ONLY = {
    "ProjectionExpression": f"{PK.name}, {SK.name}, #owner",
    "ExpressionAttributeNames": {"#owner": OWNER},
}

OnDoubt: TypeAlias = Callable[[], object]  # called if a write may still arrive


def ignore_doubt() -> None:
    """Accept a late write: the row is not written again."""


class RowStore:
    """The rows of one view table."""

    def __init__(self, client: "DynamoDBClient", name: str, backoff: Backoff | None = None) -> None:
        self._client = client
        self._name = name
        self._backoff = backoff or Backoff()

    def find(self, owner: str, *, deadline: Deadline) -> set[RowKey]:
        """Return the rows of an owner from the owner index, which lags behind the table."""
        request = {
            "IndexName": OWNER_INDEX.name,
            "KeyConditionExpression": "#owner = :owner",
            "ExpressionAttributeNames": {"#owner": OWNER},
            "ExpressionAttributeValues": {":owner": {"S": owner}},
        }
        action = f"find rows of {self._name} by their owner"
        return {key_of(row) for row in self._query(action, request, deadline)}

    def find_in_partition(self, pk: str, *, limit: int, deadline: Deadline) -> list[RowKey]:
        """Return the keys of the first rows of a partition, at most *limit*."""
        request = {
            "KeyConditionExpression": "#pk = :pk",
            "ExpressionAttributeNames": {"#pk": PK.name, "#sk": SK.name},
            "ExpressionAttributeValues": {":pk": {"S": pk}},
            "ProjectionExpression": "#pk, #sk",
            "Limit": limit,
        }
        action = f"list the rows of a partition of {self._name}"
        return [key_of(row) for row in islice(self._query(action, request, deadline), limit)]

    def _query(
        self, action: str, request: dict[str, Any], deadline: Deadline
    ) -> Iterator[Mapping[str, Any]]:
        query: Any = self._client.query
        read = partial(call_with_retry, query, action, self._backoff, deadline)
        for page in all_pages(read, {"TableName": self._name, **request}):
            yield from page["Items"]

    def read(
        self, keys: Collection[RowKey], *, deadline: Deadline, owners_only: bool = False
    ) -> dict[RowKey, Attributes]:
        """Read rows consistently; absent rows are left out.

        With *owners_only*, read only the key and the owner of each row, to save memory.
        """
        projection: dict[str, Any] = OWNERS_ONLY if owners_only else {}

        def get(left: list[Any], end: Deadline) -> Any:
            request: Any = {self._name: {"Keys": left, "ConsistentRead": True, **projection}}
            call, action = self._client.batch_get_item, f"read rows of {self._name}"
            return call_with_retry(call, action, self._backoff, end, RequestItems=request)

        images = [key_image(key) for key in sorted(keys)]
        pages = get_all(get, self._name, images, deadline=lambda: deadline, backoff=self._backoff)
        return {key_of(row): row for page in pages for row in all_from_boto3(page)}

    def put(
        self, owner: str, row: Attributes, *, deadline: Deadline, on_doubt: OnDoubt = ignore_doubt
    ) -> bool:
        """Write a row unless another item owns it; return whether it was written."""
        put = partial(self._client.put_item, TableName=self._name, Item=for_boto3(row))
        condition = "attribute_not_exists(#owner) OR #owner = :owner"
        return self._write_if(put, condition, owner, deadline, on_doubt)

    def delete(
        self, owner: str, key: RowKey, *, deadline: Deadline, on_doubt: OnDoubt = ignore_doubt
    ) -> bool:
        """Delete a row if *owner* owns it; return whether it was deleted."""
        delete = partial(self._client.delete_item, TableName=self._name, Key=key_image(key))
        return self._write_if(delete, "#owner = :owner", owner, deadline, on_doubt)

    def delete_ownerless(self, key: RowKey, *, deadline: Deadline) -> bool:
        """Delete a row if it has no owner; return whether it was deleted."""
        delete = partial(
            self._client.delete_item,
            TableName=self._name,
            Key=key_image(key),
            ConditionExpression="attribute_exists(#pk) AND attribute_not_exists(#owner)",
            ExpressionAttributeNames={"#pk": PK.name, "#owner": OWNER},
        )
        return self._unless_refused(delete, deadline, ignore_doubt)

    def find_in_doubt(self) -> Sequence[Owners]:
        return find_in_doubt(self._client)

    def keep_in_doubt(self, calls: Sequence[Owners]) -> None:
        keep_in_doubt(self._client, calls)

    def _write_if(
        self,
        write: Callable[..., Any],
        condition: str,
        owner: str,
        deadline: Deadline,
        on_doubt: OnDoubt,
    ) -> bool:
        call = partial(
            write,
            ConditionExpression=condition,
            ExpressionAttributeNames={"#owner": OWNER},
            ExpressionAttributeValues={":owner": {"S": owner}},
        )
        return self._unless_refused(call, deadline, on_doubt)

    def _unless_refused(
        self, call: Callable[..., Any], deadline: Deadline, on_doubt: OnDoubt
    ) -> bool:
        try:
            call_with_retry(call, f"write a row of {self._name}", self._backoff, deadline, on_doubt)
        except ServiceError as error:
            if error.code in REFUSALS:
                msg = f"DynamoDB refused a row of this item: {error.code}"
                raise RefusedRowError(msg) from error
            if error.code != CONDITION_FAILED:
                raise
            return False
        return True
