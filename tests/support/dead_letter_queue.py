"""An in-memory dead-letter queue, dead letters, and the dependencies of a replay."""

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any, cast

from adminview.aws.dead_letter_consumer import DeadLetterConsumer, Message
from adminview.aws.dead_letter_producer import DeadLetterProducer
from adminview.aws.deadline import Deadline
from adminview.dead_letters.letter_filter import LetterFilter
from adminview.dead_letters.replay import ALL, Replayer
from adminview.dead_letters.replay_summary import Summary
from adminview.dead_letters.resolve import LetterResolver, ResolvedLetter
from adminview.model import Item, Row, Source, view
from adminview.model.errors import AdminViewError
from adminview.model.row import RowKey
from adminview.reconcile.item_ref import ItemRef
from adminview.reconcile.reconciler import Reconciled
from adminview.sync.decode import Route
from tests.support.fakes import NO_WAIT
from tests.support.stream_records import AT, STREAM

NOW = AT + 1000.0
HIDDEN_SECONDS = 360  # the visibility timeout of the queue
things = Source("Things", partition_key="id")


@view(things)
def parts(item: Item) -> Iterator[Row]:
    """Derive a row per part."""
    for name in item["parts"]:
        yield Row(f"THING#{item['id']}", name)


ROUTES = {"Things": Route("Things", things, (parts,))}


def facts(id_: str = "a", *rows: str, **changes: Any) -> dict[str, Any]:
    """Return the content of our dead letter about a thing."""
    return {
        "kind": "adminview.letter/1",
        "source": "Things",
        "table": "Things",
        "key": {"id": {"S": id_}},
        "owner": f"Things/{id_}",
        "event": "MODIFY",
        "sequence": "000000000000000000001",
        "at": float(AT),
        "stream": STREAM.format("Things"),
        "model": "model-0",
        "error": {"kind": "ViewError", "reason": "the view raised LookupError"},
        "rows": [[f"THING#{id_}", row] for row in rows],
    } | changes


def letter_body(id_: str = "a", *rows: str, **changes: Any) -> str:
    """Write a dead letter as the sync does."""
    return json.dumps(facts(id_, *rows, **changes))


def batch_facts(first: int = 1, last: int = 2, **changes: Any) -> dict[str, Any]:
    """Return the content of Lambda's on-failure message about a function that crashed."""
    batch = {
        "shardId": "shardId-00000001573689847184-864758bb",
        "startSequenceNumber": f"{first:021d}",
        "endSequenceNumber": f"{last:021d}",
        "approximateArrivalOfFirstRecord": "2026-09-21T14:13:20Z",
        "approximateArrivalOfLastRecord": "2026-09-21T14:14:20Z",
        "batchSize": last - first + 1,
        "streamArn": STREAM.format("Things"),
    }
    return {
        "requestContext": {
            "requestId": "316aa6d0-8154-xmpl-9af7-85d5f4a6bc81",
            "functionArn": "arn:aws:lambda:us-east-1:111122223333:function:sync",
            "condition": "RetryAttemptsExhausted",
            "approximateInvokeCount": 1,
        },
        "responseContext": {"statusCode": 200, "functionError": "Unhandled"},
        "version": "1.0",
        "timestamp": "2026-09-21T15:00:00.000Z",
        "DDBStreamBatchInfo": batch | changes,
    }


def lambdas_own(first: int = 1, last: int = 2, **changes: Any) -> str:
    """Write an on-failure message as Lambda does."""
    return json.dumps(batch_facts(first, last, **changes))


def message(body: str, id_: str = "m-1", sent: float = AT) -> Message:
    """Return a received message."""
    return Message(id_, f"{id_}/1", body, sent, 1)


def resolved(body: str, id_: str = "m-1", sent: float = AT) -> ResolvedLetter:
    """Receive a dead letter and resolve it."""
    return LetterResolver(ROUTES, cast("Any", None)).resolve(message(body, id_, sent))


