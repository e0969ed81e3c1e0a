"""A deployment on a local engine whose stacks are deployed one by one.

A writer keeps changing items, and every access pattern of the old and of the new model keeps being
queried. Each result is compared with what the source items derive at that moment.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib.util import module_from_spec, spec_from_file_location
from itertools import count
from pathlib import Path
from threading import Lock
from typing import Any

from adminview.aws.clients import Clients
from adminview.aws.metered_client import Metered
from adminview.aws.rate_limit import RateLimiter
from adminview.aws.view_reader import Boto3Reader, ViewReader
from adminview.bulk.runs import Bulk, make_bulk
from adminview.cli.bulk.segment_pool import SegmentPool
from adminview.cli.deployment.facts import Declared, Deployed
from adminview.cli.deployment.stacks import API, SYNC
from adminview.cli.model_lock.model_diff import Description
from adminview.cli.planning.apply import BulkBuilder, PlanRunner
from adminview.cli.shutdown import Shutdown
from adminview.local.engines import Engine
from adminview.local.local_cloud import LocalCloud
from adminview.model import Registry
from adminview.model.errors import PatternNotReadyError, QueryError
from adminview.model.item import encode
from adminview.model.limits import ROW_LIMIT
from adminview.model.row import VIEW_TABLE, Attributes, RowKey
from adminview.query.engine import QueryEngine
from adminview.sync.derive import derive
from tests.support.local_deployer import LocalDeployer

Answer = dict[RowKey, Any]  # the data of each row
GONE, BUILDING, ANSWERED = "gone", "not ready", "answered"


def load(folder: Path, **files: str) -> Registry:
    """Write view files and collect them."""
    modules = []
    for name, text in files.items():
        path = folder / f"{name}.py"
        path.write_text(text)
        spec = spec_from_file_location(f"{folder.name}_{name}", path)
        assert spec
        assert spec.loader
        module = module_from_spec(spec)
        sys.modules[module.__name__] = module  # where the fingerprint looks for its source
        spec.loader.exec_module(module)
        modules.append(module)
    return Registry.of(modules)


@dataclass
class Interrupting:
    """A client that calls a hook after some of its calls."""

    client: Any
    every: int
    happens: Callable[[], None]
    _calls: Iterator[int] = field(default_factory=lambda: count(1))
    _lock: Any = field(default_factory=Lock)

    def __getattr__(self, name: str) -> Any:
        call = getattr(self.client, name)

        def and_then(**arguments: Any) -> Any:
            answer = call(**arguments)
            with self._lock:  # several items may be in progress at once
                if next(self._calls) % self.every == 0:
                    self.happens()
            return answer

        return and_then


@dataclass
class Lab:
    """A deployment, its writer, and the queries against it."""

    cloud: LocalCloud
    old: Registry
    new: Registry
    parameters: Mapping[str, Mapping[str, Any]]  # access pattern -> parameters
    deployer: LocalDeployer
    write: Callable[["Lab"], None]
    # By source and id: the current item.
    items: dict[tuple[str, str], Any] = field(default_factory=dict)
    touched: set[RowKey] = field(default_factory=set)  # since the current page was read
    states: dict[str, list[str]] = field(default_factory=dict)  # per access pattern, each new state
    answers: Counter[str] = field(default_factory=Counter)
    clock: float = 1_000_000.0
    replaced: dict[str, float] = field(default_factory=dict)  # by stack: time of the last update

    @classmethod
    def start(
        cls,
        engine: Engine,
        models: tuple[Registry, Registry],
        parameters: Mapping[str, Mapping[str, Any]],
        write: Callable[["Lab"], None],
    ) -> "Lab":
        """Deploy the older of two models."""
        old, new = models
        cloud = LocalCloud.start(engine, old)
        lab = cls(cloud, old, new, parameters, LocalDeployer(cloud, old, old), write)
        lab.deployer.after = lab.deployed
        return lab

    def stop(self) -> None:
        """Remove everything."""
        names = {source.name for source in self.cloud.registry.sources}
        for table in self.deployer.created.keys() - names:
            self.cloud.clients.dynamodb.delete_table(TableName=table)
        self.cloud.stop()

    def deployed(self, stack: str) -> None:
        """Record the deployment of a stack."""
        self.replaced[stack] = self.clock
        tables = {*self.deployer.created, *(source.name for source in self.old.sources)}
        self.items = {name: item for name, item in self.items.items() if name[0] in tables}
        self.live()

    # The inputs of a plan.

    def read(self, model: Description) -> Deployed:
        """Read what is deployed."""
        deployer, tables = self.deployer, self.deployer.tables
        sync = self.cloud.registry.description()
        names = self.cloud.clients.dynamodb.list_tables()["TableNames"]
        known = {source.name for model in (self.old, self.new) for source in model.sources}
        return Deployed(
            sync=sync,
            recovery=self.cloud.registry.fingerprint,
            api=deployer.api.description(),
            pending=deployer.pending,
            watch=deployer.watch,
            indexes=tuple(tables.indexes() or ()),
            stream=deployer.stream is not None,
            totals=self.cloud.totals is not None,
            tables=frozenset(known & set(names)),
            code_at=self.replaced.get(SYNC),
            api_at=self.replaced.get(API),
            **tables.facts(Declared(model), sync["code"]),
        )

    def application(self, model: Registry, **more: Any) -> PlanRunner:
        """Return a new plan runner."""
        self.deployer = replace(self.deployer, model=model)
        stop = Shutdown()
        progress = replace(self.deployer.tables.progress, now=self.now)

        def go(bulk: Bulk, run: str) -> Any:
            return SegmentPool(bulk, run, stop, 0, lambda _: self.page_done()).work(1)

        builder = BulkBuilder(self.bulk, progress, model.description(), go)
        arguments: dict[str, Any] = {
            "model": model.description(),
            "read": self.read,
            "deployer": self.deployer,
            "builder": builder,
            "now": self.now,
            "sleep": self.sleep,
            "longest": 20.0,
        }
        return PlanRunner(**arguments | more)

    def bulk(self) -> Bulk:
        """Connect to the tables; writes and queries go on during each page."""
        real = self.cloud.clients.dynamodb
        between: Any = Interrupting(real, 1, self.mid_page)
        bulk = make_bulk(
            self.cloud.registry,
            self.cloud.settings,
            Clients(real, self.cloud.clients.sqs),
            Metered(between, RateLimiter(), RateLimiter()),
        )
        # Only between two calls: with a real clock, a page would outlast its lease.
        return replace(bulk, now=self.now, clock=self.now)

    def now(self) -> float:
        """Return a time that advances with each call."""
        self.clock += 0.001
        return self.clock

    def sleep(self, seconds: float) -> None:
        """Advance the clock, with writes and queries meanwhile."""
        self.clock += seconds
        self.live()

    # Concurrent writes and queries.

    def live(self) -> None:
        """Change an item, sync the change, and query everything."""
        self.write(self)
        self.cloud.settle()
        self.ask_all(self.touched)

    def mid_page(self) -> None:
        """Write and query in the middle of a page, which may overwrite a change for a moment."""
        before = self.items.copy()
        self.write(self)
        self.cloud.settle()
        for name in before.keys() | self.items.keys():
            if before.get(name) != self.items.get(name):
                self.touched |= self._keys(name, before.get(name))
                self.touched |= self._keys(name, self.items.get(name))
        self.ask_all(self.touched)

    def page_done(self) -> None:
        """Expect all rows of a finished page to be correct."""
        self.touched.clear()
        self.live()

    def put(self, source: str, item: dict[str, Any]) -> None:
        """Write an item."""
        self.cloud.put(source, item)
        self.items[source, item["id"]] = {name: encode(value) for name, value in item.items()}

    def delete(self, source: str, number: str) -> None:
        """Delete an item."""
        self.cloud.delete(source, {"id": number})
        self.items.pop((source, number), None)

    def _keys(self, name: tuple[str, str], image: Any) -> set[RowKey]:
        some = {name: image} if image else {}
        return {key for model in (self.old, self.new) for key in self.truth(model, some)}

    def truth(self, model: Registry, items: Any = None) -> dict[RowKey, Attributes]:
        """Derive the rows of all source items as they are now."""
        views = {source.name: model.views_of(source) for source in model.sources}
        return {
            key: row
            for (source, _), image in (self.items if items is None else items).items()
            for key, row in derive(views.get(source, ()), image, room=ROW_LIMIT).rows.items()
        }

    def expected(self, name: str) -> Answer:
        """Return the rows that the API's model must return for an access pattern."""
        pattern = self.deployer.api.pattern(name)
        condition = pattern.condition(**self.parameters[name])
        tests = [
            (
                comparison.operator,
                comparison.attribute.name,
                condition.values[f":v{position}a"]["S"],
            )
            for position, comparison in enumerate(pattern._comparisons)
        ]
        return {
            key: row["data"]
            for key, row in self.truth(self.deployer.api).items()
            if all(_passes(test, row) for test in tests)
        }

    def ask_all(self, but: Iterable[RowKey] = ()) -> None:
        """Query every access pattern of both models; compare the results with the source items."""
        for name in self.parameters:
            state = self.query(name, set(but))
            self.answers[state] += 1
            known = self.states.setdefault(name, [])
            if known[-1:] != [state]:
                known.append(state)

    def query(self, name: str, but: set[RowKey]) -> str:
        """Query one access pattern, check its rows, and return whether it was ready."""
        deployer = self.deployer
        reader = ViewReader(Boto3Reader(self.cloud.clients.dynamodb), VIEW_TABLE)
        query_engine = QueryEngine(deployer.api, reader, deployer.pending)
        try:
            rows = {
                (result.row["PK"]["S"], result.row["SK"]["S"]): result.row["data"]
                for result in query_engine.rows(name, **self.parameters[name])
            }
        except PatternNotReadyError:
            return BUILDING
        except QueryError:
            assert name not in {pattern.name for pattern in deployer.api.patterns}
            return GONE
        expected = self.expected(name)
        assert {key: rows[key] for key in rows.keys() - but} == {
            key: expected[key] for key in expected.keys() - but
        }, f"{name} returned wrong rows"
        return ANSWERED


def _passes(test: tuple[str, str, str], row: Attributes) -> bool:
    operator, name, value = test
    actual = str(row.get(name, {}).get("S", ""))
    return actual.startswith(value) if operator.startswith("begins_with") else actual == value
