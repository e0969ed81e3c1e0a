"""Fakes of AWS services that keep their rules and fail on demand."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, cast

from botocore.exceptions import ClientError, ConnectTimeoutError

from adminview.aws.batch_writers import Boto3BatchWriter
from adminview.aws.call_errors import CallErrors
from adminview.aws.dead_letter_producer import DeadLetterProducer
from adminview.aws.retry import Backoff
from adminview.aws.view_table import ViewTable
from adminview.model import Registry
from adminview.model.dead_letter import OutgoingLetter
from adminview.model.json_codec import dump_json
from adminview.runtime import Runtime
from adminview.sync.counts import BatchCounts
from adminview.sync.decode import Route, routes
from adminview.sync.fold import Write
from adminview.sync.plan import Batch, plan_batch

TABLE = "AdminViewTable"
NO_WAIT = Backoff(sleep=lambda _: None)

Fault = Callable[[list[dict[str, Any]]], list[dict[str, Any]]]


def refusal(code: str, operation: str = "BatchWriteItem", status: int = 400) -> ClientError:
    """Return an error as boto3 raises it."""
    response = {
        "Error": {"Code": code, "Message": "quoting customer data"},
        "ResponseMetadata": {"HTTPStatusCode": status},
    }
    return ClientError(response, operation)  # type: ignore[arg-type]  # boto3 adds more of it


def a_write(key: tuple[str, str], attributes: Any, place: int = 0) -> Write:
    """Return a write of one row; None deletes it."""
    return Write(key, "o", None if attributes is None else dump_json(attributes), place, place)


def a_put(place: int, **more: Any) -> Write:
    """Return a write of a small row, or of a large one."""
    sk = f"{place}"
    return a_write(("P", sk), {"PK": {"S": "P"}, "SK": {"S": sk}, **more}, place)


NETWORK_DOWN = ConnectTimeoutError(endpoint_url="http://127.0.0.1")


class FakeDynamoDB:
    """One table with BatchWriteItem's rules. *faults* are called in turn, once per call."""

    def __init__(self, faults: Sequence[Fault | Exception] = (), bad: Collection[str] = ()) -> None:
        self.rows: dict[tuple[str, str], dict[str, Any]] = {}
        self.calls: list[int] = []
        self.faults = list(faults)
        self.bad = set(bad)  # sort keys of rows that the service refuses
        self._lock = Lock()

    def batch_write_item(self, RequestItems: dict[str, Any]) -> dict[str, Any]:  # noqa: N803 - boto3's
        """Accept a call completely, in part, or not at all."""
        with self._lock:
            ((table, requests),) = RequestItems.items()
            assert table == TABLE
            self.calls.append(len(requests))
            unprocessed = self._fail(requests)
            keys = [key_of(request) for request in requests]
            if len(requests) > 25 or len(set(keys)) < len(keys):
                raise refusal("ValidationException")
            if any(
                "PutRequest" in request and key_of(request)[1] in self.bad for request in requests
            ):
                raise refusal("ValidationException")
            for request in requests:
                if request not in unprocessed:
                    self._apply(request)
            return {"UnprocessedItems": {TABLE: unprocessed} if unprocessed else {}}

    def _fail(self, requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
        fault = self.faults.pop(0) if self.faults else None
        if isinstance(fault, Exception):
            raise fault
        return fault(requests) if fault else []

    def _apply(self, request: dict[str, Any]) -> None:
        if "PutRequest" in request:
            self.rows[key_of(request)] = request["PutRequest"]["Item"]
        else:
            self.rows.pop(key_of(request), None)


def key_of(request: dict[str, Any]) -> tuple[str, str]:
    """Return the key of the row in a request."""
    key = request.get("PutRequest", {}).get("Item") or request["DeleteRequest"]["Key"]
    return key["PK"]["S"], key["SK"]["S"]


class FakeQueue:
    """An SQS queue that can refuse messages."""

    def __init__(self, failures: Sequence[Exception | set[str]] = ()) -> None:
        self.bodies: list[str] = []
        self.codes: set[str] = set()
        self.delays: list[Any] = []
        self.failures = list(failures)
        self.calls = 0

    def send_message_batch(self, QueueUrl: str, Entries: list[dict[str, str]]) -> dict[str, Any]:  # noqa: N803 - boto3's
        """Accept the entries, some of them, or none."""
        assert QueueUrl == "queue"
        assert len(Entries) <= 10
        bodies = [entry["MessageBody"] for entry in Entries]
        assert all(body.isascii() for body in bodies), "SQS refuses some characters"
        assert sum(map(len, bodies)) <= 256 * 1024
        self.calls += 1
        failure = self.failures.pop(0) if self.failures else set()
        if isinstance(failure, Exception):
            raise failure
        taken = [entry for entry in Entries if entry["Id"] not in failure]
        self.bodies += [entry["MessageBody"] for entry in taken]
        self.delays += [entry.get("DelaySeconds") for entry in taken]
        return {
            "Successful": [{"Id": entry["Id"]} for entry in Entries if entry["Id"] not in failure],
            "Failed": [
                {"Id": id_, "SenderFault": False, "Code": "InternalError"}
                for id_ in sorted(failure)
            ],
        }


@dataclass
class RecordingObserver:
    """An observer that records what it is called with."""

    batches: list[BatchCounts] = field(default_factory=list)
    letters: list[OutgoingLetter] = field(default_factory=list)
    errors: set[str] = field(default_factory=set)

    def invoked(self, request_id: str) -> None:
        """Record an invocation."""

    def synced(
        self, counts: BatchCounts, letters: Sequence[OutgoingLetter], errors: CallErrors
    ) -> None:
        """Record a batch."""
        self.batches.append(counts)
        self.letters += letters
        self.errors |= set(errors)


@dataclass
class Context:
    """The part of Lambda's context that the sync uses."""

    remaining_ms: int = 60_000
    aws_request_id: str = "request-1"

    def get_remaining_time_in_millis(self) -> int:
        """Return the time left for the invocation."""
        return self.remaining_ms


def planned(records: Sequence[Any], routes: Mapping[str, Route], model: str) -> Batch:
    """Plan a batch in one part."""
    batch = Batch(records, model)
    (_,) = plan_batch(batch, routes, part_bytes=10**9)
    return batch


def make_runtime(
    registry: Registry,
    dynamodb: Any = None,
    queue: Any = None,
    observer: Any = None,
    backoff: Backoff = NO_WAIT,
) -> Runtime:
    """Connect a model to fakes."""
    return Runtime(
        routes=routes(registry, {}),
        model="model-1",
        view=ViewTable(Boto3BatchWriter(cast("Any", dynamodb or FakeDynamoDB())), TABLE, backoff),
        dead_letters=DeadLetterProducer(cast("Any", queue or FakeQueue()), "queue", backoff),
        observer=observer or RecordingObserver(),
        now=lambda: 1_790_000_010.0,
    )
