"""Several sorted runs of rows -> one, in the order of their sort keys."""

from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from typing import Any, TypeAlias

from adminview.model.attribute import Attribute
from adminview.model.item import order
from adminview.model.row import Attributes

Placed: TypeAlias = tuple[int, Attributes]  # the shard a row comes from, and the row


def merged(
    runs: Sequence[Iterable[Attributes]], sort: Sequence[Attribute], *, descending: bool
) -> Iterator[Placed]:
    """Merge sorted runs; rows with equal sort keys keep the order of their shards."""
    placed = [_placed(shard, run) for shard, run in enumerate(runs)]
    return merge(*placed, key=lambda one: sort_order(one[1], sort), reverse=descending)


def _placed(shard: int, run: Iterable[Attributes]) -> Iterator[Placed]:
    for row in run:
        yield shard, row


def sort_order(row: Attributes, sort: Sequence[Attribute]) -> tuple[Any, ...]:
    """Say what a row is sorted by."""
    return tuple(order(row[attribute.name]) for attribute in sort)
