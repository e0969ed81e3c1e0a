"""Run one model at a time on a local engine, and switch to the next when view files change."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from time import time

from adminview.aws.boto3_clients import streams_client
from adminview.aws.clients import Clients
from adminview.aws.dead_letter_consumer import DeadLetterConsumer
from adminview.aws.deadline import Deadline
from adminview.aws.metered_client import Metered
from adminview.aws.rate_limit import RateLimiter
from adminview.aws.settings import Settings
from adminview.aws.source_tables import SourceReader
from adminview.aws.totals_table import Boto3Updater, TotalsTable
from adminview.bulk.runs import Bulk, make_bulk
from adminview.dead_letters.replay import LOCALLY, Replayer, make_replayer
from adminview.handlers.totals import TotalsRuntime
from adminview.local.dev.follower import Follower
from adminview.local.dev.items import WaitingItems, check_writes, write_items
from adminview.local.dev.letters import FirstLetterSink, PrintedSink, PromptSink
from adminview.local.dev.outdated import OutdatedFilter, replay_outdated
from adminview.local.dev.printer import BatchPrinter
from adminview.local.dev.rebuild import count, rebuild
from adminview.local.dev.tables import DevTables, Prepared
from adminview.local.dev.tracebacks import explain
from adminview.local.settings import declared
from adminview.local.source_writes import Delete, Put
from adminview.model import Registry
from adminview.model.dead_letter import AnyLetter
from adminview.model.errors import ServiceError
from adminview.model.item import AttributeValue, Image
from adminview.model.total import totals_table
from adminview.runtime import Runtime, make_runtime
from adminview.sync.counts import BatchCounts

READ_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class DevEngine:
    """A running engine with a dead-letter queue."""

    clients: Clients
    queue_url: str
    owned: bool  # started by this command: its tables end with it


@dataclass(frozen=True, slots=True)
class ModelChange:
    """The difference between two models, in words, and the sources whose rows it changes."""

    lines: Sequence[str]
    rebuilt: Sequence[str]
    dropped: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Hooks:
    """Callbacks of a session to the command."""

    say: Callable[[str], None]
    publish: Callable[[Registry], None]  # lets the API answer with a model
    compare: Callable[[Registry, Registry], ModelChange]
    stopped: Callable[[], bool] = lambda: False
    synced: Callable[[BatchCounts], object] = lambda _: None  # after each batch
    doing: Callable[[str], None] = lambda _: None  # what is in progress, and how far it is
    # While the model changes, nobody else may write rows.
    paused: Callable[[], AbstractContextManager[object]] = nullcontext


@dataclass(slots=True)
class Session:
    engine: DevEngine
    hooks: Hooks
    waiting: WaitingItems = field(default_factory=WaitingItems)
    follower: Follower = field(default_factory=lambda: Follower(streams_client))
    printer: BatchPrinter = field(init=False)
    _registry: Registry | None = None
    _runtime: Runtime | None = None
    _prepared: Prepared = field(default_factory=Prepared)
    _replayed_at: object = None  # the model and the batches at the last replay
    _tables: dict[str, None] = field(default_factory=dict)  # of all sources so far, in order

    def __post_init__(self) -> None:
        self.printer = BatchPrinter(self.hooks.say, self._explain, add=self.hooks.synced)

    def begin(self, registry: Registry) -> None:
        """Create the tables and follow them. Rebuild the rows if the view table existed before."""
        prepared = self._switch(registry)
        self._load_waiting()
        if prepared.existed:
            self._rebuild([source.name for source in registry.sources])

    def change_to(self, registry: Registry) -> None:
        """Print what changes; then sync, serve and rebuild with another model.

        If the tables cannot be changed, raises the error and keeps the old model.
        """
        assert self._registry
        change = self.hooks.compare(self._registry, registry)
        for line in change.lines:
            self.hooks.say(line)
        prepared = self._switch(registry)
        self._load_waiting()
        if prepared.emptied:
            self._rebuild([source.name for source in registry.sources])
        elif change.rebuilt or change.dropped:
            self._rebuild(change.rebuilt)

    def load(self, writes: Sequence[Put | Delete]) -> None:
        """Write items to the source tables; raises a SettingsError before the first write."""
        assert self._registry
        check_writes(writes, self._registry)
        total = count(len(writes), "item")
        write_items(
            self.engine.clients.dynamodb,
            writes,
            lambda number: self.hooks.say(f"loading: {number} of {total}"),
        )
        if writes:
            self.hooks.say(f"loaded {total}")

    def replay_outdated(self) -> None:
        """Replay dead letters of items that can be derived now, if anything has changed."""
        assert self._registry
        state = (self._registry.fingerprint, self.printer.batches)
        if state == self._replayed_at:
            return
        replayer = self._replayer(self._registry)
        waiting, line = replayer.consumer.count(deadline=Deadline.after(READ_SECONDS)), ""
        if waiting.ready and (state, waiting) != self._replayed_at:
            if line := replay_outdated(replayer, OutdatedFilter(read=self._read)):
                self.hooks.say(line)
            waiting = replayer.consumer.count(deadline=Deadline.after(READ_SECONDS))
        # Dead letters that are invisible now are replayed when they become visible, and those for
        # which there was no time, at the next call.
        settled = (state, waiting) if waiting.invisible else state
        self._replayed_at = None if line else settled

    def end(self) -> int | None:
        """Stop following. Save the items if there is a file for them; return their number.

        Returns None if there is no file.
        """
        self.follower.pause()
        if self.waiting.path is None:
            return None
        dynamodb = self.engine.clients.dynamodb
        tables = DevTables(dynamodb, self.engine.owned)
        return self.waiting.save(dynamodb, [name for name in self._tables if tables.describe(name)])

    def _load_waiting(self) -> None:
        """Load the items that wait for a table of this model."""
        assert self._registry
        items = self.waiting.fitting(self._registry)
        self.load(items)
        self.waiting.remove(items)

    def _switch(self, registry: Registry) -> Prepared:
        """Change the tables and the model while nothing is followed or repaired."""
        with self.hooks.paused():
            return self._switch_paused(registry)

    def _switch_paused(self, registry: Registry) -> Prepared:
        settings = declared(registry, self.engine.queue_url)
        dynamodb = self.engine.clients.dynamodb
        self.follower.pause()
        try:
            prepared = DevTables(dynamodb, self.engine.owned).prepare(registry, settings)
            for stream in prepared.deleted_streams:
                self.follower.forget(stream)
            for source, items in prepared.items.items():
                self.waiting.add(source, items)
            self._report(prepared)
            self.printer.forget()
            self._registry, self._prepared = registry, prepared
            self._tables |= dict.fromkeys(settings.sources.values())
            self._runtime = self._make_runtime(registry, settings)
            self.hooks.publish(registry)
        finally:
            if self._runtime:
                table = TotalsTable(Boto3Updater(dynamodb), totals_table(settings.view_table), time)
                totals = TotalsRuntime(table, self.printer)
                streams = self._prepared.streams
                self.follower.follow(self._runtime, streams, totals, self._prepared.view_stream)
        return prepared

    def _report(self, prepared: Prepared) -> None:
        for line in prepared.lines:
            self.hooks.say(line)
        if prepared.created:
            self.hooks.say(f"created {', '.join(prepared.created)}")

    def _make_runtime(self, registry: Registry, settings: Settings) -> Runtime:
        runtime = make_runtime(registry, settings, self.engine.clients, self.printer)
        return replace(runtime, dead_letters=PromptSink(runtime.dead_letters))

    def _rebuild(self, sources: Iterable[str]) -> None:
        assert self._registry
        assert self._runtime
        bulk = self._bulk(self._registry, self._runtime)
        for line in rebuild(bulk, sources, self.hooks.stopped, self.hooks.doing):
            self.hooks.say(line)

    def _bulk(self, registry: Registry, runtime: Runtime) -> Bulk:
        clients, queue_url = self.engine.clients, self.engine.queue_url
        metered = Metered(clients.dynamodb, RateLimiter(None), RateLimiter(None))
        consumer = DeadLetterConsumer(clients.sqs, queue_url, wait_seconds=0)
        printed = PrintedSink(runtime.dead_letters, self.printer)
        bulk = make_bulk(registry, declared(registry, queue_url), clients, metered)
        return replace(bulk, post=FirstLetterSink(printed, consumer))

    def _replayer(self, registry: Registry) -> Replayer:
        settings = declared(registry, self.engine.queue_url)
        return make_replayer(registry, settings, self.engine.clients, streams_client(), LOCALLY)

    def _explain(self, letter: AnyLetter) -> str:
        assert self._runtime
        try:
            return explain(letter, self._runtime.routes, self._read)
        except ServiceError:
            return ""  # the item cannot be read, but the batch is done

    def _read(self, table: str, key: dict[str, AttributeValue]) -> Image | None:
        reader = SourceReader(self.engine.clients.dynamodb)
        return reader.read(table, key, deadline=Deadline.after(READ_SECONDS))
