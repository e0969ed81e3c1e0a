"""BatchWriteItem through a boto3 client, or with the direct HTTP client.

Both send the same requests and return the same responses. The direct client is several times
faster: it sends a row's JSON unchanged. `transport.eligibility` decides which one is used.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from botocore.exceptions import BotoCoreError, ClientError

from adminview.aws.attribute_codec import for_boto3
from adminview.aws.call_owners import Owners, calls_about, find_in_doubt
from adminview.aws.concurrency import map_concurrently, thread_pool
from adminview.aws.deadline import Deadline
from adminview.aws.responses import check_members
from adminview.model.json_codec import dump_json, parse
from adminview.model.row import key_image
from adminview.sync.fold import Write

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from adminview.aws.transport.http_client import HttpClient


OPERATION = "BatchWriteItem"


class UnsendableRowError(Exception):
    """A row cannot be serialized into a request."""


Call: TypeAlias = Sequence[Write]
Failure: TypeAlias = ClientError | BotoCoreError | UnsendableRowError | RecursionError
Result: TypeAlias = Mapping[str, Any] | Failure | None


class Writer(Protocol):
    """Sends calls of BatchWriteItem."""

    def send(self, table: str, calls: Sequence[Call], deadline: Deadline) -> Sequence[Result]:
        """Make calls concurrently, and return the response or the error of each.

        A response has its `UnprocessedItems`. The result of a call that was not started before the
        deadline is None. When this returns, no request is in flight.
        """

    def find_in_doubt(self) -> Sequence[Owners]:
        """Return the owners of each answered call found to be in doubt since the last query.

        They may be calls of an earlier `send`. The caller must report them.
        """


class Boto3BatchWriter:
    """Sends calls through a boto3 client, each in a thread."""

    def __init__(self, client: "DynamoDBClient") -> None:
        self._client = client
        self._pool = thread_pool()

    def send(self, table: str, calls: Sequence[Call], deadline: Deadline) -> Sequence[Result]:
        return map_concurrently(partial(self._send, table, deadline), calls, self._pool)

    def _send(self, table: str, deadline: Deadline, call: Call) -> Result:
        if deadline.passed:
            return None
        try:
            requests = [_request(write) for write in call]
        except (UnsendableRowError, RecursionError) as error:
            return error  # RecursionError: values are converted recursively
        try:
            with calls_about(_owners(call)):
                response = self._client.batch_write_item(RequestItems={table: requests})
            check_members(OPERATION, response)
        except (ClientError, BotoCoreError, RecursionError) as error:
            return error
        return response

    def find_in_doubt(self) -> Sequence[Owners]:
        return find_in_doubt(self._client)


class HttpBatchWriter:
    """Sends calls with the direct HTTP client, without threads."""

    def __init__(self, direct: "HttpClient") -> None:
        self._direct = direct

    def send(self, table: str, calls: Sequence[Call], deadline: Deadline) -> Sequence[Result]:
        bodies = (body(table, call) for call in calls)
        return [*self._direct.calls(OPERATION, bodies, deadline, map(_owners, calls))]

    def find_in_doubt(self) -> Sequence[Owners]:
        return self._direct.find_in_doubt()


def body(table: str, call: Call) -> bytes:
    """Serialize a call; its rows are JSON already."""
    return b'{"RequestItems":{%b:[%b]}}' % (dump_json(table), b",".join(map(_text, call)))


def _owners(call: Call) -> Owners:
    return tuple({write.owner for write in call})


def _text(write: Write) -> bytes:
    if write.row is None:
        return b'{"DeleteRequest":{"Key":%b}}' % dump_json(key_image(write.key))
    return b'{"PutRequest":{"Item":%b}}' % write.row


def _request(write: Write) -> Any:
    """Return a write as a request of boto3; raises an UnsendableRowError."""
    if write.row is None:
        return {"DeleteRequest": {"Key": key_image(write.key)}}
    try:
        return {"PutRequest": {"Item": for_boto3(parse(write.row))}}
    except (TypeError, ValueError) as error:
        raise UnsendableRowError from error
