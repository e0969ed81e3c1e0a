"""Check that a response matches its request, as far as its content shows.

HTTP/1.1 does not say which request a response belongs to (see `connection`). The rows and the table
name in a response show it. Only text values are compared: DynamoDB may write a number or binary
data differently than the request.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from adminview.aws.responses import NotFromAwsError

EQUALITY = re.compile(r"(#\w+) = (:\w+)")

Attributes = Mapping[str, Any]


def check_match(operation: str, request: Mapping[str, Any], response: Mapping[str, Any]) -> None:
    """Raise a NotFromAwsError if *response* is about another table, item or partition."""
    try:
        matches = _matches(operation, request, response)
    except (AttributeError, LookupError, TypeError):
        matches = False
    if not matches:
        raise NotFromAwsError(operation=operation, member="content that matches the request")


def _matches(operation: str, request: Mapping[str, Any], response: Mapping[str, Any]) -> bool:
    if operation == "BatchGetItem":
        return _only_requested(request["RequestItems"], response)
    if not _of_table(request["TableName"], response.get("ConsumedCapacity")):
        return False
    if operation == "GetItem" and (item := response.get("Item")):
        return _agrees(request["Key"], item)
    if operation == "Query" and (rows := response.get("Items")):
        return _agrees(_partition(request), rows[0])  # all rows have the same partition
    return True


def _of_table(table: str, consumed: Attributes | None) -> bool:
    named = (consumed or {}).get("TableName", table)
    return named == table or table.startswith("arn:")


def _only_requested(request: Mapping[str, Any], response: Mapping[str, Any]) -> bool:
    """Return whether all rows and unprocessed keys belong to requested keys."""
    responses, left = response["Responses"], response["UnprocessedKeys"]
    if not responses.keys() | left.keys() <= request.keys():
        return False
    for table in responses.keys() | left.keys():
        keys = request[table]["Keys"]
        names = [*keys[0]]
        known = {_texts(names, key) for key in keys}
        rows: Iterable[Attributes] = [
            *responses.get(table, ()),
            *left.get(table, {}).get("Keys", ()),
        ]
        if not all(_texts(names, row) in known for row in rows):
            return False
    return True


def _partition(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the key attributes that a query fixes, with their values."""
    equalities = EQUALITY.findall(request.get("KeyConditionExpression", ""))
    names, values = "ExpressionAttributeNames", "ExpressionAttributeValues"
    return {request[names][name]: request[values][value] for name, value in equalities}


def _agrees(expected: Attributes, row: Attributes) -> bool:
    """Return whether a row has the expected text values; a projection may omit attributes."""
    return all(
        "S" not in value or name not in row or row[name] == value
        for name, value in expected.items()
    )


def _texts(names: Iterable[str], row: Attributes) -> tuple[str | None, ...]:
    return tuple([row.get(name, {}).get("S") for name in names])
