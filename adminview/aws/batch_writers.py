"""Two ways to put calls of BatchWriteItem: through a boto3 client, or straight.

They send the same and understand the answers alike. The straight way is several times quicker,
since a row's JSON is sent as it is; `way` says when it is taken.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from botocore.exceptions import BotoCoreError, ClientError

from adminview.aws.attribute_codec import for_boto3
from adminview.aws.call_owners import Owners, calls_about, find_in_doubt
from adminview.aws.concurrency import crew, map_concurrently
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
    """A row cannot be put into a request at all."""


Call: TypeAlias = Sequence[Write]
Failure: TypeAlias = ClientError | BotoCoreError | UnsendableRowError | RecursionError
Result: TypeAlias = Mapping[str, Any] | Failure | None


class Writer(Protocol):
    """Where calls go."""

    def send(self, table: str, calls: Sequence[Call], deadline: Deadline) -> Sequence[Result]:
        """Make calls, some at once, and return the response or the error of each.

        A response has its `UnprocessedItems`. None stands for a call that was not begun in time.
        When this returns, every call has ended, with or without a response.
        """

    def find_in_doubt(self) -> Sequence[Owners]:
        """Return the owners of each answered call that was found to be in doubt since last asked.

        They may be calls of an earlier `send`. Whoever asks has to report them.
        """


class Boto3BatchWriter:
    """Through a boto3 client."""

    def __init__(self, client: "DynamoDBClient") -> None:
        self._client = client
        self._crew = crew()

    def send(self, table: str, calls: Sequence[Call], deadline: Deadline) -> Sequence[Result]:
        """Make calls, each in a thread."""
        return map_concurrently(partial(self._send, table, deadline), calls, self._crew)

    def _send(self, table: str, deadline: Deadline, call: Call) -> Result:
        if deadline.passed:
            return None
        try:
            requests = [_request(write) for write in call]
        except (UnsendableRowError, RecursionError) as error:
            return error  # the last, for values are recursed into
        try:
            with calls_about(_owners(call)):
                response = self._client.batch_write_item(RequestItems={table: requests})
            check_members(OPERATION, response)
        except (ClientError, BotoCoreError, RecursionError) as error:
            return error
        return response

    def find_in_doubt(self) -> Sequence[Owners]:
        """Return what the client has found."""
        return find_in_doubt(self._client)


class HttpBatchWriter:
    """Straight to DynamoDB."""

    def __init__(self, direct: "HttpClient") -> None:
        self._direct = direct

    def send(self, table: str, calls: Sequence[Call], deadline: Deadline) -> Sequence[Result]:
        """Make calls, without threads."""
        bodies = (body(table, call) for call in calls)
        return [*self._direct.calls(OPERATION, bodies, deadline, map(_owners, calls))]

    def find_in_doubt(self) -> Sequence[Owners]:
        """Return what the client has found."""
        return self._direct.find_in_doubt()


def body(table: str, call: Call) -> bytes:
    """Spell a call; its rows are spelled already."""
    return b'{"RequestItems":{%b:[%b]}}' % (dump_json(table), b",".join(map(_text, call)))


def _owners(call: Call) -> Owners:
    return tuple({write.owner for write in call})


def _text(write: Write) -> bytes:
    if write.row is None:
        return b'{"DeleteRequest":{"Key":%b}}' % dump_json(key_image(write.key))
    return b'{"PutRequest":{"Item":%b}}' % write.row


def _request(write: Write) -> Any:
    """Put a write into a client's words."""
    if write.row is None:
        return {"DeleteRequest": {"Key": key_image(write.key)}}
    try:
        return {"PutRequest": {"Item": for_boto3(parse(write.row))}}
    except (TypeError, ValueError) as error:
        raise UnsendableRowError from error
