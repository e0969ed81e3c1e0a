"""Queries over shards, local indexes and joins, on real engines."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest

from adminview.local.local_cloud import LocalCloud
from adminview.model import (
    AccessPattern,
    Index,
    Item,
    LocalIndex,
    Registry,
    Row,
    Source,
    number,
    view,
)
from tests.support.model import USER, order

logs = Source("Logs", partition_key="id")
by_level = Index("ByLevel", partition="level", sort=number("at"), include=["data"], shards=4)
by_size = LocalIndex("BySize", sort=number("size"), include=["data"])
DATA = {
    "of_level": AccessPattern("of-level", index=by_level, partition="{level}"),
    "since": AccessPattern("since", index=by_level, partition="{level}", sort_after="{at}"),
    "between": AccessPattern(
        "between", index=by_level, partition="{level}", sort_between=("{start}", "{end}")
    ),
    "large": AccessPattern(
        "large",
        index=by_size,
        partition="HOST#{host}",
        sort_from="{size}",
        optional=["size"],
        descending=True,
        consistent=True,
    ),
}


@view(logs)
def log(item: Item) -> Iterator[Row]:
    """List a log under its host, by level and by size."""
    yield Row(
        f"HOST#{item['host']}",
        f"LOG#{item['id']}",
        data=item.pick("id"),
        indexes=[by_level(item["level"], item["at"]), by_size(item["size"])],
    )


@pytest.fixture
def cloud(start: Callable[[Registry], LocalCloud]) -> LocalCloud:
    """Start with forty logs of two hosts, every fifth an error."""
    module = ModuleType("logs")
    module.__dict__.update(logs=logs, log=log, by_level=by_level, by_size=by_size, **DATA)
    cloud = start(replace(Registry.of([module]), modules=()))
    for place in range(40):
        level = "ERROR" if place % 5 == 0 else "INFO"
        item = {"id": f"{place:02d}", "host": f"h{place % 2}", "level": level, "at": place}
        cloud.put("Logs", item | {"size": place * 7 % 40})
    cloud.settle()
    return cloud


def ids(answered: Any) -> list[int]:
    return [int(result.row["data"]["M"]["id"]["S"]) for result in answered]


@pytest.mark.parametrize("limit", [1, 3, 7, 50])
@pytest.mark.parametrize("order_", ["asc", "desc"])
def test_a_sharded_index_is_read_in_order_page_by_page(
    cloud: LocalCloud, limit: int, order_: str
) -> None:
    shown_ids = ids(cloud.query_engine.rows("of-level", level="ERROR", limit=limit, order=order_))
    assert shown_ids == sorted(range(0, 40, 5), reverse=order_ == "desc")
    assert ids(cloud.query_engine.rows("since", level="ERROR", at=25)) == [30, 35]
    assert ids(cloud.query_engine.rows("between", level="ERROR", start=10, end=25, limit=2)) == [
        10,
        15,
        20,
        25,
    ]
    assert cloud.query_engine.count("of-level", level="INFO") == 32


def test_a_local_index_gives_another_order_and_is_read_consistently(cloud: LocalCloud) -> None:
    sizes = {place: place * 7 % 40 for place in range(0, 40, 2)}
    expected = sorted(sizes, key=lambda place: -sizes[place])
    assert ids(cloud.query_engine.rows("large", host="h0", limit=3)) == expected
    large = [place for place in expected if sizes[place] >= 20]
    assert ids(cloud.query_engine.rows("large", host="h0", size=20)) == large


def test_a_page_states_its_cost(cloud: LocalCloud) -> None:
    answer = cloud.query_engine.page("of-level", level="ERROR", limit=50)
    assert answer.meter.calls == 4, "a call for each shard"
    assert answer.meter.units > 0


def test_buyers_of_a_product_come_with_their_profiles(
    start: Callable[[Registry], LocalCloud],
) -> None:
    from tests.support.model import registry  # noqa: PLC0415 - beside the model above

    cloud = start(registry())
    cloud.put("Users", USER)
    for place in range(120):
        cloud.put("Orders", order(CustomerId=f"user-{place % 110}", SK=f"2025-01-01#{place}"))
    for place in range(0, 110, 2):
        cloud.put("Users", USER | {"userId": f"user-{place}", "name": f"name {place}"})
    cloud.settle()
    answered = list(
        cloud.query_engine.rows("buyers-of-product", product_id="product-def-789", limit=1000)
    )
    assert len(answered) == 120
    for result in answered:
        buyer = result.row["GSI2_SK"]["S"].removeprefix("USER#user-")
        profile = result.joined["profile"]
        if int(buyer) % 2:
            assert profile is None, "a buyer without a profile is still a buyer"
        else:
            assert profile
            assert profile["data"]["M"]["name"] == {"S": f"name {buyer}"}
