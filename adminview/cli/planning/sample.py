"""Estimate a model change from a sample of items: its cost, and the rows that it moves.

New code does not know the keys that old code gave its rows. A row that gets another key, or is no
longer derived, stays in the view until the sweep, and an access pattern that remains would show it.
The declarations do not reveal such rows, so a sample of items is derived again and compared.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import add
from time import time
from typing import TYPE_CHECKING

from adminview.aws.clients import Clients
from adminview.aws.concurrency import map_concurrently
from adminview.aws.deadline import Deadline
from adminview.aws.row_store import RowStore
from adminview.aws.settings import Settings
from adminview.aws.table_scanner import Sample, TableScanner
from adminview.cli.deployment.facts import Deployed
from adminview.cli.model_lock.model_diff import ModelDiff, Shape
from adminview.cli.planning.cost import Costs, Estimate, Indexes, Rows, SourceCosts, item_costs
from adminview.cli.planning.steps import DeployApi, DeployCode, Plan
from adminview.model import AccessPattern, Attribute, Registry, Source
from adminview.model.errors import RecordError, ServiceError
from adminview.model.row import Attributes
from adminview.reconcile.equality import canonical
from adminview.reconcile.expected_rows import expected_rows
from adminview.sync.decode import Route

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

CALL_SECONDS = 10.0
SAMPLE = 200  # items of a source
NO_TABLE = "ResourceNotFoundException"


@dataclass(frozen=True, slots=True)
class Estimator:
    """Reads a sample of the items of a deployment and derives their rows again."""

    change: ModelDiff
    routes: Mapping[str, Route]  # by source, declared or dropped
    reader: TableScanner
    rows: RowStore
    sample: int = SAMPLE
    now: Callable[[], float] = time

    def estimate(self) -> Estimate:
        """Estimate the cost for each source that the change affects, if its table exists."""
        sources: list[SourceCosts] = []
        unknown: dict[str, str] = {}
        for name in self._affected():
            try:
                sources.append(self._source(self.routes[name]))
            except ServiceError as error:
                if error.code != NO_TABLE:
                    raise
                unknown[name] = str(error)
        return Estimate(sources, unknown)

    def stale_rows(self, source: str) -> list[Attributes]:
        """Return the rows of a sample of items that the declared views no longer derive."""
        route = self.routes[source]
        items = [*self._sample(route.table)]
        return [
            row
            for rows in map_concurrently(lambda item: self._stale_rows(route, item), items)
            for row in rows
        ]

    def _stale_rows(self, route: Route, item: Attributes) -> list[Attributes]:
        try:
            owner = route.source.owner(item)
            rows = expected_rows(route, owner, item, self.now(), self.change.new["fingerprint"])
        except RecordError:
            return []
        others = self.rows.find(owner, deadline=_deadline()) - rows.keys()
        return list(self.rows.read(others, deadline=_deadline()).values())

    def _affected(self) -> Iterable[str]:
        """Return the sources whose rows change, or may enter a new index."""
        changed = {*self.change.rebuilt, *self.change.sources.dropped}
        every = Indexes.of(self.change).created and self.change.old
        return [name for name in self.routes if every or name in changed]

    def _source(self, route: Route) -> SourceCosts:
        sample = self._sample(route.table)
        items = [*sample]
        costs = reduce(add, map_concurrently(lambda item: self._item(route, item), items), Costs())
        return SourceCosts(route.source.name, sample.count(), len(items), costs)

    def _sample(self, table: str) -> Sample:
        return Sample(self.reader, table, self.sample, _deadline)

    def _item(self, route: Route, item: Attributes) -> Costs:
        model = self.change.new["fingerprint"]
        try:
            owner = route.source.owner(item)
            rows = expected_rows(route, owner, item, self.now(), model)
        except RecordError:
            return Costs(failed=1)
        known = {*self.rows.find(owner, deadline=_deadline()), *rows}
        current = self.rows.read(known, deadline=_deadline())
        rebuilt = route.source.name in {*self.change.rebuilt, *self.change.sources.dropped}
        indexes = Indexes.of(self.change)
        return item_costs(_canonical(current), _canonical(rows), indexes, rebuilt=rebuilt)


def make_estimator(
    change: ModelDiff, model: Registry, settings: Settings, dynamodb: "DynamoDBClient", sample: int
) -> Estimator:
    dropped = [_source(change.sources.before[name]) for name in change.sources.dropped]
    routes = {
        source.name: Route(
            settings.sources.get(source.name, source.name), source, model.views_of(source)
        )
        for source in (*model.sources, *dropped)
    }
    rows = RowStore(dynamodb, settings.view_table)
    return Estimator(change, routes, TableScanner(dynamodb), rows, sample)


def find_moved_rows(
    model: Registry, deployed: Deployed, plan: Plan, find: Callable[[], Settings]
) -> tuple[str, ...]:
    """Return reasons to refuse *plan*: access patterns that would show stale rows.

    *find* returns the settings of the deployment; it is called only if the plan replaces code.
    """
    code = [step for step in plan.steps if isinstance(step, DeployCode)]
    if not code or deployed.sync is None:
        return ()
    settings = find()
    change = ModelDiff.between(deployed.sync, model.description())
    estimator = make_estimator(change, model, settings, Clients().dynamodb, SAMPLE)
    known = [source for source in code[0].unbuilt if source in settings.sources]
    stale = {source: estimator.stale_rows(source) for source in known}
    apis = [step for step in plan.steps if isinstance(step, DeployApi)]
    pending = apis[0].phase.pending if apis else {}
    served = {name for name, _, _ in deployed.live() if pending.get(name, name) is not None}
    return tuple(stale_row_refusals(stale, model.patterns, served))


def stale_row_refusals(
    stale: Mapping[str, Collection[Attributes]],  # rows by source
    patterns: Iterable[AccessPattern],
    live: Collection[str],  # access patterns that the API serves all the time
) -> Iterator[str]:
    """Yield a message for each live access pattern that would show stale rows of a source."""
    for pattern in patterns:
        for source, rows in stale.items():
            count = sum(map(pattern.may_show, rows))
            if pattern.name in live and count and pattern.total:
                yield (
                    f"access pattern {pattern.name!r} counts rows of {source} that the new views "
                    f"give another key or none ({count} in a sample): until the sweep it would "
                    "count them twice. Declare a new total for the new rows, and remove the old "
                    "one in a later change; or accept it with --stale-until-swept"
                )
            elif pattern.name in live and count:
                yield (
                    f"access pattern {pattern.name!r} shows rows of {source} that the new views "
                    f"give another key or none ({count} in a sample): until the sweep it would "
                    "show the old rows too. Declare a new access pattern for the new rows, and "
                    "remove the old one in a later change; or accept it with --stale-until-swept"
                )


def _deadline() -> Deadline:
    return Deadline.after(CALL_SECONDS)


def _canonical(rows: Rows) -> Rows:
    return {key: canonical(row) for key, row in rows.items()}


def _source(shape: Shape) -> Source:
    return Source(shape["name"], *(Attribute(*key) for key in shape["key"]))
