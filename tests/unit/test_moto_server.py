"""moto as we run it: one request to DynamoDB at a time, any number to queues, and exact sums."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from socket import create_server
from threading import Barrier, BrokenBarrierError
from typing import TYPE_CHECKING

import boto3
import pytest
from botocore.exceptions import ClientError

from adminview.local.engines import free_port, moto_engine
from adminview.local.moto_server import ONE_AT_A_TIME, serialized
from adminview.local.tables import create, totals_table

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment


def ignored(*_: object) -> Callable[[bytes], object]:
    raise AssertionError


@pytest.mark.parametrize(
    ("target", "map_concurrently"),
    [
        ("DynamoDB_20120810.PutItem", False),
        ("DynamoDBStreams_20120810.GetRecords", False),
        ("AmazonSQS.ReceiveMessage", True),
        ("", True),
    ],
)
def test_only_requests_to_dynamodb_wait_for_each_other(
    target: str, *, map_concurrently: bool
) -> None:
    barrier = Barrier(2)

    def meets(_: "WSGIEnvironment", __: "StartResponse") -> Iterable[bytes]:
        try:
            barrier.wait(timeout=10 if map_concurrently else 0.2)
        except BrokenBarrierError:
            return [b"alone"]
        return [b"together"]

    app = serialized(meets)
    with ThreadPoolExecutor(2) as pool:
        calls = [pool.submit(app, {"HTTP_X_AMZ_TARGET": target}, ignored) for _ in range(2)]
        answers = {b"".join(call.result()) for call in calls}
    assert answers == {b"together" if map_concurrently else b"alone"}


def test_the_engine_lets_its_requests_in_one_by_one() -> None:
    with moto_engine() as engine, ThreadPoolExecutor(1) as pool:
        tables = engine.dynamodb().list_tables  # made before, as making one takes a while
        tables()
        with ONE_AT_A_TIME:
            call = pool.submit(tables)
            with pytest.raises(TimeoutError):
                call.result(timeout=0.5)
        assert call.result()["TableNames"] == []


def test_a_service_that_is_not_installed_is_refused_without_a_traceback(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with moto_engine() as engine:
        client = boto3.client(
            "cloudformation",
            endpoint_url=engine.dynamodb_url,
            region_name="us-east-1",
            aws_access_key_id="x",
            aws_secret_access_key="x",
        )
        with pytest.raises(ClientError, match=r"UnsupportedService.* has only DynamoDB and SQS"):
            client.describe_stacks(StackName="x")
    assert capfd.readouterr().err == ""


def test_a_preferred_port_is_used_unless_it_is_taken() -> None:
    with create_server(("127.0.0.1", 0)) as taken:
        port = int(taken.getsockname()[1])
        assert free_port(port) != port
        with moto_engine(port) as engine:  # another process may take it first
            assert engine.dynamodb_url != f"http://127.0.0.1:{port}"
            assert engine.dynamodb().list_tables()["TableNames"] == []
    assert free_port(port) == port
    with moto_engine(port) as engine:
        assert engine.dynamodb_url == f"http://127.0.0.1:{port}"


@pytest.mark.parametrize(
    ("amounts", "total"),
    [
        (["9" * 29, "0." + "9" * 9], "9" * 29 + "." + "9" * 9),
        (["0.000000001", "-0.000000001", "3"], "3"),  # a sum of 0E-9 on the way
        (["1E+3", "0.10"], "1000.1"),
    ],
)
def test_numbers_are_added_as_dynamodb_adds_them(amounts: list[str], total: str) -> None:
    with moto_engine() as engine:
        client = engine.dynamodb()
        create(client, totals_table("Totals"))
        for amount in amounts:
            client.update_item(
                TableName="Totals",
                Key={"PK": {"S": "a"}, "SK": {"S": "a"}},
                UpdateExpression="ADD amount :amount",
                ExpressionAttributeValues={":amount": {"N": amount}},
            )
        (item,) = client.scan(TableName="Totals")["Items"]
        client.delete_table(TableName="Totals")
    assert item["amount"]["N"] == total
