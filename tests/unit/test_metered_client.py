"""A client with a budget: consumed units are spent, and a throttled table is not called."""

from contextlib import suppress
from threading import Event, Lock
from time import sleep
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from botocore.exceptions import ClientError
from hypothesis import given
from hypothesis import strategies as st

from adminview.aws.metered_client import REFUSED, Metered
from adminview.aws.rate_limit import LONGEST_PAUSE, PageSizer, RateLimiter
from adminview.cli.bulk.segment_pool import SegmentPool
from tests.support.bulk_tables import World, never
from tests.support.fakes import refusal


class Client:
    """Returns scripted responses, and records its calls."""

    exceptions = "its own"

    def __init__(self, answer: Any = None) -> None:
        self.answer = answer if answer is not None else {}
        self.requests: list[tuple[str, dict[str, Any]]] = []

    def __getattr__(self, name: str) -> Any:
        def call(**arguments: Any) -> Any:
            self.requests.append((name, arguments))
            if isinstance(self.answer, Exception):
                raise self.answer
            return self.answer

        return call


class Clock:
    """Stands still unless moved."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def metered(client: Client, clock: Clock | None = None, rate: float | None = 10) -> Metered:
    clock = clock or Clock()
    untyped: Any = client
    return Metered(untyped, RateLimiter(rate, clock), RateLimiter(rate, clock))


ONE, MANY = {"CapacityUnits": 20.0}, [{"CapacityUnits": 5.0}, {"CapacityUnits": 15.0}]


@pytest.mark.parametrize("consumed", [ONE, MANY])
@pytest.mark.parametrize("call", ["scan", "query", "get_item", "batch_get_item"])
def test_what_a_read_took_is_spent_from_the_budget_of_reads(call: str, consumed: Any) -> None:
    client = metered(Client({"ConsumedCapacity": consumed}))
    getattr(client, call)(TableName="T")
    assert (client.reads.wait_seconds, client.writes.wait_seconds, client.wait_seconds) == (
        2.0,
        0.0,
        2.0,
    )


@pytest.mark.parametrize("consumed", [ONE, MANY])
@pytest.mark.parametrize("call", ["batch_write_item", "delete_item", "put_item", "update_item"])
def test_what_a_write_took_is_spent_from_the_budget_of_writes(call: str, consumed: Any) -> None:
    client = metered(Client({"ConsumedCapacity": consumed}))
    getattr(client, call)(TableName="T")
    assert (client.reads.wait_seconds, client.writes.wait_seconds, client.wait_seconds) == (
        0.0,
        2.0,
        2.0,
    )


def test_every_call_requests_its_consumed_capacity_and_free_calls_are_passed_on() -> None:
    client = Client()
    metered(client).put_item(TableName="T")
    metered(client).scan(TableName="T", ReturnConsumedCapacity="INDEXES")
    metered(client).describe_table(TableName="T")
    assert client.requests == [
        ("put_item", {"TableName": "T", "ReturnConsumedCapacity": "TOTAL"}),
        ("scan", {"TableName": "T", "ReturnConsumedCapacity": "INDEXES"}),
        ("describe_table", {"TableName": "T"}),
    ]
    its_own: Any = metered(client).exceptions
    assert its_own == "its own"


def test_without_a_rate_nobody_waits_but_for_a_table_that_throttles() -> None:
    client = Client({"ConsumedCapacity": {"CapacityUnits": 1e9}})
    metered_client = metered(client, rate=None)
    metered_client.scan()
    assert metered_client.wait_seconds == 0.0
    client.answer = refusal("ThrottlingException")
    with pytest.raises(ClientError):
        metered_client.scan()
    assert metered_client.wait_seconds == 1.0


@pytest.mark.parametrize(
    ("call", "answer"),
    [
        ("put_item", refusal("ProvisionedThroughputExceededException")),
        ("scan", refusal("ThrottlingException")),
        ("batch_write_item", {"UnprocessedItems": {"T": [{}]}}),
        ("batch_get_item", {"UnprocessedKeys": {"T": {"Keys": [{}]}}}),
    ],
)
def test_a_table_that_throttles_is_left_alone_for_longer_each_time(call: str, answer: Any) -> None:
    clock = Clock()
    client = Client(answer)
    metered_client = metered(client, clock)

    def throttle() -> float:
        with suppress(ClientError):
            getattr(metered_client, call)()
        return metered_client.wait_seconds

    for seconds in (1, 2, 4, 8, 16, LONGEST_PAUSE, LONGEST_PAUSE):
        assert throttle() == seconds
        assert throttle() == seconds, "a call that was under way says nothing new"
        clock.now += seconds
        assert metered_client.wait_seconds == 0.0
    clock.now += LONGEST_PAUSE
    assert throttle() == 1.0, "after a good while it begins again"


@pytest.mark.parametrize("answer", [{}, {"UnprocessedItems": {}}, {"UnprocessedKeys": {}}])
def test_an_answer_that_leaves_nothing_closes_nothing(answer: Any) -> None:
    metered_client = metered(Client(answer))
    metered_client.batch_write_item()
    metered_client.batch_get_item()
    assert metered_client.wait_seconds == 0.0


def test_an_error_that_is_no_throttling_closes_nothing() -> None:
    metered_client = metered(Client(refusal("ValidationException")))
    with pytest.raises(ClientError):
        metered_client.put_item()
    assert metered_client.wait_seconds == 0.0


@given(
    rate=st.floats(0.5, 200),
    costs=st.lists(st.tuples(st.floats(0, 50), st.floats(0, 3)), min_size=1, max_size=60),
)
def test_in_no_period_is_more_spent_than_the_rate_times_its_seconds_and_one_call(
    rate: float, costs: list[tuple[float, float]]
) -> None:
    clock = Clock()
    budget = RateLimiter(rate, clock)
    spent: list[tuple[float, float]] = []
    for units, idle in costs:
        clock.now += idle
        while (rest := budget.wait_seconds) > 0:
            clock.now += max(rest, 1e-6)
        budget.spend(units)
        spent.append((clock.now, units))
    dearest = max(units for _, units in spent)
    for first in range(len(spent)):
        total = 0.0
        for at, units in spent[first:]:
            total += units
            seconds = at - spent[first][0]
            assert total <= rate * (seconds + 1) + dearest + 1e-3 * rate


def test_workers_that_share_a_budget_keep_it_together() -> None:
    """Each overdraws it by a page at most; then all wait until that is paid back."""
    world = World(most=50)
    for number in range(400):
        world.put(f"t{number}", x="1")
    world.writes = RateLimiter(10, lambda: world.now)
    began, spent = world.now, 0.0
    written = world.db.batch_write_item

    def write(**request: Any) -> Any:
        nonlocal spent
        answer = written(**request)
        spent += answer["ConsumedCapacity"]["CapacityUnits"]
        return answer

    world.db.batch_write_item = write  # type: ignore[method-assign,assignment]
    for segment in world.bulk.begin("backfill/Things", 4, deadline=never()):
        world.worker().work(segment, end=never())
        assert spent <= 10 * (world.now - began + 1) + 25
    assert spent == 400
    assert world.now - began >= 400 / 10 - 4


def test_threads_turn_their_pages_one_by_one_while_the_budget_is_tight() -> None:
    """Many at once would spend what is theirs many times over, before anybody knows."""
    world = World()
    for number in range(40):
        world.put(f"t{number}", x="1", y="1", z="1")
    world.writes = RateLimiter(5, lambda: world.now)
    written, writing, seen = world.db.batch_write_item, Lock(), 0

    def write(**request: Any) -> Any:
        nonlocal seen
        alone = writing.acquire(blocking=False)
        sleep(0.02)  # for the others to come in
        seen += 1
        assert alone
        writing.release()
        return written(**request)

    world.db.batch_write_item = write  # type: ignore[method-assign,assignment]
    stop: Any = SimpleNamespace(event=Event(), sleep=world.sleep, end=never())
    assert SegmentPool(world.bulk, "backfill/Things", stop, 0).work(16).finished
    assert seen >= 16


def test_the_pace_is_one_page_at_a_time_until_full_ones_owe_little() -> None:
    pace = PageSizer(10)
    assert [pace.begin(20), pace.begin(20)] == [10, 0]
    pace.end(20, 10, 0.0)
    assert pace.begin(20) == 20
    pace.end(20, 5, 0.0)
    assert [pace.begin(20), pace.begin(20)] == [20, 0], "a page that was not full shows little"
    pace.end(20, 20, 0.1)
    assert [pace.begin(20), pace.begin(20), pace.begin(20)] == [20, 20, 0]
    pace.end(20, 20, 5.0)
    pace.end(20, 20, 5.0)
    assert [pace.begin(20), pace.begin(20)] == [20, 0], "what is owed together is halved once"
    pace.end(20, 20, 0.5)
    assert [pace.begin(20), pace.begin(20)] == [20, 0]
    assert PageSizer(0.5).begin(20) == 1
    assert PageSizer(1e9).begin(250) == 25


def test_a_condition_that_fails_is_billed_too() -> None:
    writes = RateLimiter(1.0, clock=lambda: 0.0)
    client: Any = SimpleNamespace(put_item=Mock(side_effect=refusal(REFUSED, "PutItem")))
    metered: Any = Metered(client, RateLimiter(), writes)
    for _ in range(3):
        with pytest.raises(ClientError):
            metered.put_item(TableName="x")
    assert writes.wait_seconds == 3
