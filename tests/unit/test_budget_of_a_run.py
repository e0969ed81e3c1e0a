"""All invocations of a run share its budget, concurrent and successive ones."""

import json
from dataclasses import dataclass, field, replace
from typing import Any
from unittest.mock import Mock

import pytest

from adminview.aws.deadline import Deadline
from adminview.aws.metered_client import Metered
from adminview.aws.rate_limit import RateLimiter
from adminview.bulk.runs import Bulk
from adminview.bulk.segment import Segment
from adminview.bulk.worker import PAGE_RESERVE, SegmentWorker
from adminview.handlers.bulk import RESERVE, BulkDependencies, run_step
from tests.support.bulk_tables import RUN, KilledError, World, never
from tests.support.fakes import Context

SEGMENT = Segment(RUN, 0, 1)
NO_TIME = RESERVE + PAGE_RESERVE - 1


class Observer:
    """Accepts every report and drops it."""

    def invoked(self, request_id: str) -> None:
        """Record an invocation."""

    def worked(self, segment: Any) -> None:
        """Record a segment."""


class SleepyBulk(Bulk):
    """Bulk work whose pauses pass on the clock of the world."""

    def worker(self, run: str) -> SegmentWorker:
        """Make a worker that sleeps there."""
        return replace(Bulk.worker(self, run), clock=self.now, sleep=self.backoff.sleep)


@dataclass
class Function:
    """The function, each invocation of which makes its own budgets."""

    world: World
    spent: float = 0.0
    began: float = field(init=False)

    def __post_init__(self) -> None:
        self.began = self.world.now
        written = self.world.db.batch_write_item

        def write(**request: Any) -> Any:
            answered = written(**request)
            self.spent += answered["ConsumedCapacity"]["CapacityUnits"]
            return answered

        self.world.db.batch_write_item = write  # type: ignore[method-assign,assignment]

    def __call__(self, seconds: float = 900, **event: Any) -> Any:
        observer: Any = Observer()
        context = Context(int(seconds * 1000))
        request = json.loads(json.dumps(event))
        return run_step(
            request, context, BulkDependencies(self._make, lambda *_: None, observer, Mock())
        )

    @property
    def allowed(self) -> float:
        """Seconds of the budget that have passed."""
        return self.world.now - self.began

    def _make(self, reads: RateLimiter, writes: RateLimiter) -> Bulk:
        bulk = self.world.bulk
        client: Any = self.world.db
        budgets = [
            RateLimiter(limiter.per_second, lambda: self.world.now) for limiter in (reads, writes)
        ]
        return SleepyBulk(
            registry=bulk.registry,
            settings=bulk.settings,
            client=Metered(client, *budgets),
            progress=bulk.progress,
            post=bulk.post,
            backoff=replace(bulk.backoff, sleep=self.world.sleep),
            now=lambda: self.world.now,
        )


def make_world(items: int) -> World:
    world = World()
    for number in range(items):
        world.put(f"t{number}", x="1")
    return world


def test_many_short_segments_take_no_more_together_than_the_budget_of_the_run() -> None:
    function = Function(make_world(300))
    begun = function(step="begin", sources=["Things"], segments=60, concurrency=1, max_wcu=10)
    for segment in begun["segments"]:
        assert function(**segment)["done"]
        assert function.spent <= 10 * function.allowed + 1e-6
    assert function.spent == 300


def test_an_invocation_that_leaves_in_debt_leaves_the_debt_to_the_next() -> None:
    world = make_world(100)
    function = Function(world)
    (segment,) = function(step="begin", sources=["Things"], segments=1, max_wcu=0.5)["segments"]
    world.writes = RateLimiter(0.5, lambda: world.now)
    in_a_minute = Deadline.after(60, lambda: world.now)
    assert not world.worker().work(SEGMENT, end=in_a_minute).done
    assert world.records()[0].paid_at > world.now
    while not function(**segment)["done"]:
        pass
    assert function.spent <= 0.5 * function.allowed + 1e-6


def test_a_segment_whose_work_is_not_paid_yet_is_called_again_before_the_next_begins() -> None:
    world = World()
    world.put("large", **{f"part{number}": "1" for number in range(30)})
    function = Function(world)
    (segment,) = function(step="begin", sources=["Things"], segments=1, max_wcu=0.5)["segments"]
    world.writes = RateLimiter(0.5, lambda: world.now)
    too_short = Deadline.after(70, lambda: world.now)
    assert world.worker().work(SEGMENT, end=too_short).done
    assert function.spent > 0.5 * function.allowed
    assert not function(NO_TIME, **segment)["done"]
    assert world.bulk.built(deadline=never()) == {}
    assert function(**segment)["done"]
    assert function.spent <= 0.5 * function.allowed + 1e-6
    function(step="finish", runs=[RUN])
    assert RUN in world.bulk.built(deadline=never())


def test_the_page_in_progress_is_recovered_only_when_no_debt_is_left() -> None:
    world = make_world(3)
    world.db.on(after=lambda name, _: die() if name == "batch_write_item" else None)
    with pytest.raises(KilledError):
        world.work()
    world.db.on()
    world.later()
    world.writes = RateLimiter(1, lambda: world.now)
    world.writes.spend(100)
    began = world.now
    first: list[float] = []
    world.db.on(before=lambda _, table: first.append(world.now) if table == "Things" else None)
    world.work()
    assert first[0] >= began + 100


def die() -> None:
    raise KilledError
