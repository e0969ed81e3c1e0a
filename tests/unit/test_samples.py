"""A sample is taken from several places of a table, and a table is described in one way."""

from typing import Any, cast

import pytest

from adminview.aws.deadline import Deadline
from adminview.aws.table_description import TableDescription, TableIndex
from adminview.aws.table_scanner import SPREAD, Sample, TableScanner
from adminview.local.tables import source_table, view_table
from tests.support.fakes import NO_WAIT
from tests.support.model import registry


class FakeTable:
    """A table of so many items in each of its places, and what DynamoDB believes it has."""

    def __init__(self, each: int, believed: int = 0) -> None:
        self.each, self.believed = each, believed
        self.requests: list[tuple[int, int]] = []  # place and limit

    def scan(self, **request: Any) -> Any:
        place, limit = request["Segment"], request["Limit"]
        self.requests.append((place, limit))
        begin = int(request.get("ExclusiveStartKey", {"id": {"N": "0"}})["id"]["N"])
        end = min(begin + limit, self.each)
        items = [{"id": {"N": f"{place}.{number}"}} for number in range(begin, end)]
        more = {"LastEvaluatedKey": {"id": {"N": str(end)}}} if end < self.each else {}
        return {"Items": items, "ScannedCount": len(items), **more}

    def describe_table(self, **_: Any) -> Any:
        return {"Table": {"ItemCount": self.believed}}

    def sample(self, most: int | None) -> Sample:
        reader = TableScanner(cast("Any", self), backoff=NO_WAIT)
        return Sample(reader, "Things", most, lambda: Deadline.after(60))


def test_a_sample_has_as_many_items_of_each_place() -> None:
    table = FakeTable(each=100, believed=790)
    sample = table.sample(24)
    assert len({item["id"]["N"].partition(".")[0] for item in sample}) == SPREAD
    assert table.requests == [(place, 3) for place in range(SPREAD)]
    assert (sample.taken, sample.whole, sample.count()) == (24, False, 790)


@pytest.mark.parametrize("most", [None, 25, 1000])
def test_a_sample_of_more_than_there_is_is_the_whole_table(most: int | None) -> None:
    sample = FakeTable(each=3, believed=7).sample(most)
    items = [item["id"]["N"] for item in sample]
    assert len(items) == len({*items}) == 3 * SPREAD
    assert (sample.whole, sample.count()) == (True, 3 * SPREAD)
    assert FakeTable(each=0).sample(most).count() == 0


def test_a_table_has_no_fewer_items_than_were_seen() -> None:
    sample = FakeTable(each=5, believed=1).sample(16)
    assert len([*sample]) == sample.count() == 16


def test_a_table_is_described_as_it_is_created() -> None:
    """A template, CreateTable and DescribeTable say the same in the same words."""
    declared = TableDescription.of(view_table(registry(), "AdminViewTable"))
    assert [*declared.indexes] == [
        TableIndex.of(index.shape()) for index in registry().indexes if not index.local
    ] + [TableIndex.of(index.shape()) for index in registry().indexes if index.local]
    orders = TableDescription.of(source_table(registry().source("Orders"), "Orders"))
    assert [name for name, _ in orders.key] == [key.name for key in registry().source("Orders").key]
    assert orders.stream_type == "NEW_AND_OLD_IMAGES"


@pytest.mark.parametrize("index", registry().indexes, ids=lambda index: str(index.name))
def test_an_index_that_is_read_can_be_declared_again(index: Any) -> None:
    read = TableIndex.of(index.shape())
    if not index.local and not index.shard:
        assert TableIndex.of(read.declaration().shape()).is_equivalent(read)


def test_an_index_that_is_being_filled_is_not_ready() -> None:
    table = view_table(registry(), "AdminViewTable")
    first, second = table["GlobalSecondaryIndexes"][:2]
    first["Backfilling"], second["IndexStatus"] = True, "UPDATING"
    indexes = TableDescription.of(table).indexes
    assert [index.ready for index in indexes[:2]] == [False, True]
