"""Access patterns that are not ready, and ones that move to another index, on real engines."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from adminview.cli.commands.query import app
from adminview.local.local_cloud import LocalCloud
from adminview.model import AccessPattern, Index, Item, Registry, Row, Source, number, view
from adminview.model.errors import PatternNotReadyError, QueryError, ServiceError
from adminview.query.engine import QueryEngine
from tests.support.api_client import Client

things = Source("Things", partition_key="id")
by_colour = Index("ByColour", partition="colour", sort=number("weight"))
by_colour_whole = Index(
    "ByColourWhole", partition="colour", sort=number("weight"), include=["data"]
)
by_size = Index("BySize", partition="size", include=["data"])
RED: dict[str, Any] = {"colour": "red", "limit": 2}


def model(**declared: Any) -> Registry:
    module = ModuleType("things")
    module.__dict__.update(things=things, **declared)
    return replace(Registry.of([module]), modules=())


@view(things)
def before(item: Item) -> Iterator[Row]:
    """Show a thing, by colour."""
    yield Row(
        "THINGS",
        item["id"],
        data=item.pick("id"),
        indexes=[by_colour(item["colour"], item["weight"])],
    )


@view(things)
def after(item: Item) -> Iterator[Row]:
    """Show a thing, by colour and by size."""
    yield Row(
        "THINGS",
        item["id"],
        data=item.pick("id"),
        indexes=[by_colour_whole(item["colour"], item["weight"]), by_size(item["size"])],
    )


OLD = model(
    before=before,
    by_colour=by_colour,
    of_colour=AccessPattern("of-colour", index=by_colour, partition="{colour}", shows=()),
)
NEW = model(
    after=after,
    by_colour_whole=by_colour_whole,
    by_size=by_size,
    of_colour=AccessPattern("of-colour", index=by_colour_whole, partition="{colour}"),
    of_size=AccessPattern("of-size", index=by_size, partition="{size}"),
)
# The table while the plan is under way has all indexes, old and new.
BOTH = replace(OLD, indexes=(by_colour, *NEW.indexes))
PENDING = {"of-colour": "ByColour", "of-size": None}


def put(cloud: LocalCloud, *places: int) -> None:
    for place in places:
        # Two of a weight each: nothing but their own keys tells them apart.
        item = {"id": f"{place:02d}", "colour": "red", "weight": place // 2, "size": "small"}
        cloud.put("Things", item)
    cloud.settle()


@pytest.fixture
def cloud(start: Callable[[Registry], LocalCloud]) -> LocalCloud:
    """Write seven things by the old views, and one by the new."""
    cloud = start(BOTH)
    put(cloud, *range(7))
    cloud.deploy(replace(NEW, indexes=BOTH.indexes))
    put(cloud, 7)
    return cloud


def engine_for(
    cloud: LocalCloud, registry: Registry, pending: dict[str, str | None]
) -> QueryEngine:
    return replace(cloud.query_engine, registry=registry, pending=pending)


def keys(results: Any) -> list[str]:
    return [result.row["SK"]["S"] for result in results]


def test_a_half_filled_index_is_not_queried_until_it_is_filled(cloud: LocalCloud) -> None:
    unguarded = engine_for(cloud, NEW, {})
    assert unguarded.count("of-size", size="small") == 1, "it would return one row of eight"
    cloud.registry, cloud.pending = NEW, PENDING
    engine = cloud.query_engine
    for query in (engine.page, engine.count, lambda *a, **k: list(engine.rows(*a, **k))):
        with pytest.raises(PatternNotReadyError, match="access pattern 'of-size' is not ready"):
            query("of-size", size="small")
    assert Client(engine).send("/patterns/of-size?size=small").status == 503
    for place in range(7):
        cloud.delete("Things", {"id": f"{place:02d}"})
    put(cloud, *range(7))  # written again, as by a backfill
    assert unguarded.count("of-size", size="small") == 8


def test_an_access_pattern_that_moves_has_all_its_rows_throughout(cloud: LocalCloud) -> None:
    old = engine_for(cloud, OLD, {})
    moving = engine_for(cloud, NEW, PENDING)
    moved = engine_for(cloud, NEW, {})
    rows = keys(old.rows("of-colour", **RED))
    assert sorted(rows) == [f"{place:02d}" for place in range(8)]
    assert keys(moving.rows("of-colour", **RED)) == rows
    assert sorted(keys(moved.rows("of-colour", **RED))) == sorted(rows)
    assert all("data" not in result.row for result in moving.rows("of-colour", **RED))
    assert all("data" in result.row for result in moved.rows("of-colour", **RED))
    assert moving.count("of-colour", colour="red") == moved.count("of-colour", colour="red") == 8


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize("pages", [1, 2, 3])
def test_a_cursor_continues_in_its_index_and_in_no_other(
    cloud: LocalCloud, order: str, pages: int
) -> None:
    engine = engine_for(cloud, OLD, {})
    whole = keys(engine.rows("of-colour", **RED, order=order))
    read: list[str] = []
    cursor = None
    for _ in range(pages):
        page = engine.page("of-colour", cursor=cursor, order=order, **RED)
        read += keys(page.rows)
        cursor = page.cursor
    moving = engine_for(cloud, NEW, PENDING)
    read += keys(moving.rows("of-colour", cursor=cursor, order=order, **RED))
    assert read == whole
    moved = engine_for(cloud, NEW, {})
    with pytest.raises(QueryError, match="has moved to another index"):
        moved.page("of-colour", cursor=cursor, order=order, **RED)


def test_an_index_that_does_not_exist_yet_is_not_needed(
    start: Callable[[Registry], LocalCloud],
) -> None:
    cloud = start(OLD)
    put(cloud, *range(3))
    assert keys(engine_for(cloud, NEW, PENDING).rows("of-colour", **RED)) == ["00", "01", "02"]
    with pytest.raises(ServiceError):
        engine_for(cloud, NEW, {}).page("of-colour", **RED)


def query(*words: str) -> Result:
    return CliRunner().invoke(app, words)


def test_the_command_reads_pending_patterns_from_the_environment(
    cloud: LocalCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    cloud.pending = PENDING
    for name, value in cloud.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("adminview.cli.commands.query.registry", lambda: NEW)
    explained = query("of-colour", "--colour", "red", "--count", "--explain")
    assert explained.stdout == "8\n"
    assert "index 'ByColour' of AdminViewTable" in explained.stderr
    for more in ((), ("--count",), ("--all", "--csv")):
        refused = query("of-size", "--size", "small", *more)
        assert isinstance(refused.exception, PatternNotReadyError)
        assert refused.stdout == ""
