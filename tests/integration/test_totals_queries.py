"""Totals as commands and the API show them, on real engines."""

import csv
import json
import re
from collections.abc import Callable
from decimal import Decimal
from io import StringIO
from typing import Any
from urllib.parse import quote

import pytest
import typer
from jsonschema_rs import Draft202012Validator
from typer.testing import CliRunner, Result

from adminview.cli.commands import query as query_command
from adminview.cli.commands.sql import sql
from adminview.cli.output.tables import patterns_markdown
from adminview.http_api.catalogue import catalogue
from adminview.http_api.openapi import document
from adminview.local.local_cloud import LocalCloud
from adminview.model import Registry
from adminview.model.errors import QueryError
from tests.support import totals_views
from tests.support.api_client import Client

REGISTRY = Registry.of([totals_views])
MARCH = ("--shop", "north", "--start", "2025-03-01", "--end", "2025-03-31")
SQL = typer.Typer()
SQL.command()(sql)


def put(cloud: LocalCloud, number: int, **changes: Any) -> None:
    item = {"id": str(number), "status": "PENDING", "shop": "north", "day": "2025-03-01"}
    lines = {"eggs": {"units": 2, "revenue": Decimal("5.98")}}
    cloud.put("Orders", item | {"total": Decimal("5.98"), "lines": lines, "note": "-"} | changes)


@pytest.fixture
def shop(start: Callable[[Registry], LocalCloud], monkeypatch: pytest.MonkeyPatch) -> LocalCloud:
    """Start a shop with three orders, and point the commands at it."""
    cloud = start(REGISTRY)
    for name, value in cloud.environment.items():
        monkeypatch.setenv(name, value)
    for command in ("query", "sql"):
        monkeypatch.setattr(f"adminview.cli.commands.{command}.registry", lambda: REGISTRY)
    put(cloud, 1)
    put(cloud, 2, day="2025-03-02", total=Decimal("0.1"))
    put(cloud, 3, status="PAID", total=10**20 - 1, lines={"tea": {"units": 1, "revenue": 4}})
    cloud.settle()
    return cloud


def run(app: typer.Typer, *words: str) -> Result:
    result = CliRunner().invoke(app, words)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.stderr
    return result


def query(*words: str) -> Result:
    return run(query_command.app, *words)


