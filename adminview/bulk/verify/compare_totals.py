"""Compare the totals that one run has read with the sums that another run has added up.

A segment is a slot of the chunks of both runs. It is loaded into memory. If it has too many groups,
it is divided into parts, and loaded once for each part.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import chain, islice
from typing import Any, Final

from adminview.aws.deadline import Deadline
from adminview.aws.table_scanner import ScanPage
from adminview.bulk.segment import Segment
from adminview.bulk.task import JobResult, Task
from adminview.bulk.verify.group_chunks import SLOTS, Entries, walk
from adminview.bulk.verify.totals import (
    COUNTED,
    PAGE_ITEMS,
    TotalsAccess,
    amounts_from_json,
    amounts_to_json,
    from_json,
    to_json,
)
from adminview.model.row import Attributes
from adminview.model.total import COUNT
from adminview.totals.changes import ZERO, Amounts, Group, add
from adminview.totals.comparison import (
    ABSENT,
    GroupName,
    StoredTotal,
    TotalDifference,
    part_of,
    without_zeros,
)
from adminview.totals.update import expire_unused

ENTRIES_AT_ONCE: Final = 40_000  # about 20 MB; a function may compare several slots at once
MOST_DELETED: Final = 500  # items of chunks, in a page
CHUNKS: Final = "chunks"  # in an intent, in the place of a partition key
CHUNKS_AT_ONCE: Final = 50  # that are loaded before the lease is renewed, if that is due

Part = tuple[int, int]  # which one, of how many


@dataclass(frozen=True, slots=True)
class ComparedGroup:
    """A group whose total was not the sum of its rows."""

    group: Group
    before: StoredTotal
    expected: Amounts

    def to_json(self) -> dict[str, Any]:
        return {
            "group": list(self.group),
            "before": to_json(self.before),
            "expected": amounts_to_json(self.expected),
            "weight": 1,
        }

    @classmethod
    def of(cls, entry: Any) -> "ComparedGroup":
        partition, sort = entry["group"]
        before, expected = from_json(entry["before"]), amounts_from_json(entry["expected"])
        return cls((partition, sort), before, expected)


@dataclass(slots=True)
class SlotMemory:
    """The groups of one part of a slot, while they are loaded and compared."""

    part: Part
    chunks: Iterator[tuple[bool, Entries]]  # whether they are sums; and entries
    deadline: Deadline
    before: dict[Group, StoredTotal] = field(default_factory=dict)
    sums: dict[Group, Amounts] = field(default_factory=dict)
    groups: list[Group] | None = None  # in order; None while they are loaded

    def load(self) -> None:
        """Load some chunks; divide the part as often as it has too many groups."""
        taken = 0
        for is_sum, entries in islice(self.chunks, CHUNKS_AT_ONCE):
            taken += 1
            for group, entry in walk(entries):
                if not _is_in(group, self.part):
                    continue
                if is_sum:
                    add(self.sums.setdefault(group, {}), amounts_from_json(entry))
                else:
                    self.before[group] = from_json(entry)
            while len(self.before) + len(self.sums) > ENTRIES_AT_ONCE:
                self._divide()
        if taken < CHUNKS_AT_ONCE:
            self.groups = sorted(self.before.keys() | self.sums.keys())

    def _divide(self) -> None:
        number, of = self.part
        self.part = number, of * 2
        self.before = {
            group: total for group, total in self.before.items() if _is_in(group, self.part)
        }
        self.sums = {group: sums for group, sums in self.sums.items() if _is_in(group, self.part)}


@dataclass(frozen=True, slots=True)
class PageOfCandidates(ScanPage):
    """Groups that were compared, and those whose total was not the sum of its rows."""

    candidates: Sequence[ComparedGroup] = ()
    compared: int = 0


@dataclass(frozen=True, slots=True)
class PageOfChunks(ScanPage):
    """Chunks of a slot that was compared."""

    keys: Sequence[Attributes] = ()


@dataclass(frozen=True, slots=True)
class CompareTotals(Task):
    """Compares a slot, and then deletes its chunks. Its counts add up.

    totals = equal + in_flight + changing + abandoned + differing
    """

    access: TotalsAccess
    totals: tuple[str, int]  # the run that has read the totals, and its generation
    sums: tuple[str, int]  # the run that has added up the rows, and its generation
    max_items: int = PAGE_ITEMS
    # The slots that are being compared, perhaps by several threads.
    memory: dict[int, SlotMemory] = field(default_factory=dict)

    def read(
        self, segment: Segment, start: Attributes | None, limit: int, deadline: Deadline
    ) -> ScanPage:
        place: dict[str, Any] = start or {"parts": [[0, 1]], "after": None}
        if not place["parts"]:
            return self._read_chunks(segment.number, place, deadline)
        parts = [(number, of) for number, of in place["parts"]]
        memory = self._memory(segment.number, parts[0], deadline)
        if memory.groups is None:
            try:
                memory.load()
            except BaseException:
                del self.memory[segment.number]
                raise
            return ScanPage([], 0, place)
        after = place["after"]
        first = bisect_right(memory.groups, tuple(after)) if after else 0
        groups = memory.groups[first : first + limit]
        left = _siblings(parts[0], memory.part) + parts[1:]
        last: dict[str, Any] = {"parts": left, "after": None}
        if first + limit < len(memory.groups):
            last = {"parts": [memory.part, *left], "after": list(groups[-1])}
        compared = [
            ComparedGroup(
                group, memory.before.get(group, ABSENT), without_zeros(memory.sums.get(group, {}))
            )
            for group in groups
        ]
        compared = [group for group in compared if group.before.amounts or group.expected]
        candidates = [group for group in compared if group.before.amounts != group.expected]
        return PageOfCandidates([], len(groups), last, "", candidates, len(compared))

    def plan(self, page: ScanPage, deadline: Deadline) -> "ComparedTotals | DeletedChunks":
        """Read the candidates again: most of them have changed, or a change was in flight."""
        if isinstance(page, PageOfChunks):
            return DeletedChunks(self, page.keys)
        if not isinstance(page, PageOfCandidates):
            return ComparedTotals(JobResult(Counter()))
        candidates, result = page.candidates, JobResult(Counter())
        after = self.access.get([candidate.group for candidate in candidates], deadline)
        result.counts[f"{COUNTED}totals"] = page.compared
        result.counts[f"{COUNTED}equal"] = page.compared - len(candidates)
        due = self.access.now() + self.access.scope.grace
        for candidate in candidates:
            verdict = _verdict(candidate, after.get(candidate.group, ABSENT))
            if verdict:
                result.counts[f"{COUNTED}{verdict}"] += 1
            else:
                result.later.append([due, candidate.to_json()])
        return ComparedTotals(result)

    def plan_check(self, entries: Sequence[Any], deadline: Deadline) -> "CheckedTotals":
        """Read candidates again after the grace period, and decide."""
        access, result, abandoned = self.access, JobResult(Counter()), []
        candidates = [ComparedGroup.of(entry) for entry in entries]
        after = access.get([candidate.group for candidate in candidates], deadline)
        for candidate in candidates:
            group, stored = candidate.group, after.get(candidate.group, ABSENT)
            verdict = _verdict(candidate, stored)
            if not verdict and not candidate.expected and not access.declared(group[0]):
                verdict = "abandoned"
                abandoned.append([*group, str(stored.amounts.get(COUNT, ZERO))])
            elif not verdict:
                verdict = "differing"
                name = GroupName.of(group, access.totals)
                difference = TotalDifference.between(name, candidate.expected, stored.amounts)
                result.findings.append(difference.to_json())
            result.counts[f"{COUNTED}{verdict}"] += 1
        return CheckedTotals(self, result, abandoned if access.scope.repair else [])

    def recover_intent(self, intent: Sequence[Any], deadline: Deadline) -> JobResult:
        """Let abandoned totals expire, if they still have the same count."""
        access = self.access
        requests = [
            expire_unused(access.table, (partition, sort), Decimal(count), access.now())
            for partition, sort, count in intent
            if partition != CHUNKS
        ]
        return JobResult(access.expire(requests, deadline))

    def _read_chunks(self, slot: int, place: Attributes, deadline: Deadline) -> "PageOfChunks":
        """Read which chunks to delete, after the slot was compared."""
        self.memory.pop(slot, None)
        keys: list[Any] = []
        for run, generation in (self.totals, self.sums):
            most = MOST_DELETED - len(keys)
            keys += self.access.store.keys(run, generation, slot, most, deadline) if most else []
        return PageOfChunks([], 0, place if len(keys) == MOST_DELETED else None, keys=keys)

    def _memory(self, slot: int, part: Part, deadline: Deadline) -> SlotMemory:
        """Return the slot in memory, or begin to load it."""
        known = self.memory.get(slot)
        if known and known.part[0] == part[0]:
            known.deadline = deadline
            return known

        def read(run: str, generation: int) -> Iterator[Entries]:
            return self.access.store.read(run, generation, slot, lambda: memory.deadline)

        chunks = chain(
            ((False, entries) for entries in read(*self.totals)),
            ((True, entries) for entries in read(*self.sums)),
        )
        memory = self.memory[slot] = SlotMemory(part, chunks, deadline)
        return memory


@dataclass(frozen=True, slots=True)
class ComparedTotals:
    """The comparison of a page. It has nothing to write."""

    result: JobResult

    @property
    def intent(self) -> list[Any]:
        return []

    def execute(self, deadline: Deadline) -> JobResult:  # noqa: ARG002 - makes no call
        return self.result


@dataclass(frozen=True, slots=True)
class CheckedTotals:
    """Decided candidates, and the abandoned totals that must expire."""

    task: CompareTotals
    checked: JobResult
    intent: list[Any]

    def execute(self, deadline: Deadline) -> JobResult:
        return self.task.recover_intent(self.intent, deadline)


@dataclass(frozen=True, slots=True)
class DeletedChunks:
    """The deletion of chunks. It has an intent, so that no worker compares the slot again."""

    task: CompareTotals
    keys: Sequence[Attributes]

    @property
    def intent(self) -> list[Any]:
        return [[CHUNKS, "", "0"]]

    def execute(self, deadline: Deadline) -> JobResult:
        self.task.access.store.delete(self.keys, deadline)
        return JobResult(Counter())


def _verdict(candidate: ComparedGroup, stored: StoredTotal) -> str:
    """Return what a total is counted as; empty if it differs and has not changed."""
    if stored.amounts == candidate.expected:
        return "in_flight"
    return "" if stored == candidate.before else "changing"


def _is_in(group: Group, part: Part) -> bool:
    """Return whether a group of a slot is in a part: other bits of its hash than the slot's."""
    number, of = part
    return part_of(group, SLOTS * of) // SLOTS == number


def _siblings(part: Part, divided: Part) -> list[Part]:
    """Return the other parts that a part was divided into."""
    of = divided[1]
    return [(number, of) for number in range(part[0], of, part[1]) if number != part[0]]
