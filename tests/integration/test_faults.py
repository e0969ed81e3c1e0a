"""Real engines with injected faults: the laws hold afterwards."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest
from botocore.exceptions import ConnectionClosedError, EndpointConnectionError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adminview.aws.batch_writers import Boto3BatchWriter
from adminview.aws.retry import Backoff
from adminview.aws.view_table import ViewTable
from adminview.local.event_source import UnsettledRecordsError
from adminview.local.local_cloud import LocalCloud
from adminview.model import Item, RawValue, Registry, Row, Source, view
from tests.support.fakes import TABLE, refusal

things = Source("Things", partition_key="id")


@view(things)
def parts(item: Item) -> Iterator[Row]:
    """Derive a row per part; one kind of part is refused by the engine itself."""
    for name, value in item["parts"].items():
        data = (
            {"value": RawValue({"N": "not a number"})} if value == "refused" else {"value": value}
        )
        yield Row(f"THING#{item['id']}", name, data=data)


def make_model() -> Registry:
    module = ModuleType("things")
    module.__dict__.update(things=things, parts=parts)
    return replace(Registry.of([module]), modules=())


class Failing:
    """The engine's client, with a fault in front of each call of BatchWriteItem for a while."""

    def __init__(self, client: Any, faults: list[Callable[[Any, Any], Any]]) -> None:
        self.client = client
        self.faults = faults
        self.calls = 0

    def batch_write_item(self, RequestItems: Any) -> Any:  # noqa: N803 - boto3's
        self.calls += 1
        fault = self.faults.pop(0) if self.faults else healthy
        return fault(self.client, RequestItems)


def healthy(client: Any, items: Any) -> Any:
    return client.batch_write_item(RequestItems=items)


def unprocessed(client: Any, items: Any) -> Any:
    """Take the first request alone."""
    first, *rest = items[TABLE]
    client.batch_write_item(RequestItems={TABLE: [first]})
    return {"UnprocessedItems": {TABLE: rest} if rest else {}}


def throttled(_: Any, __: Any) -> Any:
    raise refusal("ProvisionedThroughputExceededException")


def dead_before(_: Any, __: Any) -> Any:
    raise EndpointConnectionError(endpoint_url="http://127.0.0.1")


def dead_after(client: Any, items: Any) -> Any:
    """Write, and lose the connection before the answer."""
    client.batch_write_item(RequestItems=items)
    raise ConnectionClosedError(endpoint_url="http://127.0.0.1")


