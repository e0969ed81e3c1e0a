"""The rules of the deployed mappings when something fails, with the deployed function.

The local cloud's own mapping does not support partial batches, bisecting, retries and dead letters.
So it is disabled, and our event-source emulator delivers the real stream to the deployed function,
by the rules of the deployed mapping and with the permissions of the function's role.
`adminview.local.event_source` lists the differences from Lambda. Tests advance its clock.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from adminview.aws.settings import VIEW_TABLE
from adminview.local.event_source import RetryDelay, UnsettledRecordsError
from adminview.model.delivery import FIRST_TRY_SECONDS, Delivery
from adminview.model.row import key_of
from tests.support.e2e.closed import Closed
from tests.support.e2e.grants import losses
from tests.support.e2e.role_scenarios import POISON, Lab
from tests.support.model import order

HOUR = 3600.0
FIRST, SECOND, THIRD = (order(SK=f"2025-03-0{day}#{day}", OrderId=str(day)) for day in (1, 2, 3))


@dataclass
class Courier:
    """The emulator on the stream of the orders, and what it got from the deployed function."""

    lab: Lab
    calls: list[tuple[list[str], Any]] = field(default_factory=list)  # sequence numbers, answer

    def __post_init__(self) -> None:
        """Follow the stream from here on: what was in it before is delivered now."""
        closed = self.lab.closed
        self.source = closed.event_source(
            "Orders",
            closed.rules("Orders"),
            handler=self._handle,
            backoff=RetryDelay(4 * HOUR, 12 * HOUR),
        )
        self.source.drain()
        self.calls.clear()
        self.lab.empty()
        self.source.drain()
        self.calls.clear()
        self.lab.empty()

    def _handle(self, event: dict[str, Any], _: Any) -> Any:
        sequences = [record["dynamodb"]["SequenceNumber"] for record in event["Records"]]
        try:
            answer = self.lab.closed.invoke("Sync", event)
        except Exception as error:
            self.calls.append((sequences, error))
            raise
        self.calls.append((sequences, answer))
        return answer

    def put(self, *items: dict[str, Any]) -> None:
        """Write orders one after the other."""
        for item in items:
            self.lab.put("Orders", item)

    @property
    def letters(self) -> list[Any]:
        """Read the dead letters in the deployed queue, and leave them there."""
        response = self.lab.sqs.receive_message(
            QueueUrl=self.lab.closed.queue, MaxNumberOfMessages=10, VisibilityTimeout=0
        )
        return [json.loads(message["Body"]) for message in response.get("Messages", [])]

    def expect_rows_of(self, *items: dict[str, Any]) -> None:
        """See that the view holds the rows of some orders, as they are now, and no other."""
        wanted = {
            key: row for item in items for key, row in self.lab.rows_of("Orders", item).items()
        }
        stored = {key_of(row): row for row in self.lab.scan("AdminViewTable")}
        assert stored.keys() == wanted.keys()
        for key, row in wanted.items():
            theirs = {name: value for name, value in row.items() if not name.startswith("_")}
            assert theirs.items() <= stored[key].items()


@pytest.fixture
def courier(closed: Closed) -> Iterator[Courier]:
    """Give the sync its rights, and let dead letters be seen without a delay."""
    lab = Lab(closed)
    queue = {"QueueUrl": closed.queue}
    delay = lab.sqs.get_queue_attributes(**queue, AttributeNames=["DelaySeconds"])["Attributes"]
    assert delay == {"DelaySeconds": str(FIRST_TRY_SECONDS)}
    lab.sqs.set_queue_attributes(**queue, Attributes={"DelaySeconds": "0"})
    try:
        with closed.only("Sync"):
            yield Courier(lab)
    finally:
        lab.sqs.set_queue_attributes(**queue, Attributes=delay)
        lab.empty()


@contextmanager
def without(closed: Closed, action: str) -> Iterator[None]:
    """Take a right from the sync, for a while."""
    role = closed.functions["Sync"].role
    (loss,) = [loss for loss in losses(role.deployed) if loss.what == action]
    role.let(loss.left)
    try:
        yield
    finally:
        role.let(role.deployed)


def test_the_deployed_mappings_have_the_rules_that_are_declared(closed: Closed) -> None:
    queue = closed.client("sqs").get_queue_attributes(
        QueueUrl=closed.queue, AttributeNames=["QueueArn"]
    )
    for source in closed.mappings:
        mapping = closed.mapping(source)
        assert closed.rules(source) == Delivery()
        assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
        assert mapping["StartingPosition"] == "TRIM_HORIZON"
        assert mapping["DestinationConfig"] == {
            "OnFailure": {"Destination": queue["Attributes"]["QueueArn"]}
        }


def test_a_poison_record_is_dead_lettered_and_its_neighbours_are_written(courier: Courier) -> None:
    courier.put(FIRST, POISON, SECOND)

    courier.source.drain()

    sequences = courier.calls[0][0]
    assert courier.calls == [(sequences, {"batchItemFailures": []})]
    courier.expect_rows_of(FIRST, SECOND)
    (letter,) = courier.letters
    assert (letter["source"], letter["sequence"]) == ("Orders", sequences[1])
    assert letter["error"]["kind"] == "MissingAttributeError"


def test_what_cannot_be_written_now_is_delivered_again_until_it_is(courier: Courier) -> None:
    paid = {**FIRST, "Status": "PAID"}
    courier.put(FIRST, SECOND, paid, THIRD)

    with without(courier.lab.closed, "dynamodb:BatchWriteItem"):
        with pytest.raises(UnsettledRecordsError):
            courier.source.drain(attempts=3)
        assert courier.lab.rows == set()
    sequences = courier.calls[0][0]
    again = {"batchItemFailures": [{"itemIdentifier": sequences[0]}]}
    assert len(courier.calls) > 1
    assert all(call == (sequences, again) for call in courier.calls)
    courier.calls.clear()

    courier.source.drain()

    assert courier.calls == [(sequences, {"batchItemFailures": []})]
    courier.expect_rows_of(paid, SECOND, THIRD)
    assert courier.letters == []


def test_a_record_stays_in_the_stream_while_the_queue_refuses_its_dead_letter(
    courier: Courier,
) -> None:
    courier.put(FIRST, POISON, SECOND)

    with without(courier.lab.closed, "sqs:SendMessage"), pytest.raises(UnsettledRecordsError):
        courier.source.drain(attempts=2)
    sequences, answer = courier.calls[0]
    assert answer == {"batchItemFailures": [{"itemIdentifier": sequences[1]}]}
    assert {tuple(called) for called, _ in courier.calls[1:]} == {tuple(sequences[1:])}

    courier.source.drain()

    courier.expect_rows_of(FIRST, SECOND)
    (letter,) = courier.letters
    assert letter["sequence"] == sequences[1]


def test_records_that_fail_for_a_day_become_dead_letters_that_the_replay_resolves(
    courier: Courier,
) -> None:
    closed = courier.lab.closed
    variables = closed.environment_of("Sync")
    courier.put(FIRST, SECOND, THIRD)

    closed.renew("Sync", {name: value for name, value in variables.items() if name != VIEW_TABLE})
    try:
        courier.source.drain()
    finally:
        closed.renew("Sync", variables)

    sequences = courier.calls[0][0]
    assert all(VIEW_TABLE in str(error) for _, error in courier.calls)
    # Halved once and tried for a day; by then the other half is too old to be tried at all.
    assert [called for called, _ in courier.calls[1:]] == [sequences[:1]] * 2
    about = [batch["DDBStreamBatchInfo"] for batch in courier.letters]
    assert sorted(
        (batch["startSequenceNumber"], batch["endSequenceNumber"]) for batch in about
    ) == [
        (sequences[0], sequences[0]),
        (sequences[1], sequences[2]),
    ]
    assert {batch["streamArn"] for batch in about} == {closed.stream_of("Orders")}
    contexts = [letter["requestContext"] for letter in courier.letters]
    assert {context["condition"] for context in contexts} == {"RecordAgeExceeded"}
    assert courier.lab.rows == set()

    with closed.only("Replay"):
        answer = closed.invoke("Replay", {})

    assert answer["items"] == 3
    courier.expect_rows_of(FIRST, SECOND, THIRD)
    assert courier.letters == []
