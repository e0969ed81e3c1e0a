"""Both readers send the same requests and return the same rows; unprocessed keys are retried."""

import json
from base64 import b64encode
from typing import Any, cast

from adminview.aws.deadline import Deadline
from adminview.aws.transport.http_client import HttpClient
from adminview.aws.view_reader import Boto3Reader, HttpReader, ViewReader
from tests.support.fakes import NO_WAIT, TABLE

BLOB = b"\x00\xff"
TEXT = b64encode(BLOB).decode()


class Client:
    """A boto3 client, which has binary as bytes."""

    def __init__(self) -> None:
        self.requests: dict[str, Any] = {}

    def query(self, **request: Any) -> Any:
        self.requests = request
        last = {"LastEvaluatedKey": {"k": {"B": BLOB}}}
        return {"Items": [{"data": {"B": BLOB}}], "Count": 1, **last}


def test_a_boto3_client_is_given_bytes_and_what_it_gives_is_text_again() -> None:
    client = Client()
    arguments = {
        "ExpressionAttributeValues": {":k": {"B": TEXT}},
        "ExclusiveStartKey": {"k": {"B": TEXT}},
    }
    page = Boto3Reader(cast("Any", client)).query(TableName=TABLE, **arguments)
    assert client.requests == {
        "TableName": TABLE,
        "ExpressionAttributeValues": {":k": {"B": BLOB}},
        "ExclusiveStartKey": {"k": {"B": BLOB}},
    }
    assert page["Items"] == [{"data": {"B": TEXT}}]
    assert page["LastEvaluatedKey"] == {"k": {"B": TEXT}}


class Halving(HttpClient):
    """A direct client of a table that leaves half of the keys unprocessed."""

    def __init__(self) -> None:
        self.call_count = 0

    def call(self, operation: str, body: bytes) -> dict[str, Any]:
        assert operation == "BatchGetItem"
        self.call_count += 1
        keys = json.loads(body)["RequestItems"][TABLE]["Keys"]
        half = len(keys) // 2
        left = {TABLE: {"Keys": keys[:half]}} if half else {}
        return {"Responses": {TABLE: keys[half:]}, "UnprocessedKeys": left}


def test_rows_that_are_left_unprocessed_are_read_again_until_all_are_there() -> None:
    client = Halving()
    keys = [("P", str(number)) for number in range(120)]
    rows_ = ViewReader(HttpReader(client), TABLE, NO_WAIT).get(keys, deadline=Deadline.after(60))
    assert sorted(rows_) == sorted(keys)
    assert client.call_count == 7 + 5  # a hundred and twenty, each halved to the last
