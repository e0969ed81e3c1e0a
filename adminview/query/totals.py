"""Reads totals as rows: one per group, with its count, sums and averages in `data`."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from adminview.aws.deadline import Deadline
from adminview.aws.view_reader import Meter, ViewReader
from adminview.model import AccessPattern, KeyCondition
from adminview.model.row import Attributes, key_of
from adminview.model.total import RANK

GET_LIMIT = 100  # items per BatchGetItem


@dataclass(frozen=True, slots=True)
class TotalReader:
    """Reads the totals of one access pattern. Totals that no row counts for are left out."""

    reader: ViewReader
    pattern: AccessPattern

    def rows(  # noqa: PLR0913 - as of ViewReader
        self,
        condition: KeyCondition,
        *,
        after: Attributes | None,
        page_size: int | None,
        descending: bool,
        consistent: bool,
        deadline: Deadline,
        meter: Meter,
    ) -> Iterator[Attributes]:
        """Yield the totals of a key condition in key order, or in the order of their ranks."""
        assert self.pattern.total
        items: Iterable[Attributes] = self.reader.rows(
            condition,
            after=after,
            # Empty totals are read and left out: small pages would take many calls.
            page_size=max(page_size or 0, GET_LIMIT),
            descending=descending,
            consistent=consistent,
            deadline=deadline,
            meter=meter,
        )
        if self.pattern.ranked:
            items = self._whole(items, page_size or GET_LIMIT, deadline)
        for item in items:
            if row := self.pattern.total.row_of(item):
                yield {**row, RANK: item[RANK]} if self.pattern.ranked else row

    def _whole(
        self, entries: Iterable[Attributes], page_size: int, deadline: Deadline
    ) -> Iterator[Attributes]:
        """Read the items of index entries. The entry keeps its rank, which positions are made of.

        The index has only keys: with more, each update of a total would cost more.
        """
        remaining = iter(entries)
        while batch := list(islice(remaining, min(page_size, GET_LIMIT))):
            items = self.reader.get([key_of(entry) for entry in batch], deadline=deadline)
            for entry in batch:
                if item := items.get(key_of(entry)):
                    yield {**item, RANK: entry[RANK]}
