"""Check that a response is about what was asked, as far as that can be seen.

HTTP does not say which request a response belongs to (see `connection`). Of a response that holds
rows or names its table, the content does. Only texts are compared: DynamoDB may spell a number or
binary data in another way than the request.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from adminview.aws.responses import NotFromAwsError

EQUALITY = re.compile(r"(#\w+) = (:\w+)")

Attributes = Mapping[str, Any]


def check_match(operation: str, asked: Mapping[str, Any], response: Mapping[str, Any]) -> None:
    """Raise a NotFromAwsError if *response* is about another table, item or partition."""
    try:
        matches = _matches(operation, asked, response)
    except (AttributeError, LookupError, TypeError):
        matches = False
    if not matches:
        raise NotFromAwsError(operation=operation, member="content that was asked for")


def _matches(operation: str, asked: Mapping[str, Any], response: Mapping[str, Any]) -> bool:
    if operation == "BatchGetItem":
        return _only_asked(asked["RequestItems"], response)
    if not _of_table(asked["TableName"], response.get("ConsumedCapacity")):
        return False
    if operation == "GetItem" and (item := response.get("Item")):
        return _agrees(asked["Key"], item)
    if operation == "Query" and (rows := response.get("Items")):
        return _agrees(_partition(asked), rows[0])  # all rows of a response are of one
    return True


def _of_table(table: str, consumed: Attributes | None) -> bool:
    named = (consumed or {}).get("TableName", table)
    return named == table or table.startswith("arn:")


def _only_asked(asked: Mapping[str, Any], response: Mapping[str, Any]) -> bool:
    """Tell whether all rows and unprocessed keys were asked for; whoever asks reads the keys."""
    found, left = response["Responses"], response["UnprocessedKeys"]
    if not found.keys() | left.keys() <= asked.keys():
        return False
    for table in found.keys() | left.keys():
        keys = asked[table]["Keys"]
        names = [*keys[0]]
        known = {_texts(names, key) for key in keys}
        rows: Iterable[Attributes] = [*found.get(table, ()), *left.get(table, {}).get("Keys", ())]
        if not all(_texts(names, row) in known for row in rows):
            return False
    return True


def _partition(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Find the attributes that a query fixes."""
    found = EQUALITY.findall(asked.get("KeyConditionExpression", ""))
    names, values = "ExpressionAttributeNames", "ExpressionAttributeValues"
    return {asked[names][name]: asked[values][value] for name, value in found}


def _agrees(expected: Attributes, row: Attributes) -> bool:
    """Tell whether a row has the expected texts, unless it was projected without them."""
    return all(
        "S" not in value or name not in row or row[name] == value
        for name, value in expected.items()
    )


def _texts(names: Iterable[str], row: Attributes) -> tuple[str | None, ...]:
    return tuple([row.get(name, {}).get("S") for name in names])
