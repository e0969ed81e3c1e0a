"""Compare the totals with the contributions on the rows, while both keep changing.

A scan is no snapshot: a row may move to another group after it was read. So the sum of a scan is
exact only for a group that did not change during the scan. A verification has three runs:

    read the totals, wait, add up all rows, compare; wait, read the totals that differ again

Each wait is the grace period: the time within which a change reaches its total and all readers.
Every update of a total moves a position. If a total has the same positions before and after, no
row of its group changed during the scan: the sum is exact, and a difference is drift. A total that
has changed stays undecided: it is counted as neither equal nor drift.

A total is abandoned if its epoch or name is not declared any more and no row contributes to it.
Nothing reads it. A repair lets it expire.

The first two runs keep what they read as chunks, see `group_chunks`. The third has a segment for
each slot of the chunks, see `compare_totals`.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Final

from adminview.aws.deadline import Deadline
from adminview.aws.table_scanner import ScanPage, TableScanner
from adminview.aws.totals_table import expire_totals
from adminview.bulk.segment import Segment
from adminview.bulk.task import JobResult, PageTooLargeError, Task
from adminview.bulk.verify.group_chunks import (
    CONTENT_BYTES,
    POSITION_BYTES,
    Chunk,
    ChunkStore,
    Entries,
    Position,
    put,
    size,
)
from adminview.bulk.verify.scope import SHARES, Scope
from adminview.model.row import TOTALS, Attributes
from adminview.model.total import ALL_TOTALS, EXPIRES, INTERNAL, PROBE, Total, totals_table
from adminview.totals.changes import Amounts, Group, add, contributions
from adminview.totals.comparison import StoredTotal, group_of, part_of
from adminview.totals.update import expire_leftover, key_of_group

PAGE_ITEMS: Final = 2000
COUNTED: Final = f"{ALL_TOTALS}/"  # begins the names of counts, as the names of sources do


@dataclass(frozen=True, slots=True)
class TotalsAccess:
    """What the runs of a verification of totals need."""

    view_table: str
    reader: TableScanner
    store: ChunkStore
    client: Any  # DynamoDB, or a Metered
    scope: Scope
    now: Callable[[], float]
    totals: Sequence[Total]  # that are declared
    check_deployed: Callable[[], object]  # raises if nothing may be repaired

    @property
    def table(self) -> str:
        return totals_table(self.view_table)

    def declared(self, partition: str) -> bool:
        """Return whether a partition key is of a declared total and epoch."""
        return any(total.has(partition) for total in self.totals)

    def chosen(self, group: Group, generation: int) -> bool:
        """Return whether a group is in the sample; *generation* is that of the first run."""
        if self.scope.sample == 1:
            return True
        return part_of((f"{generation}", *group), SHARES) < self.scope.sample * SHARES

    def get(self, groups: Collection[Group], deadline: Deadline) -> dict[Group, StoredTotal]:
        """Read totals consistently."""
        keys = [key_of_group(group) for group in groups]
        items = self.reader.get(self.table, keys, deadline=lambda: deadline, consistent=True)
        return {group_of(item): StoredTotal.of(item) for item in items}

    def expire(self, requests: Sequence[dict[str, Any]], deadline: Deadline) -> Counter[str]:
        """Let totals expire, and count those that still had to."""
        if requests:
            self.check_deployed()
        expired = sum(expire_totals(self.client, request, deadline) for request in requests)
        return Counter({f"{COUNTED}repaired": expired})


@dataclass(frozen=True, slots=True)
class PageOfGroups(ScanPage):
    """A page whose groups are in the position that follows it, or in a chunk."""

    chunk: Chunk | None = None
    counts: Counter[str] = field(default_factory=Counter)
    requests: Sequence[dict[str, Any]] = ()  # of a repair


@dataclass(frozen=True, slots=True)
class ReadTotals(Task):
    """Reads the amounts and the version of each total."""

    access: TotalsAccess
    max_items: int = PAGE_ITEMS

    def read(
        self, segment: Segment, start: Attributes | None, limit: int, deadline: Deadline
    ) -> ScanPage:
        access, before = self.access, Position.of(start)
        page = access.reader.page(
            access.table,
            segment.part,
            before.after,
            deadline=lambda: deadline,
            limit=limit,
            ConsistentRead=True,
        )
        entries, requests = _copy(before.entries), []
        for item in page.items:
            group = group_of(item)
            if group[0].startswith(INTERNAL) and not group[0].startswith(PROBE):
                continue  # an archive
            # An undeclared total that expires counts as deleted.
            gone = EXPIRES in item and not access.declared(group[0])
            if not gone and access.chosen(group, segment.generation):
                put(entries, group, to_json(StoredTotal.of(item)))
                if request := expire_leftover(access.table, item, access.now()):
                    requests.append(request)
        counts = Counter({f"{COUNTED}forgotten": len(requests)})
        return replace(next_page(segment, before, page, entries, counts), requests=requests)

    def plan(self, page: ScanPage, deadline: Deadline) -> "WriteGroups":  # noqa: ARG002
        return WriteGroups.of(self.access, page)

    def recover_intent(self, intent: Sequence[Any], deadline: Deadline) -> JobResult:  # noqa: ARG002
        return JobResult(Counter())


@dataclass(frozen=True, slots=True)
class AddUpRows(Task):
    """Adds up the contributions on the rows."""

    access: TotalsAccess
    not_before: float  # the changes that the totals may lack have reached them and all readers
    max_items: int = PAGE_ITEMS

    def read(
        self, segment: Segment, start: Attributes | None, limit: int, deadline: Deadline
    ) -> ScanPage:
        access, before = self.access, Position.of(start)
        page = access.reader.page(
            access.view_table,
            segment.part,
            before.after,
            deadline=lambda: deadline,
            limit=limit,
            **WITH_CONTRIBUTIONS,
        )
        entries = _copy(before.entries)
        for group, amounts in sums_of(page.items).items():
            if access.chosen(group, access.scope.after):
                known = entries.get(group[0], {}).get(group[1], {})
                add(amounts, amounts_from_json(known))
                put(entries, group, amounts_to_json(amounts))
        counts = Counter({f"{COUNTED}scanned": page.scanned})
        return next_page(segment, before, page, entries, counts)

    def plan(self, page: ScanPage, deadline: Deadline) -> "WriteGroups":  # noqa: ARG002
        return WriteGroups.of(self.access, page)

    def recover_intent(self, intent: Sequence[Any], deadline: Deadline) -> JobResult:  # noqa: ARG002
        return JobResult(Counter())


WITH_CONTRIBUTIONS: Final[Mapping[str, Any]] = {
    "ProjectionExpression": "#totals",
    "FilterExpression": "attribute_exists(#totals)",
    "ExpressionAttributeNames": {"#totals": TOTALS},
}


@dataclass(frozen=True, slots=True)
class WriteGroups:
    """The work on a page: write the chunk that it completes, and repair.

    It needs no intent. A worker that repeats the page overwrites the chunk.
    """

    access: TotalsAccess
    page: PageOfGroups
    contents: Sequence[bytes]

    @classmethod
    def of(cls, access: TotalsAccess, page: ScanPage) -> "WriteGroups":
        assert isinstance(page, PageOfGroups)
        contents = page.chunk.contents() if page.chunk else []
        if len(page.items) > 1 and max(map(len, contents), default=0) > CONTENT_BYTES:
            raise PageTooLargeError
        return cls(access, page, contents)

    @property
    def intent(self) -> list[Any]:
        return []

    def execute(self, deadline: Deadline) -> JobResult:
        counts = self.page.counts
        if self.page.chunk:
            self.access.store.write(self.page.chunk, self.contents, deadline)
        if self.access.scope.repair:
            counts = counts + self.access.expire(self.page.requests, deadline)
        return JobResult(Counter(counts))


def next_page(
    segment: Segment, before: Position, page: ScanPage, entries: Entries, counts: Counter[str]
) -> PageOfGroups:
    """Return the page with the position after it, and the chunk that it completes, if any."""
    last = page.last is None
    chunk = None
    after = Position(page.last, before.chunks, entries)
    if last or size(entries) > POSITION_BYTES:
        chunk = Chunk(segment, before.chunks, entries, last)
        after = Position(page.last, before.chunks + 1)
    start = None if last else after.to_json()
    return PageOfGroups(page.items, page.scanned, start, page.table, chunk, counts)


def sums_of(rows: Sequence[Attributes]) -> dict[Group, Amounts]:
    """Add up the contributions of rows; malformed ones are skipped."""
    sums: dict[Group, Amounts] = {}
    for row in rows:
        for group, amounts in contributions(row)[0].items():
            add(sums.setdefault(group, {}), amounts)
    return sums


def to_json(stored: StoredTotal) -> list[Any]:
    return [amounts_to_json(stored.amounts), stored.version]


def from_json(entry: Sequence[Any]) -> StoredTotal:
    amounts, version = entry
    return StoredTotal(amounts_from_json(amounts), version)


def amounts_to_json(amounts: Amounts) -> dict[str, str]:
    return {name: str(amount) for name, amount in amounts.items()}


def amounts_from_json(amounts: Mapping[str, str]) -> Amounts:
    return {name: Decimal(amount) for name, amount in amounts.items()}


def _copy(entries: Entries) -> Entries:
    return {partition: dict(sorts) for partition, sorts in entries.items()}