def lines(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


@pytest.mark.usefixtures("shop")
def test_a_table_of_totals_has_a_column_for_the_group_the_count_and_each_sum() -> None:
    title, head, _, *totals = lines(query("daily-sales", *MARCH).stdout)
    assert title.startswith("daily-sales shop=north")
    assert head == "shop day count revenue average_revenue"
    assert totals == [
        "north 2025-03-01 2 100000000000000000004.98 50000000000000000002.49",
        "north 2025-03-02 1 0.1 0.1",
    ]
    assert "(no rows)" in query("orders-in-status", "--status", "LOST").stdout


@pytest.mark.usefixtures("shop")
def test_a_ranking_comes_in_its_order_with_the_joined_rows() -> None:
    _, head, _, *totals = lines(query("best-sellers").stdout)
    assert head == "product count units average_units revenue average_revenue details"
    assert [total.split()[0] for total in totals] == ["eggs", "tea"]
    page = json.loads(query("best-sellers", "--json", "--order", "asc").stdout)
    assert [row["data"]["product"] for row in page["rows"]] == ["tea", "eggs"]
    assert page["rows"][0] == {
        "key": {"PK": "ProductSales.1", "SK": "tea"},
        "data": {
            "product": "tea",
            "count": 1,
            "units": 1,
            "average_units": 1,
            "revenue": 4,
            "average_revenue": 4,
        },
        "index": {},
        "joined": {"details": None},
    }


@pytest.mark.usefixtures("shop")
def test_csv_and_count_of_totals() -> None:
    eggs, tea = csv.DictReader(StringIO(query("best-sellers", "--csv").stdout))
    assert [*eggs][:2] == ["PK", "SK"]
    assert eggs["data.revenue"] == "11.96"
    assert tea["data.count"] == "1"
    assert query("best-sellers", "--count").stdout == "2\n"


@pytest.mark.usefixtures("shop")
def test_a_query_of_totals_is_explained_with_their_table() -> None:
    explained = query("orders-in-status", "--status", "PAID", "--explain").stderr
    assert "table AdminViewTotals" in explained
    assert "PK = 'OrdersByStatus.1' AND SK = 'PAID'" in explained
    ranked = query("best-sellers", "--explain").stderr
    assert "index 'Ranking' of AdminViewTotals" in ranked
    assert re.search(r"order +descending", ranked)
    assert re.search(r"calls made +3\b", ranked), "the ranking, its totals and the joined rows"


def test_contributions_are_hidden_wherever_rows_are_printed(shop: LocalCloud) -> None:
    statement = "SELECT * FROM AdminViewTable WHERE PK = 'ORDER#1' AND SK = 'DETAILS'"
    for options in ((), ("--json",), ("--csv",), ("--all", "--json")):
        printed = run(SQL, statement, *options).stdout
        assert "note" in printed
        assert "_totals" not in printed
    assert "_totals" in run(SQL, statement.replace("*", "_totals"), "--json").stdout
    row = Client(shop.query_engine).get("/rows?PK=ORDER%231&SK=DETAILS")
    assert row["data"] == {"note": "-"}
    assert row["index"] == {}


@pytest.mark.usefixtures("shop")
def test_sql_says_how_totals_are_read() -> None:
    with pytest.raises(QueryError, match="read totals with `adminview query`"):
        run(SQL, "SELECT * FROM AdminViewTotals WHERE PK = 'OrdersByStatus.1'")


def test_every_answer_of_the_api_is_as_its_document_says(shop: LocalCloud) -> None:
    client, described = Client(shop.query_engine), document(REGISTRY, "m")
    targets = {
        "/patterns": 4,
        "/patterns/orders-per-status": 2,
        "/patterns/orders-per-status/count": 2,
        "/patterns/orders-in-status?status=PAID": 1,
        "/patterns/daily-sales?shop=north&start=2025-03-01&end=2025-03-31": 2,
        "/patterns/best-sellers": 2,
        "/patterns/best-sellers?order=asc&limit=1": 1,
    }
    for target, count in targets.items():
        operation = described["paths"][target.partition("?")[0]]["get"]
        schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
        body = client.get(target)
        Draft202012Validator({**schema, "components": described["components"]}).validate(body)
        returned = body.get("rows", body.get("patterns"))
        assert count == (body["count"] if returned is None else len(returned))


def test_a_sum_that_a_double_would_round_is_text(shop: LocalCloud) -> None:
    first, second = Client(shop.query_engine).get(
        "/patterns/daily-sales?shop=north&start=2025-03-01&end=2025-03-31"
    )["rows"]
    assert first["data"]["revenue"] == "100000000000000000004.98"
    assert second["data"]["revenue"] == 0.1


def test_the_catalogue_names_the_total_and_its_ranking() -> None:
    described = catalogue(REGISTRY, "m", {"daily-sales": "1"})  # an older epoch answers
    patterns = {
        pattern["name"]: (pattern["total"], pattern["ranked"], pattern["index"])
        for pattern in described["patterns"]
    }
    assert patterns["best-sellers"] == ("ProductSales", True, "Ranking")
    assert patterns["daily-sales"] == ("DailySales", False, None)


def test_the_list_of_access_patterns_names_the_total() -> None:
    listed = patterns_markdown(REGISTRY)
    assert "| total ProductSales by revenue |" in listed
    assert "| total DailySales |" in listed


@pytest.mark.parametrize("limit", [1, 2, 3, 4])
@pytest.mark.parametrize("order", ["asc", "desc"])
def test_pages_of_a_ranking_have_every_group_once(
    start: Callable[[Registry], LocalCloud], limit: int, order: str
) -> None:
    """Some groups have the same rank, and some in between are empty."""
    cloud = start(REGISTRY)
    ranks = [5, 5, 5, 0, 7, 5, 7, 0, 0]
    for number, revenue in enumerate(ranks):
        put(cloud, number, lines={f"p{number}": {"units": 1, "revenue": revenue}})
    for number in range(20, 23):  # their totals stay in the ranking, with the rank 0
        put(cloud, number, lines={f"p{number}": {"units": 1, "revenue": 5}})
    cloud.settle()
    for number in range(20, 23):
        cloud.delete("Orders", {"id": str(number)})
    cloud.settle()
    client, ranking, cursor = Client(cloud.query_engine), [], ""
    while True:
        page = client.get(f"/patterns/best-sellers?limit={limit}&order={order}{cursor}")
        assert len(page["rows"]) <= limit
        ranking += [(row["data"]["revenue"], row["data"]["product"]) for row in page["rows"]]
        if page["cursor"] is None:
            break
        assert len(page["rows"]) == limit
        cursor = f"&cursor={quote(page['cursor'])}"
    assert sorted(ranking) == sorted((rank, f"p{number}") for number, rank in enumerate(ranks))
    assert [rank for rank, _ in ranking] == sorted(ranks, reverse=order == "desc")
    assert client.get("/patterns/best-sellers/count")["count"] == len(ranks)
