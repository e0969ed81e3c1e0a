"""Bulk work as the state machine runs it: all segments concurrently, each until it is done."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from adminview.aws.deadline import Deadline
from adminview.bulk.runs import Bulk
from adminview.bulk.segment import Segment
from adminview.model.errors import BulkError, SegmentTakenError, ServiceError
from tests.simulator.broken import SurpriseError
from tests.simulator.calls import LEASED
from tests.simulator.deployment import Deployment, make_bulk
from tests.simulator.faults import Fault
from tests.simulator.fibers import MAX_CONCURRENCY, NEVER, Killed
from tests.simulator.simulation import World

SECONDS = (200.0, 90.0, 800.0)  # time limits of an invocation, one of
RESERVE = 10.0
RETRY_SECONDS = 2.0
TWIN_LATER = (0.0, 20.0, 100.0)


class Run:
    """A run of one deployment's code; it ends early when another model is deployed."""

    def __init__(self, world: World, live: Deployment, run: str) -> None:
        self._world = world
        self._live = live
        self._run = run

    def carry_out(self) -> None:
        """Begin the run, work on its segments, and wait for all of them."""
        segments: Sequence[Segment] | None = None
        while segments is None and not self._over:
            segments = self._invoke(self._begin)
        working = []
        for segment in segments or ():
            working.append(self._spawn(segment, 0.0))
            if self._world.choices.happens(self._world.profile.twin_percent):
                working.append(self._spawn(segment, self._world.choices.pick(TWIN_LATER)))
        self._world.fibers.wait(
            lambda: MAX_CONCURRENCY if all(worker.over for worker in working) else NEVER
        )
        while not self._over and not self._invoke(self._finish):
            pass

    @property
    def _over(self) -> bool:
        return self._world.live is not self._live

    def _spawn(self, segment: Segment, after: float) -> Any:
        name = f"{LEASED} {segment.run} {segment.number}"
        return self._world.fibers.spawn(name, partial(self._insist, segment, after))

    def _insist(self, segment: Segment, after: float) -> None:
        """Invoke workers until the segment is done."""
        self._world.fibers.sleep(after)
        while not self._over and not self._invoke(partial(self._work, segment)):
            pass

    def _begin(self, bulk: Bulk, end: Deadline) -> list[Segment]:
        return bulk.begin(self._run, self._world.profile.segments, deadline=end)

    def _work(self, segment: Segment, bulk: Bulk, end: Deadline) -> bool:
        return bulk.worker(self._run).work(segment, end=end).done

    def _finish(self, bulk: Bulk, end: Deadline) -> bool:
        bulk.finish(self._run, deadline=end)
        return True

    def _invoke(self, step: Callable[[Bulk, Deadline], Any]) -> Any:
        """Invoke the function, which can be killed; return None if it must be invoked again."""
        world, fibers = self._world, self._world.fibers
        end = Deadline(fibers.now + world.choices.pick(SECONDS), fibers.clock)
        bulk = make_bulk(world, self._live)
        try:
            with fibers.invocation(end.at + RESERVE, bulk.progress.holder):
                return step(bulk, end)
        except SegmentTakenError as error:
            world.calls.log_event("finds the segment held by another worker")
            world.faults.came[Fault.TAKEN] += 1
            fibers.sleep(error.seconds + RETRY_SECONDS)
        except (Killed, ServiceError) as error:
            world.calls.log_event(f"ends: {type(error).__name__}")
            world.faults.came[Fault.RESUMED] += 1
            fibers.sleep(RETRY_SECONDS)
        except BulkError:
            world.calls.log_event("ends: another run was begun")
            return True
        except Exception as error:
            raise SurpriseError from error
        return None
