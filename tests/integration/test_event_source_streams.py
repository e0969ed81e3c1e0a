"""The event source follows real streams: moto's, and those of DynamoDB Local."""

from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from adminview.local.engines import Engine
from adminview.local.event_source import EventSource, RetryDelay
from adminview.local.tables import create, source_table, view_table
from adminview.model import Source
from adminview.model.delivery import FOREVER, Delivery
from tests.support.model import registry

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

MAX_CONCURRENCY = Delivery(window_seconds=0, retries=1)
DIGITS = "1234567890123456789012345678901234567.8"


@dataclass
class Followed:
    """A table of its own for each test, and the batches that a handler received from its stream."""

    engine: Engine
    client: "DynamoDBClient"
    table: str
    stream_arn: str
    batches: list[list[dict[str, Any]]] = field(default_factory=list)
    letters: list[dict[str, Any]] = field(default_factory=list)

    def put(self, id_: str, **attributes: Any) -> None:
        """Write an item."""
        self.client.put_item(TableName=self.table, Item={"id": {"S": id_}, **attributes})

    def follow(
        self,
        answer: Callable[[list[str]], Any] = lambda _: None,
        delivery: Delivery = MAX_CONCURRENCY,
    ) -> EventSource:
        """Deliver the stream to a handler that returns *answer* of the sequence numbers."""

        def handler(event: dict[str, Any], _: object) -> Any:
            self.batches.append(event["Records"])
            return answer([record["dynamodb"]["SequenceNumber"] for record in event["Records"]])

        return EventSource(
            streams=self.engine.streams(),
            stream_arn=self.stream_arn,
            handler=handler,
            on_failure=self.letters.append,
            delivery=delivery,
            backoff=RetryDelay(first=0.01),
        )

    @property
    def ids(self) -> list[list[str]]:
        """The items of the batches that the handler received."""
        return [
            [record["dynamodb"]["Keys"]["id"]["S"] for record in batch] for batch in self.batches
        ]


@pytest.fixture
def followed(engine: Engine) -> Iterator[Followed]:
    """Create a table with a stream, and remove it afterwards."""
    client, table = engine.dynamodb(), f"Things-{uuid4().hex}"
    stream_arn = create(client, source_table(Source("Things", "id"), table))
    assert stream_arn
    yield Followed(engine, client, table, stream_arn)
    client.delete_table(TableName=table)


def test_insert_modify_and_remove_arrive_in_order_with_both_images(followed: Followed) -> None:
    followed.put("1", n={"N": "1"})
    followed.put("1", n={"N": "2"})
    followed.client.delete_item(TableName=followed.table, Key={"id": {"S": "1"}})

    assert followed.follow().drain() == 3

    [batch] = followed.batches
    one_, two = ({"id": {"S": "1"}, "n": {"N": number}} for number in ("1", "2"))
    assert [record["eventName"] for record in batch] == ["INSERT", "MODIFY", "REMOVE"]
    assert [record["dynamodb"].get("OldImage") for record in batch] == [None, one_, two]
    assert [record["dynamodb"].get("NewImage") for record in batch] == [one_, two, None]
    assert {record["eventSourceARN"] for record in batch} == {followed.stream_arn}
    assert {record["eventSource"] for record in batch} == {"aws:dynamodb"}


def test_bytes_sets_and_38_digits_survive(followed: Followed) -> None:
    raw = bytes(range(256))
    followed.put(
        "1",
        b={"B": raw},
        bs={"BS": [b"x", raw]},
        n={"N": DIGITS},
        ns={"NS": [DIGITS, "7"]},
        ss={"SS": ["ä", "b"]},
        deep={"M": {"l": {"L": [{"B": raw}, {"NULL": True}, {"BOOL": False}, {"M": {}}]}}},
    )

    followed.follow().drain()

    image = followed.batches[0][0]["dynamodb"]["NewImage"]
    text = b64encode(raw).decode()
    assert image["b"] == {"B": text}
    assert sorted(image["bs"]["BS"]) == sorted([b64encode(b"x").decode(), text])
    assert image["n"] == {"N": DIGITS}
    assert sorted(image["ns"]["NS"]) == sorted([DIGITS, "7"])
    assert sorted(image["ss"]["SS"]) == ["b", "ä"]
    assert image["deep"]["M"]["l"]["L"] == [{"B": text}, {"NULL": True}, {"BOOL": False}, {"M": {}}]


