"""The direct client can replace a boto3 client: its results are the same."""

import json
from typing import Any, cast

import pytest
from botocore.exceptions import ClientError
from botocore.serialize import create_serializer
from hypothesis import given

from adminview.aws.attribute_codec import for_boto3, from_boto3
from adminview.aws.responses import SINGLE_ITEM
from adminview.aws.retry import error_code
from adminview.aws.transport.dynamodb_client import DIRECT_CALLS, DynamoDbHttpClient
from tests.support.dynamodb_writers import make_http_client, session
from tests.support.fakes import TABLE
from tests.support.faulty_server import Faulty, answer, refuse
from tests.unit.test_writers import blobs, values


def no_client() -> Any:
    pytest.fail("boto3 is not needed")


class Sent:
    """A direct client that sends nothing."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, Any]] = []

    def call(self, operation: str, body: bytes) -> Any:
        self.requests.append((operation, json.loads(body)))
        return {"Responses": {}, "UnprocessedKeys": {}}


def spelled_by_botocore(operation: str, parameters: dict[str, Any]) -> Any:
    model = session()._session.get_service_model("dynamodb").operation_model(operation)
    return json.loads(create_serializer("json").serialize_to_request(parameters, model)["body"])


def arguments(item: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the arguments of each call, as our modules give them."""
    table = {"TableName": TABLE}
    values = {":v": item["v"]}
    return {
        "batch_get_item": {"RequestItems": {TABLE: {"Keys": [item], "ConsistentRead": True}}},
        "batch_write_item": {"RequestItems": {TABLE: [{"PutRequest": {"Item": item}}]}},
        "delete_item": {**table, "Key": item, "ExpressionAttributeValues": values},
        "get_item": {**table, "Key": item, "ConsistentRead": True},
        "put_item": {**table, "Item": item, "ExpressionAttributeValues": values},
        "query": {**table, "ExclusiveStartKey": item, "ExpressionAttributeValues": values},
        "scan": {**table, "Segment": 0, "TotalSegments": 1, "ExclusiveStartKey": item},
        "update_item": {**table, "Key": item, "ExpressionAttributeValues": values},
    }


@given(value=values, blob=blobs)
def test_every_call_is_encoded_as_botocore_encodes_it(value: Any, blob: str) -> None:
    item = for_boto3({"v": value, "b": {"B": blob}, "d": {"L": [{"BS": [blob]}]}})
    sent = Sent()
    client: Any = DynamoDbHttpClient(cast("Any", sent), no_client)
    every = arguments(item)
    assert every.keys() == DIRECT_CALLS.keys()
    for name, request in every.items():
        getattr(client, name)(**request)
        if DIRECT_CALLS[name] in SINGLE_ITEM:  # or a response of `{}` could be anybody's
            request = {**request, "ReturnConsumedCapacity": "TOTAL"}  # noqa: PLW2901
        assert sent.requests.pop() == (
            DIRECT_CALLS[name],
            spelled_by_botocore(DIRECT_CALLS[name], request),
        )


@given(value=values)
def test_what_comes_back_needs_no_other_look(value: Any) -> None:
    content = json.dumps({"Item": {"v": value}})
    reported = json.loads(content)["Item"]
    assert from_boto3(reported) == {"v": value}


def test_answers_and_errors_are_those_of_a_client() -> None:
    item = {"PK": {"S": "P"}, "blob": {"B": "AP8="}}
    body = json.dumps({"Item": item, "ConsumedCapacity": {}})
    with Faulty([answer(200, body), refuse("ThrottlingException")]) as server:
        client: Any = DynamoDbHttpClient(make_http_client(server.url), no_client)
        assert client.get_item(TableName=TABLE, Key={})["Item"] == item
        with pytest.raises(ClientError) as caught:
            client.get_item(TableName=TABLE, Key={})
    assert error_code(caught.value) == "ThrottlingException"


def test_all_else_is_left_to_one_client() -> None:
    class Client:
        """A client that can describe."""

        created = 0

        def __init__(self) -> None:
            Client.created += 1

        def describe_table(self, **request: Any) -> Any:
            return request

    client: Any = DynamoDbHttpClient(cast("Any", Sent()), cast("Any", Client))
    for _ in range(2):
        assert client.describe_table(TableName=TABLE) == {"TableName": TABLE}
    assert Client.created == 1


def test_what_is_no_json_is_refused_before_anything_is_sent() -> None:
    sent = Sent()
    client: Any = DynamoDbHttpClient(cast("Any", sent), no_client)
    with pytest.raises(TypeError):
        client.put_item(TableName=TABLE, Item={"v": {"S": object()}})
    assert sent.requests == []