def dead_midway(client: Any, items: Any) -> Any:
    """Write half, and lose the connection."""
    half = items[TABLE][: len(items[TABLE]) // 2]
    if half:
        client.batch_write_item(RequestItems={TABLE: half})
    raise ConnectionClosedError(endpoint_url="http://127.0.0.1")


def forbidden(_: Any, __: Any) -> Any:
    raise refusal("AccessDeniedException")


FAULTS = [healthy, unprocessed, throttled, dead_before, dead_after, dead_midway, forbidden]


@pytest.fixture
def cloud(start: Callable[[Registry], LocalCloud]) -> LocalCloud:
    """Start a model of things and their parts."""
    return start(make_model())


def fail(cloud: LocalCloud, *faults: Callable[[Any, Any], Any]) -> Failing:
    """Put faults between the sync and the engine."""
    failing = Failing(cloud.clients.dynamodb, list(faults))
    quick = Backoff(sleep=lambda _: None)
    writer = Boto3BatchWriter(failing)  # type: ignore[arg-type]  # a stand-in
    cloud.runtime = replace(cloud.runtime, view=ViewTable(writer, TABLE, quick))
    return failing


def put(cloud: LocalCloud, id_: str, **contents: str) -> None:
    cloud.put("Things", {"id": id_, "parts": contents})


def view_of(cloud: LocalCloud) -> dict[tuple[str, str], str]:
    return {
        (row["PK"]["S"].removeprefix("THING#"), row["SK"]["S"]): row["data"]["M"]["value"]["S"]
        for row in cloud.rows()
    }


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_that_passes_leaves_no_trace(cloud: LocalCloud, fault: Any) -> None:
    failing = fail(cloud, fault, fault)
    for number in range(30):
        put(cloud, f"t{number}", A="1", B="2")
    put(cloud, "t0", A="3")
    cloud.delete("Things", {"id": "t1"})
    cloud.settle()
    expected = {(f"t{n}", part): v for n in range(2, 30) for part, v in (("A", "1"), ("B", "2"))}
    assert view_of(cloud) == expected | {("t0", "A"): "3"}
    assert cloud.letters() == []
    assert failing.calls >= 3


def test_a_row_the_engine_refuses_is_dead_lettered_and_the_others_are_written(
    cloud: LocalCloud, engine: Any
) -> None:
    if engine.name == "moto":  # it takes any text for a number
        bad = ("THING#t5", "B")

        def refuse(client: Any, items: Any) -> Any:
            keys = [
                (put["PutRequest"]["Item"]["PK"]["S"], put["PutRequest"]["Item"]["SK"]["S"])
                for put in items[TABLE]
            ]
            if bad in keys:
                raise refusal("ValidationException")
            return healthy(client, items)

        fail(cloud, *[refuse] * 50)
    for number in range(20):
        put(cloud, f"t{number}", A="1", B="refused" if number == 5 else "2")
    cloud.settle()
    assert len(cloud.rows()) == 39
    (letter,) = cloud.letters()
    assert letter["error"]["kind"] == "RefusedRowError"
    assert letter["key"] == {"id": {"S": "t5"}}
    assert ["THING#t5", "B"] in letter["rows"]


def test_a_record_waits_in_the_stream_while_the_queue_refuses_its_dead_letter(
    cloud: LocalCloud,
) -> None:
    put(cloud, "fine", A="1")
    cloud.put("Things", {"id": "poison"})
    put(cloud, "later", A="1")
    sqs, url = cloud.clients.sqs, cloud.queue_url
    sqs.delete_queue(QueueUrl=url)
    source = cloud.sources[0]
    with pytest.raises(UnsettledRecordsError):
        source.drain(attempts=2)
    assert view_of(cloud) == {("fine", "A"): "1", ("later", "A"): "1"}
    sqs.create_queue(QueueName=url.rpartition("/")[2])
    source.drain()
    assert [letter["owner"] for letter in cloud.letters()] == ["Things/poison"]


def test_a_function_out_of_time_writes_nothing_and_loses_nothing(cloud: LocalCloud) -> None:
    put(cloud, "t", A="1")
    source = cloud.sources[0]
    source.timeout_seconds = 1
    with pytest.raises(UnsettledRecordsError):
        source.drain(attempts=2)
    assert view_of(cloud) == {}
    source = cloud.follow(source.stream_arn, source.delivery)
    source.drain()
    assert view_of(cloud) == {("t", "A"): "1"}


def test_a_function_that_crashes_is_given_its_records_again(cloud: LocalCloud) -> None:
    def crash(_: Any, __: Any) -> Any:
        raise MemoryError

    fail(cloud, dead_midway, crash)
    for number in range(10):
        put(cloud, f"t{number}", A="1")
    cloud.settle()
    assert view_of(cloud) == {(f"t{n}", "A"): "1" for n in range(10)}


steps = st.lists(
    st.tuples(
        st.sampled_from("xyz"),
        st.none() | st.dictionaries(st.sampled_from("ABC"), st.sampled_from("12")),
    ),
    max_size=8,
)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=steps, faults=st.lists(st.sampled_from(FAULTS), max_size=6))
def test_any_history_with_any_faults_converges_on_a_real_engine(
    cloud: LocalCloud, steps: list[tuple[str, dict[str, str] | None]], faults: list[Any]
) -> None:
    """Histories follow one another on the same tables, so each starts from the last one's end."""
    fail(cloud, *faults)
    for id_, state in steps:
        if state is None:
            cloud.delete("Things", {"id": id_})
        else:
            put(cloud, id_, **state)
    cloud.settle()
    pages = cloud.clients.dynamodb.scan(TableName="Things")
    assert view_of(cloud) == {
        (item["id"]["S"], name): value["S"]
        for item in pages["Items"]
        for name, value in item["parts"]["M"].items()
    }