def test_a_partial_failure_brings_the_rest_again(followed: Followed) -> None:
    for id_ in "abcd":
        followed.put(id_)
    reports = iter([2, 1])

    def answer(numbers: list[str]) -> dict[str, Any]:
        position = next(reports, None)
        return {"batchItemFailures": [{"itemIdentifier": numbers[position]}] if position else []}

    assert followed.follow(answer).drain() == 4
    assert followed.ids == [list("abcd"), list("cd"), list("d")]
    assert followed.letters == []


def test_a_poison_record_ends_in_a_dead_letter_that_finds_it_in_the_stream(
    followed: Followed,
) -> None:
    for id_ in "abcd":
        followed.put(id_)

    def answer(_: list[str]) -> None:
        if "c" in followed.ids[-1]:
            raise ValueError

    assert followed.follow(answer).drain() == 4

    [letter] = followed.letters
    info = letter["DDBStreamBatchInfo"]
    streams = followed.engine.streams()
    iterator = streams.get_shard_iterator(
        StreamArn=info["streamArn"],
        ShardId=info["shardId"],
        ShardIteratorType="AT_SEQUENCE_NUMBER",
        SequenceNumber=info["startSequenceNumber"],
    )["ShardIterator"]
    record = streams.get_records(ShardIterator=iterator, Limit=1)["Records"][0]
    assert record["dynamodb"]["Keys"] == {"id": {"S": "c"}}
    assert followed.ids[-1] == ["d"]


def test_later_changes_are_followed_from_where_reading_ended(followed: Followed) -> None:
    source = followed.follow(delivery=Delivery(window_seconds=0, batch_size=2))
    for id_ in "abc":
        followed.put(id_)
    source.drain()
    followed.put("d")

    assert source.drain() == 1
    assert followed.ids == [["a", "b"], ["c"], ["d"]]


def test_records_of_real_streams_have_an_age(followed: Followed) -> None:
    followed.put("a")
    source = followed.follow(delivery=Delivery(window_seconds=0, max_age_seconds=3600))
    source.drain()
    followed.put("b")
    real = source.clock
    source = followed.follow(delivery=source.delivery)
    source.clock = lambda: real() + 7200

    source.drain()

    assert followed.ids == [["a"]]
    assert followed.letters[0]["requestContext"]["condition"] == "RecordAgeExceeded"
    assert followed.letters[0]["DDBStreamBatchInfo"]["batchSize"] == 2


def test_running_in_a_thread_follows_until_stopped(followed: Followed) -> None:
    seen, stop = Event(), Event()
    source = followed.follow(lambda _: seen.set(), Delivery(window_seconds=0, retries=FOREVER))
    thread = Thread(target=source.run, args=(stop,), kwargs={"pause": 0.01})
    thread.start()
    try:
        followed.put("a")
        assert seen.wait(20)
    finally:
        stop.set()
        thread.join(20)

    assert not thread.is_alive()
    assert followed.ids == [["a"]]


def test_the_declared_view_table_is_made_with_all_its_indexes(engine: Engine) -> None:
    client, name = engine.dynamodb(), f"AdminViewTable-{uuid4().hex}"

    stream_arn = create(client, view_table(registry(), name))

    table = client.describe_table(TableName=name)["Table"]
    client.delete_table(TableName=name)
    indexes = {
        index["IndexName"]: [key["AttributeName"] for key in index["KeySchema"]]
        for index in table["GlobalSecondaryIndexes"]
    }
    assert stream_arn is None
    assert table["TableStatus"] == "ACTIVE"
    assert indexes == {
        index.name: [attribute.name for attribute in index.key] for index in registry().indexes
    }
