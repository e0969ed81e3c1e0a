"""Run queries of declared access patterns against AdminViewTable, page by page."""

from collections.abc import Iterator, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from typing import Any

from adminview.aws.concurrency import map_concurrently, thread_pool
from adminview.aws.deadline import Deadline
from adminview.aws.view_reader import Meter, ViewReader
from adminview.model import AccessPattern, Registry
from adminview.model.attribute import PK, SK
from adminview.model.errors import PatternNotReadyError, QueryError, ServiceError
from adminview.model.row import DATA, Attributes
from adminview.query import cursor as cursors
from adminview.query.cursor import Place, Positions
from adminview.query.query import Query, merged
from adminview.query.totals import TotalReader

READY = ""  # no index or epoch has this name
PAGE, MOST = 50, 1000  # rows of a page: by default, and at most
SECONDS = 25.0  # for a page, with retries


@dataclass(frozen=True, slots=True)
class ResultRow:
    """A row of a result, with its joined rows; None for one that does not exist."""

    row: Attributes
    joined: Mapping[str, Attributes | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class QueryResult:
    """One page, and the cursor of the next; None if this is the last."""

    rows: list[ResultRow]
    cursor: str | None
    meter: Meter


@dataclass(frozen=True, slots=True)
class QueryEngine:
    """Runs queries of the declared access patterns.

    *pending* names the access patterns that are not ready, each with the older index, or the older
    epoch of its total, that serves it meanwhile; None if there is none: then a query raises a
    PatternNotReadyError.
    """

    registry: Registry
    reader: ViewReader
    pending: Mapping[str, str | None] = field(default_factory=dict)
    # The threads that query the shards of an index.
    pool: Executor = field(default_factory=thread_pool, repr=False, compare=False)

    def page(
        self,
        name: str,
        /,
        *,
        limit: int = PAGE,
        cursor: str | None = None,
        order: str | None = None,
        **parameters: Any,
    ) -> QueryResult:
        """Return one page: at most *limit* rows, from *cursor* on."""
        query = self.prepare(name, parameters, order)
        if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MOST:
            msg = f"access pattern {name!r}: limit must be a whole number from 1 to {MOST}"
            raise QueryError(msg)
        binding = query.binding
        place = binding.start if cursor is None else cursors.read(binding, cursor)
        meter, deadline = Meter(), Deadline.after(SECONDS)
        try:
            rows, more = self._page(query, place, limit, meter, deadline)
        except ServiceError as error:
            if cursor is None or error.code != "ValidationException":
                raise
            raise cursors.refusal(binding, "does not fit the query") from error
        following = cursors.write(binding, place) if more else None
        return QueryResult(self._joined(query.pattern, rows, deadline), following, meter)

    def rows(self, name: str, /, **options: Any) -> Iterator[ResultRow]:
        """Yield all rows, page after page."""
        page = self.page(name, **options)
        yield from page.rows
        while page.cursor:
            page = self.page(name, **{**options, "cursor": page.cursor})
            yield from page.rows

    def count(self, name: str, /, **parameters: Any) -> int:
        query = self.prepare(name, parameters)
        deadline, meter = Deadline.after(SECONDS), Meter()
        if query.pattern.total:  # empty totals are stored, but do not count
            positions = query.binding.start.positions
            return sum(1 for _ in self._run(query, positions, MOST, meter, deadline))
        count = partial(
            self.reader.count,
            consistent=query.pattern.consistent,
            deadline=deadline,
            meter=meter,
        )
        return sum(map_concurrently(count, query.conditions, self.pool))

    def prepare(self, name: str, parameters: Mapping[str, Any], order: str | None = None) -> Query:
        """Bind parameters to an access pattern; raise a QueryError if one is wrong."""
        try:
            pattern = self.registry.pattern(name)
        except KeyError as error:
            raise QueryError(error.args[0]) from error
        query = Query.of(pattern, parameters, order)
        older = self.pending.get(name, READY)  # once: it may become ready at any time
        if older == READY:
            return query
        if older is None:
            raise PatternNotReadyError(name)
        if pattern.total:
            return Query.of(pattern.at_epoch(int(older)), parameters, order)
        return query.on_index(older)

    def _page(
        self, query: Query, place: Place, limit: int, meter: Meter, deadline: Deadline
    ) -> tuple[list[Attributes], bool]:
        """Read one page, move *place* to its end, and return whether there is another."""
        rows: list[Attributes] = []
        reached: dict[int, Attributes] = {}  # the last row of each shard
        more = False
        # One row more than the limit shows whether there is another page.
        for shard, row in self._run(query, place.positions, limit + 1, meter, deadline):
            past = query.is_past(row, place.last)
            if not past and len(rows) == limit:
                more = True
                break
            reached[shard] = row
            if not past:
                rows.append(row)
        for shard, row in reached.items():
            place.positions[shard] = query.position(row)
        place.last = query.position(rows[-1]) if rows else place.last
        return rows, more

    def _run(
        self,
        query: Query,
        positions: Positions,
        page_size: int,
        meter: Meter,
        deadline: Deadline,
    ) -> Iterator[tuple[int, Attributes]]:
        """Merge all shards from their positions on; read the first page of each concurrently."""
        reader = (
            TotalReader(self.reader.totals, query.pattern) if query.pattern.total else self.reader
        )
        shards = [
            reader.rows(
                condition,
                after=after,
                page_size=page_size,
                descending=query.descending,
                consistent=query.pattern.consistent,
                deadline=deadline,
                meter=meter,
            )
            for condition, after in zip(query.conditions, positions, strict=True)
        ]
        firsts = map_concurrently(lambda shard: list(islice(shard, 1)), shards, self.pool)
        runs = [chain(first, shard) for first, shard in zip(firsts, shards, strict=True)]
        return merged(runs, query.sort, descending=query.descending)

    def _joined(
        self, pattern: AccessPattern, rows: list[Attributes], deadline: Deadline
    ) -> list[ResultRow]:
        """Read the joined rows, each once."""
        if not pattern.joins:
            return [ResultRow(_shown(pattern, row)) for row in rows]
        join_keys = [{join.name: join.key(row) for join in pattern.joins} for row in rows]
        keys = dict.fromkeys(key for names in join_keys for key in names.values() if key)
        joined = self.reader.get(list(keys), deadline=deadline)
        return [
            ResultRow(
                _shown(pattern, row),
                {name: joined.get(key) if key else None for name, key in names.items()},
            )
            for row, names in zip(rows, join_keys, strict=True)
        ]


def _shown(pattern: AccessPattern, row: Attributes) -> Attributes:
    """Return what is shown of a row: of a total, its key and its data, which has the group."""
    if not pattern.total:
        return row
    return {name: row[name] for name in (PK.name, SK.name, DATA)}