class FakeSqs:
    """One queue with SQS' rules. *faults* are raised in turn by the operation they name."""

    def __init__(self, log: list[str] | None = None) -> None:
        self.log = [] if log is None else log
        self.now = NOW
        self.bodies: dict[str, str] = {}
        self.visible_at: dict[str, float] = {}
        self.delays: list[int | None] = []
        self.faults: dict[str, list[Exception]] = defaultdict(list)
        self.requests: list[dict[str, Any]] = []
        self._ids = count(1)
        self._receipts = count(1)

    def add(self, *bodies: str, delay: float = 0) -> None:
        for body in bodies:
            id_ = f"m-{next(self._ids)}"
            self.bodies[id_] = body
            self.visible_at[id_] = self.now + delay

    def hidden(self) -> set[str]:
        return {id_ for id_, at in self.visible_at.items() if at > self.now}

    def receive_message(self, **request: Any) -> dict[str, Any]:
        self._begin("receive", request)
        ready = [id_ for id_ in self.bodies if id_ not in self.hidden()]
        ready = ready[: request["MaxNumberOfMessages"]]
        for id_ in ready:
            self.visible_at[id_] = self.now + request.get("VisibilityTimeout", HIDDEN_SECONDS)
        return {"Messages": [self._message(id_) for id_ in ready]} if ready else {}

    def delete_message_batch(self, **request: Any) -> dict[str, Any]:
        self._begin("delete", request)
        for id_ in self._named(request):
            self.log.append(f"delete {id_}")
            self.bodies.pop(id_, None)
            self.visible_at.pop(id_, None)
        return {}

    def change_message_visibility_batch(self, **request: Any) -> dict[str, Any]:
        self._begin("change", request)
        for id_, entry in zip(self._named(request), request["Entries"], strict=True):
            self.log.append(f"put back {id_}")
            if id_ in self.bodies:
                self.visible_at[id_] = self.now + entry["VisibilityTimeout"]
        return {}

    def send_message_batch(self, **request: Any) -> dict[str, Any]:
        self._begin("send", request)
        for entry in request["Entries"]:
            self.log.append("send")
            self.delays.append(entry.get("DelaySeconds"))
            self.add(entry["MessageBody"], delay=entry.get("DelaySeconds", 0))
        return {"Successful": [{"Id": entry["Id"]} for entry in request["Entries"]]}

    def _begin(self, operation: str, request: dict[str, Any]) -> None:
        assert request["QueueUrl"] == "queue"
        assert len(request.get("Entries", [])) <= 10
        self.requests.append(request)
        if self.faults[operation]:
            raise self.faults[operation].pop(0)

    def _message(self, id_: str) -> dict[str, Any]:
        return {
            "MessageId": id_,
            "ReceiptHandle": f"{id_}/{next(self._receipts)}",
            "Body": self.bodies[id_],
            "Attributes": {"SentTimestamp": f"{AT}500", "ApproximateReceiveCount": "2"},
        }

    def _named(self, request: dict[str, Any]) -> list[str]:
        entries = request["Entries"]
        assert len({entry["Id"] for entry in entries}) == len(entries), "SQS wants them distinct"
        return [entry["ReceiptHandle"].split("/")[0] for entry in entries]


@dataclass
class FakeReconciler:
    """A reconciler that records its calls, with outcomes that tests set."""

    log: list[str]
    results: dict[str, Reconciled | AdminViewError] = field(default_factory=dict)
    rows: dict[str, frozenset[RowKey]] = field(default_factory=dict)
    deadlines: list[Deadline] = field(default_factory=list)
    model: str = "model-1"

    def reconcile(self, target: ItemRef, *, deadline: Deadline) -> Reconciled:
        self.deadlines.append(deadline)
        self.log.append(f"reconcile {target.owner}")
        self.rows[target.owner] = target.rows
        result = self.results.get(target.owner, Reconciled(put=1))
        if isinstance(result, AdminViewError):
            raise result
        return result


@dataclass
class FakeStreams:
    """A stream with some records, or one that fails."""

    records: list[Any] = field(default_factory=list)
    error: AdminViewError | None = None

    def read(self, range_: Any, *, deadline: Deadline) -> Iterator[Any]:  # noqa: ARG002 - the real one's
        yield from self.records
        if self.error:
            raise self.error


class Lab:
    """A replayer with its dependencies."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.sqs = FakeSqs(self.log)
        self.reconciler = FakeReconciler(self.log)
        self.streams = FakeStreams()
        self.retry_seconds = HIDDEN_SECONDS

    @property
    def replayer(self) -> Replayer:
        sqs = cast("Any", self.sqs)
        return Replayer(
            resolver=LetterResolver(ROUTES, cast("Any", self.streams)),
            reconciler=cast("Any", self.reconciler),
            consumer=DeadLetterConsumer(sqs, "queue", NO_WAIT),
            post=DeadLetterProducer(sqs, "queue", NO_WAIT),
            retry_seconds=self.retry_seconds,
            now=lambda: self.sqs.now,
        )

    def fail(self, id_: str, error: AdminViewError) -> None:
        """Make the reconcile of an item fail."""
        self.reconciler.results[f"Things/{id_}"] = error

    def replay(self, letter_filter: LetterFilter = ALL, **more: Any) -> Summary:
        soon = Deadline.after(60)
        return self.replayer.replay(letter_filter, **{"deadline": soon, "end": soon} | more)

    def letters(self) -> list[dict[str, Any]]:
        """Return what is in the queue now, invisible or not."""
        return [json.loads(body) for body in self.sqs.bodies.values()]
