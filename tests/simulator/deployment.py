"""The deployed functions of one model. Those that run when another is deployed keep running."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from adminview.aws.batch_writers import Boto3BatchWriter
from adminview.aws.dead_letter_consumer import DeadLetterConsumer
from adminview.aws.metered_client import Metered
from adminview.aws.rate_limit import RateLimiter
from adminview.aws.row_store import RowStore
from adminview.aws.settings import Settings
from adminview.aws.source_tables import SourceReader
from adminview.aws.view_table import ViewTable
from adminview.bulk.lease_table import GENERATION, LeaseTable
from adminview.bulk.runs import Bulk
from adminview.bulk.worker import SegmentWorker
from adminview.dead_letters.replay import Replayer
from adminview.dead_letters.resolve import LetterResolver
from adminview.model import Registry
from adminview.reconcile.item_ref import ItemRef
from adminview.reconcile.reconciler import Reconciler
from adminview.runtime import Runtime
from adminview.sync.decode import Route, routes
from tests.simulator.model import Model, Name, make_registry
from tests.simulator.progress import PROGRESS
from tests.simulator.queue import QUEUE
from tests.support.fakes import TABLE

if TYPE_CHECKING:
    from tests.simulator.simulation import World

PAGE = 2  # items per page of a bulk worker


@dataclass(frozen=True, slots=True)
class Deployment:
    """The functions, as they are created when their containers start."""

    model: Model
    registry: Registry
    routes: Mapping[str, Route]
    runtime: Runtime
    reconciler: Reconciler
    replayer: Replayer

    def target(self, name: Name) -> ItemRef:
        """Refer to an item as the reconciler takes it."""
        return ItemRef(self.routes[name.source.name], name.key)


class SmallBulk(Bulk):
    """Bulk work with small pages, on the simulated clock."""

    def worker(self, run: str) -> SegmentWorker:
        """Make a worker for the segments of a run."""
        worker = Bulk.worker(self, run)
        task: Any = worker.task
        return replace(
            worker, task=replace(task, max_items=PAGE), clock=self.now, sleep=self.backoff.sleep
        )

    def _facts(self, run: str, generation: int, counts: Mapping[str, int]) -> dict[str, Any]:
        """Leave out the fingerprint of the code, which has no file here."""
        return {"model": self.model_of(run), GENERATION: generation, "counts": dict(counts)}


def deploy(world: "World", model: Model) -> Deployment:
    """Create the functions of a model."""
    registry = make_registry(model)
    to = routes(registry, {})
    dynamodb, queue = cast("Any", world.dynamodb), cast("Any", world.queue)
    backoff, now = world.backoff, world.fibers.clock
    view = ViewTable(Boto3BatchWriter(dynamodb), TABLE, backoff)
    rows = RowStore(dynamodb, TABLE, backoff)
    sources = SourceReader(dynamodb, backoff)
    reconciler = Reconciler(sources, rows, model.name, world.post, now)
    return Deployment(
        model=model,
        registry=registry,
        routes=to,
        runtime=Runtime(to, model.name, view, world.post, world, now),
        reconciler=reconciler,
        replayer=Replayer(
            resolver=LetterResolver(to, world.streams),
            reconciler=reconciler,
            consumer=DeadLetterConsumer(queue, QUEUE, backoff, wait_seconds=0),
            post=world.post,
            retry_seconds=int(world.queue.next_try),
            now=now,
        ),
    )


def make_bulk(world: "World", deployed: Deployment) -> Bulk:
    """Create the dependencies of one invocation of the bulk function."""
    client, now = cast("Any", world.dynamodb), world.fibers.clock
    holder = f"worker {next(world.workers)}"
    return SmallBulk(
        registry=deployed.registry,
        settings=Settings(TABLE, QUEUE, {}, deployed.model.name),
        client=Metered(client, RateLimiter(clock=now), RateLimiter(clock=now)),
        progress=LeaseTable(client, PROGRESS, world.backoff, now, holder),
        post=world.post,
        backoff=world.backoff,
        now=now,
    )
