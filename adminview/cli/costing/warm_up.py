"""The one-time cost of warm throughput: the writes per second that a table takes at once."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from adminview.aws.table_description import TableDescription
from adminview.cli.costing.prices import Prices
from adminview.model import Registry

NEW_TABLE: Final = 4_000  # write units per second of a new table or index, set by DynamoDB
TABLE: Final = "the view table"


@dataclass(frozen=True, slots=True)
class WarmUpCost:
    """What it costs to raise the view table and its indexes to *peak* write units per second."""

    peak: int
    warm: Mapping[str, int]  # now, of the table and of each of its own indexes

    @classmethod
    def of_new(cls, peak: int, registry: Registry) -> "WarmUpCost":
        """Assume a new table."""
        names = [index.name for index in registry.indexes if not index.local]
        return cls(peak, dict.fromkeys([TABLE, *names], NEW_TABLE))

    @classmethod
    def of_table(cls, peak: int, table: TableDescription) -> "WarmUpCost":
        """Take what DynamoDB reports of a table."""
        own = {index.name: index.warm_writes for index in table.indexes if not index.local}
        known = {TABLE: table.warm_writes, **own}
        return cls(peak, {name: units or NEW_TABLE for name, units in known.items()})

    @property
    def raised(self) -> Mapping[str, int]:
        """The write units per second to add, by table and index."""
        return {name: self.peak - units for name, units in self.warm.items() if units < self.peak}

    def dollars(self, prices: Prices) -> float:
        """Return what AWS charges, once."""
        return sum(self.raised.values()) / 1000 * prices.warm_throughput

    def data(self, prices: Prices) -> dict[str, Any]:
        """Return the cost as JSON data."""
        return {
            "peakWriteUnits": self.peak,
            "raised": dict(self.raised),
            "dollars": self.dollars(prices),
        }
