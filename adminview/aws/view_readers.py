"""Two ways to put a question to a table: through a boto3 client, or straight.

Both take and give DynamoDB JSON as Lambda delivers it. A boto3 client takes every value of an
answer apart and puts it together again, which is most of the time that a question takes; the
straight way hands on what DynamoDB sent. `way` says when it is taken.
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
    """Where questions go; arguments and answers are those of the API."""

    def query(self, **asked: Any) -> dict[str, Any]:
        """Ask for a page of rows."""

    def batch_get_item(self, **asked: Any) -> dict[str, Any]:
        """Ask for rows by their keys."""


class Boto3Reader:
    """Through a boto3 client, which has binary as bytes."""

    def __init__(self, client: "DynamoDBClient") -> None:
        self._client: Any = client

    def query(self, **asked: Any) -> dict[str, Any]:
        """Ask for a page of rows."""
        sent = {name: for_boto3(asked[name]) for name in (VALUES, START) if name in asked}
        page: dict[str, Any] = self._client.query(**{**asked, **sent})
        check_members("Query", page)
        rows = {"Items": all_from_boto3(page["Items"])} if "Items" in page else {}
        last = page.get("LastEvaluatedKey")
        return {**page, **rows, **({"LastEvaluatedKey": from_boto3(last)} if last else {})}

    def batch_get_item(self, **asked: Any) -> dict[str, Any]:
        """Ask for rows by their keys, which are text alone."""
        answer: dict[str, Any] = self._client.batch_get_item(**asked)
        check_members("BatchGetItem", answer)
        found = {table: all_from_boto3(rows) for table, rows in answer["Responses"].items()}
        return {**answer, "Responses": found}


class HttpReader:
    """Straight to DynamoDB."""

    def __init__(self, direct: "HttpClient") -> None:
        self._direct = direct

    def query(self, **asked: Any) -> dict[str, Any]:
        """Ask for a page of rows."""
        return self._call("Query", asked)

    def batch_get_item(self, **asked: Any) -> dict[str, Any]:
        """Ask for rows by their keys."""
        return self._call("BatchGetItem", asked)

    def _call(self, operation: str, asked: dict[str, Any]) -> dict[str, Any]:
        response = self._direct.call(operation, dump_json(asked))
        check_match(operation, asked, response)
        return response
