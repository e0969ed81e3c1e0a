"""A sample of the items that a change of the model concerns, and what it tells of the cost."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import add
from time import time
from typing import TYPE_CHECKING

from adminview.aws.concurrency import map_concurrently
from adminview.aws.deadline import Deadline
from adminview.aws.row_store import RowStore
from adminview.aws.settings import Settings
from adminview.aws.table_scanner import Sample, TableScanner
from adminview.cli.model_lock.model_diff import ModelDiff, Shape
from adminview.cli.planning.cost import Costs, Estimate, Indexes, Rows, SourceCosts, item_costs
from adminview.model import Attribute, Registry, Source
from adminview.model.errors import RecordError, ServiceError
from adminview.model.row import Attributes
from adminview.reconcile.equality import canonical
from adminview.reconcile.expected_rows import expected_rows
from adminview.sync.decode import Route

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

CALL_SECONDS = 10.0
NO_TABLE = "ResourceNotFoundException"


@dataclass(frozen=True, slots=True)
class Estimator:
    """The tables of a deployment, and the change that it is about to go through."""

    change: ModelDiff
    routes: Mapping[str, Route]  # by source: the declared ones, and those that are gone
    reader: TableScanner
    rows: RowStore
    sample: int = 200
    now: Callable[[], float] = time

    def estimate(self) -> Estimate:
        """Look at a sample of each source that the change concerns; a new one may have no table."""
        found: list[SourceCosts] = []
        unknown: dict[str, str] = {}
        for name in self._concerned():
            try:
                found.append(self._source(self.routes[name]))
            except ServiceError as error:
                if error.code != NO_TABLE:
                    raise
                unknown[name] = str(error)
        return Estimate(found, unknown)

    def left(self, source: str) -> list[Attributes]:
        """Find rows of a sample of items that the declared views do not derive any more."""
        route = self.routes[source]
        items = [*self._sample(route.table)]
        return [
            row
            for rows in map_concurrently(lambda one: self._left(route, one), items)
            for row in rows
        ]

    def _left(self, route: Route, item: Attributes) -> list[Attributes]:
        try:
            owner = route.source.owner(item)
            rows = expected_rows(route, owner, item, self.now(), self.change.new["fingerprint"])
        except RecordError:
            return []
        others = self.rows.find(owner, deadline=self._until()) - rows.keys()
        return list(self.rows.read(others, deadline=self._until()).values())

    def _concerned(self) -> Iterable[str]:
        """List the sources whose rows change, or stand in a new index as they are."""
        some = {*self.change.rebuilt, *self.change.dropped_sources}
        every = Indexes.of(self.change).created and self.change.old
        return [name for name in self.routes if every or name in some]

    def _source(self, route: Route) -> SourceCosts:
        sample = self._sample(route.table)
        items = [*sample]
        costs = reduce(add, map_concurrently(lambda item: self._item(route, item), items), Costs())
        return SourceCosts(route.source.name, sample.count(), len(items), costs)

    def _sample(self, table: str) -> Sample:
        return Sample(self.reader, table, self.sample, self._until)

    def _item(self, route: Route, item: Attributes) -> Costs:
        """Count what one item costs."""
        model = self.change.new["fingerprint"]
        try:
            owner = route.source.owner(item)
            rows = expected_rows(route, owner, item, self.now(), model)
        except RecordError:
            return Costs(failed=1)
        known = {*self.rows.find(owner, deadline=self._until()), *rows}
        found = self.rows.read(known, deadline=self._until())
        rebuilt = route.source.name in {*self.change.rebuilt, *self.change.dropped_sources}
        return item_costs(_spelled(found), _spelled(rows), Indexes.of(self.change), rebuilt=rebuilt)

    def _until(self) -> Deadline:
        return Deadline.after(CALL_SECONDS)


def make_estimator(
    change: ModelDiff, model: Registry, settings: Settings, dynamodb: "DynamoDBClient", sample: int
) -> Estimator:
    """Connect a change to the tables that *settings* name."""
    gone = [_source(shape) for name in change.dropped_sources if (shape := change.source(name)[0])]
    routes = {
        source.name: Route(
            settings.sources.get(source.name, source.name), source, model.views_of(source)
        )
        for source in (*model.sources, *gone)
    }
    rows = RowStore(dynamodb, settings.view_table)
    return Estimator(change, routes, TableScanner(dynamodb), rows, sample)


def _spelled(rows: Rows) -> Rows:
    return {key: canonical(row) for key, row in rows.items()}


def _source(shape: Shape) -> Source:
    return Source(shape["name"], *(Attribute(*key) for key in shape["key"]))
