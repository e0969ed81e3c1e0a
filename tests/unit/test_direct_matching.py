"""A response to a read is compared with its request."""

import json
from typing import Any

import pytest

from adminview.aws.responses import NotFromAwsError, is_in_doubt
from adminview.aws.retry import is_transient
from adminview.aws.transport.dynamodb_client import DynamoDbHttpClient
from adminview.aws.view_reader import HttpReader
from tests.support.dynamodb_writers import make_http_client
from tests.support.fakes import TABLE
from tests.support.faulty_server import Faulty, answer

KEY = {"PK": {"S": "P"}, "SK": {"S": "1"}}
OTHER = {"PK": {"S": "Q"}, "SK": {"S": "1"}}
NUMBER = {"PK": {"S": "P"}, "SK": {"N": "1E+2"}}
SPELLED = {"PK": {"S": "P"}, "SK": {"N": "100"}}
QUERY = {
    "TableName": TABLE,
    "KeyConditionExpression": "#pk = :pk AND begins_with(#sk, :sk)",
    "ExpressionAttributeNames": {"#pk": "PK", "#sk": "SK"},
    "ExpressionAttributeValues": {":pk": {"S": "P"}, ":sk": {"S": "1"}},
}
GET = {"TableName": TABLE, "Key": KEY}
BATCH = {"RequestItems": {TABLE: {"Keys": [KEY]}}}
UNITS = {"ConsumedCapacity": {"TableName": TABLE, "CapacityUnits": 1}}
OTHERS_UNITS = {"ConsumedCapacity": {"TableName": "Another", "CapacityUnits": 1}}


def rows(*some: Any) -> dict[str, Any]:
    return {"Items": some, "Count": len(some), "ScannedCount": len(some)}


def batch(*some: Any, table: str = TABLE, left: Any = ()) -> dict[str, Any]:
    unprocessed = {table: {"Keys": left}} if left else {}
    return {"Responses": {table: some}, "UnprocessedKeys": unprocessed}


def called(name: str, arguments: dict[str, Any], response: dict[str, Any], *, reader: bool) -> Any:
    with Faulty([answer(200, json.dumps(response))]) as server:
        direct = make_http_client(server.url)
        client: Any = HttpReader(direct) if reader else DynamoDbHttpClient(direct, pytest.fail)
        return getattr(client, name)(**arguments)


@pytest.mark.parametrize(
    ("name", "arguments", "response"),
    [
        ("query", QUERY, rows(OTHER)),
        ("query", QUERY, rows(KEY) | OTHERS_UNITS),
        ("query", QUERY, rows(5)),
        ("batch_get_item", BATCH, batch(OTHER)),
        ("batch_get_item", BATCH, batch(KEY, OTHER)),
        ("batch_get_item", BATCH, batch(table="Another")),
        ("batch_get_item", BATCH, batch(left=[OTHER])),
        ("get_item", GET, {"Item": OTHER} | UNITS),
        ("get_item", GET, OTHERS_UNITS),
        ("put_item", {"TableName": TABLE, "Item": KEY}, OTHERS_UNITS),
        ("scan", {"TableName": TABLE}, rows() | OTHERS_UNITS),
    ],
)
@pytest.mark.parametrize("reader", [True, False])
def test_a_response_about_something_else_counts_as_none(
    name: str, arguments: dict[str, Any], response: dict[str, Any], *, reader: bool
) -> None:
    if reader and not hasattr(HttpReader, name):
        reader = False
    with pytest.raises(NotFromAwsError) as caught:
        called(name, arguments, response, reader=reader)
    assert is_transient(caught.value)
    assert is_in_doubt(caught.value)


@pytest.mark.parametrize(
    ("name", "arguments", "response"),
    [
        ("query", QUERY, rows(KEY, {**KEY, "SK": {"S": "12"}}) | UNITS),
        ("query", QUERY, rows({"data": {"S": "projected"}})),
        ("query", {"TableName": TABLE}, rows(OTHER)),
        ("batch_get_item", BATCH, batch({**KEY, "data": {"S": "x"}})),
        ("batch_get_item", BATCH, batch(left=[KEY])),
        ("batch_get_item", {"RequestItems": {TABLE: {"Keys": [NUMBER]}}}, batch(SPELLED)),
        ("get_item", GET, {"Item": KEY} | UNITS),
        ("get_item", GET, UNITS),
        ("get_item", {"TableName": TABLE, "Key": NUMBER}, {"Item": SPELLED} | UNITS),
        ("get_item", {**GET, "TableName": "arn:aws:dynamodb:::table/x"}, {"Item": KEY} | UNITS),
    ],
)
def test_a_response_that_matches_the_request_is_returned(
    name: str, arguments: dict[str, Any], response: dict[str, Any]
) -> None:
    result = called(name, arguments, response, reader=False)
    assert json.dumps(response) == json.dumps({member: result[member] for member in response})
