"""The deployed state and the declared model, as plain data for a plan."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

from adminview.aws.table_description import TableIndex
from adminview.bulk.completions import Marker
from adminview.cli.model_lock.model_diff import Description, Shape

# By access pattern: the index, or the epoch of its total, that serves it meanwhile; None if none.
PendingPatterns: TypeAlias = Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class RowCounts:
    """Sampled rows of the view, by source and by the model that wrote them."""

    counts: Mapping[tuple[str, str], int] = field(default_factory=dict)

    def sources(self) -> set[str]:
        return {source for source, _ in self.counts}

    def older(self, source: str, model: str) -> int:
        """Count the rows of a source that another model wrote."""
        return sum(
            count
            for (owner, writer), count in self.counts.items()
            if owner == source and writer != model
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployed:
    """The deployed state. None stands for a part that does not exist."""

    sync: Description | None = None  # the model of the sync function
    recovery: str | None = None  # the fingerprint of the repair functions
    api: Description | None = None  # the model of the API
    pending: PendingPatterns = field(default_factory=dict)
    watch: str | None = None  # what the alarms cover
    indexes: tuple[TableIndex, ...] | None = None  # of the view table
    stream: bool = False  # whether the View stack gives the view table a stream
    totals: bool = False  # whether the Totals stack exists
    tables: frozenset[str] = frozenset()  # sources whose tables are in the Sources stack
    imported: frozenset[str] = frozenset()  # sources whose tables other stacks own
    warm_writes: int = 0  # write units per second that the view table takes at once; 0 if unknown
    items: Mapping[str, int] = field(default_factory=dict)  # approximate number by source
    markers: Mapping[str, Marker] = field(default_factory=dict)
    # By source: the index attributes that stale rows may have; None if swept since.
    sweeps: Mapping[str, frozenset[str] | None] = field(default_factory=dict)
    rows: RowCounts = field(default_factory=RowCounts)
    code_at: float | None = None  # when code of functions that write was last replaced
    busy_until: float = 0.0  # until then a bulk worker of another model may run
    api_at: float | None = None  # when code of the API was last replaced

    def index(self, name: str | None) -> TableIndex | None:
        return next((index for index in self.indexes or () if index.name == name), None)

    def live(self) -> Iterator[tuple[str, Shape, str | None]]:
        """Yield the access patterns that the API serves now: name, shape, and index in use.

        One on a total uses no index of the view.
        """
        for shape in self.api["patterns"] if self.api else ():
            name = shape["name"]
            if name in self.pending and self.pending[name] is None:
                continue
            used = None if "total" in shape else self.pending.get(name) or shape["index"]
            if not used or self.indexes is None or self.index(used):
                yield name, shape, used

    def total_in_use(self, pattern: Shape) -> Shape | None:
        """Return the total that an access pattern of the API reads, at the epoch in use."""
        if self.api is None or "total" not in pattern:
            return None
        total = Declared(self.api).totals[pattern["total"]]
        older = self.pending.get(pattern["name"])
        return {**total, "epoch": [int(older), 0]} if older else total


@dataclass(frozen=True)
class Declared:
    """The model that the local view files declare."""

    model: Description

    @property
    def fingerprint(self) -> str:
        return str(self.model["fingerprint"])

    @property
    def code(self) -> dict[str, str]:
        """The digest of each source's code."""
        code: dict[str, str] = self.model["code"]
        return code

    @property
    def sources(self) -> list[str]:
        return [shape["name"] for shape in self.model["sources"]]

    @cached_property
    def indexes(self) -> dict[str, TableIndex]:
        return {shape["name"]: TableIndex.of(shape) for shape in self.model["indexes"]}

    @property
    def patterns(self) -> list[Shape]:
        return list(self.model["patterns"])

    @property
    def totals(self) -> dict[str, Shape]:
        # Descriptions of releases before totals have none.
        return {shape["name"]: shape for shape in self.model.get("totals", ())}

    @property
    def has_totals(self) -> bool:
        return bool(self.totals)

    def unbuilt(self, deployed: Deployed) -> list[str]:
        """Return the sources whose rows may differ from what this model derives."""
        return [name for name in self.sources if not self._is_built(name, deployed)]

    def _is_built(self, source: str, deployed: Deployed) -> bool:
        marker, sync = deployed.markers.get(source), deployed.sync
        if marker is None or marker.code != self.code[source]:
            return False
        # Other code may have been deployed since the backfill.
        return sync is None or sync["code"].get(source) == marker.code


def shards_of(shape: Mapping[str, Any]) -> tuple[int, int]:
    """Return how many shards of an index are written, and how many a query reads."""
    now, before = shape.get("shards", (1, 0))
    return now, max(now, before)
