"""A 200 that is not a response of DynamoDB counts as no response, with either client."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from botocore.exceptions import ClientError

from adminview.aws.batch_writers import Boto3BatchWriter, HttpBatchWriter
from adminview.aws.deadline import Deadline
from adminview.aws.metered_client import Metered
from adminview.aws.rate_limit import RateLimiter
from adminview.aws.responses import (
    REQUIRED,
    NotFromAwsError,
    check_members,
    check_responses,
    is_in_doubt,
)
from adminview.aws.row_store import RowStore
from adminview.aws.source_tables import SourceReader
from adminview.aws.table_scanner import TableScanner
from adminview.aws.transport.dynamodb_client import DIRECT_CALLS, DynamoDbHttpClient
from adminview.aws.view_table import ViewTable
from adminview.model.errors import ServiceError
from tests.support.dynamodb_writers import client as plain
from tests.support.dynamodb_writers import make_http_client
from tests.support.fakes import NO_WAIT, TABLE, a_put
from tests.support.faulty_server import Fault, Faulty, answer

KEY = {"PK": {"S": "P"}, "SK": {"S": "S"}}
# What boto3 makes an empty response of, and what another call's response looks like.
PAGES: dict[str, str | bytes] = {
    "a list": "[]",
    "null": "null",
    "a number": "5",
    "no UTF-8": b"<p>caf\xe9",
    "too deep": "[" * 100_000,
    "a page": "<html>a proxy that needs you to log in</html>",
    "nothing": "",
    "cut short": '{"Items": [{"PK"',
    "an empty object": "{}",
    "another call's": '{"Table": {}}',
}
CALLS: dict[str, dict[str, Any]] = {
    "batch_get_item": {"RequestItems": {TABLE: {"Keys": [KEY]}}},
    "batch_write_item": {"RequestItems": {TABLE: [{"DeleteRequest": {"Key": KEY}}]}},
    "delete_item": {"TableName": TABLE, "Key": KEY},
    "get_item": {"TableName": TABLE, "Key": KEY},
    "put_item": {"TableName": TABLE, "Item": KEY},
    "query": {"TableName": TABLE},
    "scan": {"TableName": TABLE},
    "update_item": {"TableName": TABLE, "Key": KEY},
}


def checked(url: str) -> Any:
    client = plain(url)
    check_responses(client)
    return client


def direct(url: str) -> Any:
    return DynamoDbHttpClient(make_http_client(url), lambda: pytest.fail("boto3 is not needed"))


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("connect", [checked, direct])
def test_a_page_is_not_a_response(connect: Callable[[str], Any], name: str, page: str) -> None:
    with Faulty([answer(200, PAGES[page])]) as server, pytest.raises(Exception) as caught:  # noqa: PT011
        getattr(connect(server.url), name)(**CALLS[name])
    assert type(caught.value).__name__ in {"NotFromAwsError", "ResponseStreamingError"}


@pytest.mark.parametrize("connect", [checked, direct])
def test_a_response_of_dynamodb_passes(connect: Callable[[str], Any]) -> None:
    assert {DIRECT_CALLS[name] for name in CALLS} <= REQUIRED.keys()
    for name, requested in CALLS.items():
        kinds = REQUIRED[DIRECT_CALLS[name]]
        sound = json.dumps({member: kind() for member, kind in kinds.items()})
        with Faulty([answer(200, sound)]) as server:
            getattr(connect(server.url), name)(**requested)


@pytest.mark.parametrize("member", [None, [], "text", 3])
def test_a_member_of_another_type_is_no_member(member: Any) -> None:
    with pytest.raises(NotFromAwsError, match="BatchWriteItem has no UnprocessedItems"):
        check_members("BatchWriteItem", {"UnprocessedItems": member})


def soon() -> Deadline:
    now = iter(range(100))
    return Deadline(5.0, lambda: float(next(now)))


def read_item(client: Any) -> object:
    return SourceReader(client, NO_WAIT).read(TABLE, KEY, deadline=soon())


def find_rows(client: Any) -> object:
    return RowStore(client, TABLE, NO_WAIT).find("Things/a", deadline=soon())


def read_rows(client: Any) -> object:
    return RowStore(client, TABLE, NO_WAIT).read([("P", "S")], deadline=soon())


def put_row(client: Any) -> object:
    return RowStore(client, TABLE, NO_WAIT).put("Things/a", {**KEY}, deadline=soon())


def delete_row(client: Any) -> object:
    return RowStore(client, TABLE, NO_WAIT).delete("Things/a", ("P", "S"), deadline=soon())


def scan_page(client: Any) -> object:
    metered: Any = Metered(client, RateLimiter(), RateLimiter())
    return TableScanner(metered, backoff=NO_WAIT).page(TABLE, (0, 1), None, deadline=soon)


def read_items(client: Any) -> object:
    return [*TableScanner(client, backoff=NO_WAIT).get(TABLE, [KEY], deadline=soon)]


@pytest.mark.parametrize("content", ["[]", "null", b"\xff", "[" * 100_000, '{"__type": null}'])
@pytest.mark.parametrize("connect", [checked, direct])
def test_a_gateways_error_is_one_whatever_it_says(
    connect: Callable[[str], Any], content: str | bytes
) -> None:
    with Faulty([answer(502, content)]) as server, pytest.raises(ClientError) as caught:
        connect(server.url).batch_write_item(**CALLS["batch_write_item"])
    assert is_in_doubt(caught.value)


@pytest.mark.parametrize("left", [None, [{"a": 1}], [5], "text"])
@pytest.mark.parametrize("writer", [HttpBatchWriter, Boto3BatchWriter])
def test_unprocessed_items_that_are_none_put_a_call_in_doubt(writer: Any, left: Any) -> None:
    content = json.dumps({"UnprocessedItems": {TABLE: left}})
    with Faulty([answer(200, content)]) as server:
        client = make_http_client(server.url) if writer is HttpBatchWriter else checked(server.url)
        outcome = ViewTable(writer(client), TABLE, NO_WAIT).write(
            [a_put(0)], deadline=Deadline.after(60)
        )
    assert (outcome.written, [*outcome.in_doubt]) == (1, [("P", "0")])


def test_a_caller_cannot_switch_the_check_off() -> None:
    with Faulty([answer(200, '{"ConsumedCapacity": {}}')] * 2) as server:
        for client in (checked(server.url), direct(server.url)):
            client.put_item(TableName=TABLE, Item=KEY, ReturnConsumedCapacity="NONE")
        sent = [json.loads(request.body) for request in server.requests]
    assert [body["ReturnConsumedCapacity"] for body in sent] == ["TOTAL", "TOTAL"]


@pytest.mark.parametrize(
    "use", [read_item, find_rows, read_rows, put_row, delete_row, scan_page, read_items]
)
@pytest.mark.parametrize("page", ["a page", "nothing", "no UTF-8", "null"])
@pytest.mark.parametrize("connect", [checked, direct])
def test_nobody_takes_a_page_for_an_answer(
    connect: Callable[[str], Any], use: Callable[[Any], object], page: str
) -> None:
    """An item would count as deleted, a row as written, a table as read to its end."""
    faults: list[Fault] = [partial(answer(200, PAGES[page]))] * 20
    with Faulty(faults) as server, pytest.raises(ServiceError, match="no answer from AWS"):
        use(connect(server.url))
