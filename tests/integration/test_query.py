"""`adminview query` as it is typed, on real engines."""

import csv
import json
import re
from io import StringIO
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from adminview.cli.commands.query import app
from adminview.local.local_cloud import LocalCloud
from adminview.model.errors import QueryError
from tests.support.model import USER, order, registry

PRODUCT = ("buyers-of-product", "--product-id", "product-def-789")
OF_USER = ("orders-of-user", "--user-id", "user-123")
PICKED = ["OrderId", "Status", "OrderDate", "CreatedAt", "Total", "Items"]  # as the view does


@pytest.fixture
def shop(start: Any, monkeypatch: pytest.MonkeyPatch) -> LocalCloud:
    """Start the shop, with a user and five orders."""
    cloud: LocalCloud = start(registry())
    for name, value in cloud.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("adminview.cli.commands.query.registry", registry)
    cloud.put("Users", USER)
    for day in range(1, 6):
        cloud.put("Orders", order(SK=f"2025-03-0{day}#{day}", OrderId=str(day)))
    cloud.settle()
    return cloud


def query(*words: str) -> Result:
    """Run a command as if it were typed, and its output went into a pipe."""
    result = CliRunner().invoke(app, words)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.stderr
    return result


def order_ids(rows: list[dict[str, Any]]) -> list[str]:
    return [row["data"]["OrderId"] for row in rows]


@pytest.mark.usefixtures("shop")
def test_an_answer_is_a_table_with_a_line_for_each_row_however_long() -> None:
    answered = query(*OF_USER)
    lines = [line for line in answered.stdout.splitlines() if "ORDER#" in line]
    assert len(lines) == 5
    (header,) = [line for line in answered.stdout.splitlines() if line.startswith(" PK")]
    assert header.split() == ["PK", "SK", *PICKED]
    assert lines[0].split()[2:4] == ["1", "PENDING"]
    assert "Name: Milk" in lines[0]
    assert "…" not in answered.stdout
    assert "\x1b" not in answered.stdout
    assert answered.stderr == ""
    assert "(no rows)" in query("orders-of-user", "--user-id", "nobody").stdout


@pytest.mark.usefixtures("shop")
def test_a_page_says_where_the_next_one_begins_beside_the_answer() -> None:
    first = query(*OF_USER, "--limit", "2")
    (cursor,) = re.findall(
        r"^there are more rows: add --all, or --cursor (\S+)$", first.stderr, re.MULTILINE
    )
    page = json.loads(query(*OF_USER, "--limit", "3", "--cursor", cursor, "--json").stdout)
    assert order_ids(page["rows"]) == ["3", "4", "5"]
    assert page["cursor"] is None
    with pytest.raises(QueryError, match="the cursor belongs to another access pattern"):
        query("favourites-of-user", "--user-id", "user-123", "--cursor", cursor)


@pytest.mark.usefixtures("shop")
def test_json_is_one_object_or_a_line_for_each_row_of_all_pages() -> None:
    page = json.loads(query(*OF_USER, "--limit", "2", "--json").stdout)
    assert order_ids(page["rows"]) == ["1", "2"]
    assert page["rows"][0]["key"] == {"PK": "USER#user-123", "SK": "ORDER#2025-03-01#1"}
    assert page["rows"][0].keys() == {"key", "data", "index", "joined"}, "as the API has it"
    assert page["cursor"]
    lines = query(*OF_USER, "--limit", "2", "--all", "--json", "--order", "desc").stdout
    everything = [json.loads(line) for line in lines.splitlines()]
    assert order_ids(everything) == ["5", "4", "3", "2", "1"]


@pytest.mark.usefixtures("shop")
def test_csv_has_a_header_and_a_line_for_each_row_of_all_pages() -> None:
    written = query(*OF_USER, "--limit", "2", "--all", "--csv").stdout
    rows = list(csv.DictReader(StringIO(written)))
    assert [row["data.OrderId"] for row in rows] == ["1", "2", "3", "4", "5"]
    columns = [*rows[0]]
    assert columns[: 2 + len(PICKED)] == ["PK", "SK", *(f"data.{name}" for name in PICKED)]
    assert "GSI1_PK" in columns, "index keys too"
    assert json.loads(rows[0]["data.Items"])[0]["Name"] == "Eggs"
    assert "there are more rows" in query(*OF_USER, "--limit", "2", "--csv").stderr


@pytest.mark.usefixtures("shop")
def test_rows_are_counted_without_being_shown() -> None:
    assert query(*OF_USER, "--count").stdout == "5\n"
    assert json.loads(query(*OF_USER, "--count", "--json").stdout) == {
        "pattern": "orders-of-user",
        "count": 5,
    }


@pytest.mark.usefixtures("shop")
def test_joined_rows_are_columns_of_their_own() -> None:
    table = query(*PRODUCT, "--columns", "Name,profile.name,profile.email").stdout
    lines = [line.split() for line in table.splitlines() if line.strip()]
    assert lines[1] == ["Name", "profile.name", "profile.email"]
    assert lines[3] == ["Eggs", "Ada", "ada@shop.example"]
    assert "profile.email" in query(*PRODUCT).stdout
    page = json.loads(query(*PRODUCT, "--json").stdout)
    assert page["rows"][0]["joined"]["profile"]["data"]["name"] == "Ada"
    (row, *_) = csv.DictReader(StringIO(query(*PRODUCT, "--csv").stdout))
    assert row["profile.email"] == "ada@shop.example"


@pytest.mark.usefixtures("shop")
def test_a_query_is_explained_next_to_its_rows() -> None:
    explained = query("orders-by-status", "--status", "PENDING", "--limit", "2", "--explain")
    explanation = explained.stderr
    assert "index 'GSI1' of AdminViewTable" in explanation
    assert "GSI1_PK = 'ORDER#STATUS#PENDING'" in explanation
    assert re.search(r"calls made +1\b", explanation)
    (units,) = re.findall(r"read units consumed +([0-9.]+)", explanation)
    assert float(units) > 0
    assert "ORDER#STATUS#PENDING" not in explained.stdout
    joined = query(*PRODUCT, "--explain").stderr
    assert re.search(r"calls made +2\b", joined), "the query, and the joined rows"
    assert re.search(r"calls made +1\b", query(*OF_USER, "--count", "--explain").stderr)
