"""Bulk runs that a test lets go on segment by segment."""

from collections.abc import Iterator
from dataclasses import dataclass

from adminview.aws.deadline import Deadline
from adminview.aws.metered_client import Metered
from adminview.aws.rate_limit import RateLimiter
from adminview.bulk.runs import Bulk, make_bulk
from adminview.bulk.verify.phases import phase_of
from adminview.bulk.verify.scope import Scope
from adminview.local.local_cloud import LocalCloud

SECONDS = 60.0


def bulk_of(cloud: LocalCloud) -> Bulk:
    metered = Metered(cloud.clients.dynamodb, RateLimiter(None), RateLimiter(None))
    return make_bulk(cloud.registry, cloud.settings, cloud.clients, metered)


@dataclass
class SteppedRun:
    """A run of two segments: each call of `step` completes one, and the last one the run."""

    cloud: LocalCloud
    kind: str
    subject: str

    def __post_init__(self) -> None:
        self._steps = self._run()

    def step(self) -> None:
        next(self._steps, None)

    def _run(self) -> Iterator[None]:
        bulk, deadline = bulk_of(self.cloud), Deadline.after(SECONDS)
        run = bulk.run(self.kind, self.subject)
        scope = Scope(segments=2, grace=0) if phase_of(run) else None
        for segment in bulk.begin(run, 2, deadline=deadline, scope=scope):
            bulk.worker(run).work(segment, end=deadline)
            if segment.number:
                assert bulk.finish(run, deadline=deadline) is not None
            yield
