"""A source older than its view, a service that keeps writing, and workers that are killed."""

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from io import StringIO
from pathlib import Path
from random import Random
from threading import Event, Thread
from typing import Any

import pytest

from adminview.aws.clients import Clients
from adminview.aws.concurrency import batched, map_concurrently
from adminview.aws.deadline import Deadline
from adminview.aws.metered_client import Metered
from adminview.aws.rate_limit import RateLimiter
from adminview.bulk.lease_table import LEASE_SECONDS
from adminview.bulk.runs import Bulk, make_bulk
from adminview.bulk.verify.scope import Scope
from adminview.cli.bulk.segment_pool import SegmentOutcome, SegmentPool
from adminview.cli.commands.verify import VerifyOptions, verify_here
from adminview.cli.output.printing import Console
from adminview.cli.shutdown import Shutdown
from adminview.local.local_cloud import LocalCloud
from adminview.local.tables import create, source_table
from adminview.model.delivery import Delivery

ROOT = Path(__file__).parents[2]
SMALL_PAGE = 50
NO_WINDOW = replace(Delivery(), window_seconds=0)


class KilledError(BaseException):
    """The process was killed: nothing runs after that."""


class Mortal:
    """A client whose process can be killed; every later call fails."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._dead = Event()

    def die(self) -> None:
        """Kill the process at its next call, from any thread."""
        self._dead.set()

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._client, name)

        def mortal(**arguments: Any) -> Any:
            if self._dead.is_set():
                raise KilledError
            return call(**arguments)

        return mortal


def fill(cloud: LocalCloud, source: str, items: Sequence[dict[str, Any]]) -> None:
    """Put items, in DynamoDB JSON, into a table without a stream; then enable the stream."""
    dynamodb = cloud.clients.dynamodb
    table = source_table(cloud.registry.source(source), source)
    stream = table.pop("StreamSpecification")
    dynamodb.delete_table(TableName=source)
    create(dynamodb, table)

    def put(share: Sequence[dict[str, Any]]) -> None:
        requests: Any = [{"PutRequest": {"Item": item}} for item in share]
        answer = dynamodb.batch_write_item(RequestItems={source: requests})
        assert not answer.get("UnprocessedItems")

    map_concurrently(put, list(batched(items, 25)))
    dynamodb.update_table(TableName=source, StreamSpecification=stream)
    arn = dynamodb.describe_table(TableName=source)["Table"]["LatestStreamArn"]
    cloud.sources = [
        stream for stream in cloud.sources if f":table/{source}/" not in stream.stream_arn
    ]
    cloud.sources.append(cloud.follow(arn, NO_WINDOW))


@dataclass
class Traffic:
    """A service that changes, deletes and re-creates items while the sync runs."""

    cloud: LocalCloud
    table: str
    items: Sequence[dict[str, Any]]
    random: Random = field(default_factory=lambda: Random(5))  # noqa: S311 - not a secret
    written: int = 0

    @contextmanager
    def flowing(self) -> Iterator["Traffic"]:
        """Write and sync until the context ends; then let the sync catch up."""
        stop = Event()
        threads = [
            Thread(target=self._until, args=(work, stop)) for work in (self._write, self._follow)
        ]
        for thread in threads:
            thread.start()
        try:
            yield self
        finally:
            stop.set()
            for thread in threads:
                thread.join()
            self.cloud.settle()

    def _until(self, work: Any, stop: Event) -> None:
        while not stop.wait(0.03):
            work()

    def _follow(self) -> None:
        self.cloud.settle()

    def _write(self) -> None:
        """Change one item, often one that was changed before."""
        recent = self.random.random() < 0.5
        item = self.items[self.random.randrange(50 if recent else len(self.items))]
        dynamodb = self.cloud.clients.dynamodb
        if self.random.random() < 0.4:
            key = {"userId": item["userId"]}
            dynamodb.delete_item(TableName=self.table, Key=key)
        else:
            name = {"S": f"name {self.written}"}
            dynamodb.put_item(TableName=self.table, Item={**item, "name": name})
        self.written += 1


def bulk_of(cloud: LocalCloud, dynamodb: Any = None, *, later: float = 0.0) -> Bulk:
    """Connect bulk work to a cloud, *later* seconds from now."""
    dynamodb = dynamodb or cloud.clients.dynamodb
    clients = Clients(dynamodb, cloud.clients.sqs)
    metered = Metered(dynamodb, RateLimiter(), RateLimiter())
    bulk = make_bulk(cloud.registry, cloud.settings, clients, metered)
    return replace(bulk, progress=replace(bulk.progress, now=lambda: time.time() + later))


def work(bulk: Bulk, run: str, of: int | None = None) -> SegmentOutcome:
    """Execute a run locally."""
    return SegmentPool(bulk, run, Shutdown(), tolerated=0).work(of)


def work_and_die(cloud: LocalCloud, run: str, *, after: int, later: float) -> None:
    """Continue a run, and kill its process after some items are done."""
    client = Mortal(cloud.clients.dynamodb)

    def watch(counts: Counter[str]) -> None:
        if counts["items"] >= after:
            client.die()

    bulk = bulk_of(cloud, client, later=later)
    # Items of the intent are reconciled later, and moto finds rows by owner very slowly.
    worker = bulk.worker(run)
    worker = replace(worker, task=replace(worker.task, max_items=SMALL_PAGE))  # type: ignore[type-var]
    with pytest.raises(KilledError):
        SegmentPool(bulk, run, Shutdown(), 0, watch, worker=worker).work()


def done_by(bulk: Bulk, run: str) -> int:
    """Return how many items are done according to the progress table."""
    records = bulk.progress.records(run, deadline=Deadline.after(10))
    return sum(record.counts["items"] for record in records)


def begin_and_kill(cloud: LocalCloud, source: str, of: int, *, after: int) -> None:
    """Run the command in a separate process, and kill it after some items are done."""
    command = [sys.executable, "-m", "adminview.cli.main", "backfill", "--source", source]
    process = subprocess.Popen(
        [*command, "--segments", str(of)], cwd=ROOT, env={"PATH": "", **cloud.environment}
    )
    bulk = bulk_of(cloud)
    while done_by(bulk, f"backfill/{source}") < after:
        assert process.poll() is None, "it ended before it could be killed"
        time.sleep(0.05)
    process.kill()
    process.wait()


def difference(cloud: LocalCloud) -> str:
    """Verify the whole view and return the differences; empty if there are none."""
    output = StringIO()
    options = VerifyOptions(Scope(segments=4, grace=0.5))
    console = Console(file=output, width=200)
    status = verify_here(bulk_of(cloud), options, Shutdown(), console)
    return output.getvalue() if status else ""


LATER = LEASE_SECONDS + 1
