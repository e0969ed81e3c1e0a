"""Query and BatchGetItem through a boto3 client, or with the direct HTTP client.

Both take and return DynamoDB JSON as Lambda delivers it. A boto3 client converts every value, which
takes most of the time of a query; the direct client passes values through.
`transport.eligibility` decides which one is used.
"""

from typing import TYPE_CHECKING, Any, Protocol

from adminview.aws.attribute_codec import all_from_boto3, for_boto3, from_boto3
from adminview.aws.responses import check_members
from adminview.aws.transport.matching import check_match
from adminview.model.json_codec import dump_json

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
