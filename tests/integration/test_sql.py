"""`adminview sql` as it is typed, on real engines.

moto's PartiQL knows equalities on a table and little else, and ignores limits and tokens; what it
cannot do is tested on DynamoDB Local alone.
"""

import csv
import json
import re
from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from adminview.cli.commands.sql import sql
from adminview.local.engines import EngineName
from adminview.local.local_cloud import LocalCloud
from adminview.model.errors import QueryError
from tests.support.model import USER, order, registry

app = typer.Typer()
app.command()(sql)

PROFILE = "SELECT * FROM \"AdminViewTable\" WHERE PK = 'USER#user-123' AND SK = 'PROFILE'"
DELETE = "DELETE FROM AdminViewTable WHERE PK = 'USER#user-123' AND SK = 'PROFILE'"
ORDERS = (
    "SELECT SK, data.Total FROM AdminViewTable "
    "WHERE PK = 'USER#user-123' AND begins_with(SK, 'ORDER#')"
)


@pytest.fixture
def shop(start: Any, monkeypatch: pytest.MonkeyPatch) -> LocalCloud:
    """Start the shop, with a user and five orders."""
    cloud: LocalCloud = start(registry())
    for name, value in cloud.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("adminview.cli.commands.sql.registry", registry)
    cloud.put("Users", USER)
    for day in range(1, 6):
        cloud.put("Orders", order(SK=f"2025-03-0{day}#{day}", OrderId=str(day)))
    cloud.settle()
    return cloud


@pytest.fixture
def partiql(shop: LocalCloud) -> LocalCloud:
    """Start the shop where PartiQL is DynamoDB's own."""
    assert shop.engine.name == EngineName.DYNAMODB_LOCAL
    return shop


# moto's PartiQL knows neither functions, indexes, limits nor tokens.
on_the_real_one = pytest.mark.parametrize("engine", [EngineName.DYNAMODB_LOCAL], indirect=True)


def run(*words: str) -> Result:
    """Run a command as if it were typed, and its output went into a pipe."""
    result = CliRunner().invoke(app, words)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.stderr
    return result


def days(rows: list[dict[str, Any]]) -> list[str]:
    return [row["SK"][len("ORDER#2025-03-") :][:2] for row in rows]


@pytest.mark.usefixtures("shop")
def test_a_select_is_answered_as_a_table_as_json_and_as_csv() -> None:
    header, _, line = [line for line in run(PROFILE).stdout.splitlines() if line.strip()]
    assert header.split()[:4] == ["PK", "SK", "userId", "name"], "as the view picks them"
    assert line.split()[:4] == ["USER#user-123", "PROFILE", "user-123", "Ada"]
    chosen = run(PROFILE, "--columns", "email,SK").stdout.split()
    assert [chosen[0], chosen[1], *chosen[-2:]] == ["email", "SK", "ada@shop.example", "PROFILE"]
    (row,) = json.loads(run(PROFILE, "--json").stdout)["rows"]
    assert row["data"]["email"] == "ada@shop.example"
    assert row["_owner"] == "Users/user-123", "a statement shows what it selects"
    (line,) = run(PROFILE, "--all", "--json").stdout.splitlines()
    assert json.loads(line) == row
    (written,) = csv.DictReader(StringIO(run(PROFILE, "--csv").stdout))
    assert (written["SK"], written["data.name"]) == ("PROFILE", "Ada")


def test_a_scan_is_refused_unless_it_is_asked_for(shop: LocalCloud) -> None:
    everything = "SELECT PK, SK FROM AdminViewTable"
    with pytest.raises(QueryError, match=r"would scan the whole table .* does not fix PK"):
        run(everything)
    rows = [
        json.loads(line)
        for line in run(everything, "--scan", "--all", "--json").stdout.split("\n")
        if line
    ]
    assert len(rows) == len(shop.rows())


def test_nothing_but_a_select_reaches_the_table(shop: LocalCloud) -> None:
    before = shop.rows()
    for statement in (
        DELETE,
        "/* SELECT */ UPDATE AdminViewTable SET x = 1 WHERE PK = 'USER#user-123'",
        "INSERT INTO AdminViewTable VALUE {'PK': 'A', 'SK': 'B'}",
        f"{PROFILE}; {DELETE}",
    ):
        with pytest.raises(QueryError, match="the statement is not run"):
            run(statement, "--scan")
    assert shop.rows() == before


def test_the_declared_name_stands_for_the_deployed_table(
    shop: LocalCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = replace(shop.settings, view_table="acme-AdminViewTable")
    for name, value in settings.to_env().items():
        monkeypatch.setenv(name, value)
    printed = run(PROFILE, "--dry-run").stdout
    assert 'FROM "acme-AdminViewTable" WHERE' in printed
    with pytest.raises(QueryError, match=r"table 'Orders' cannot be read.*deployed as acme-Admin"):
        run("SELECT * FROM Orders WHERE PK = 'x'")


def test_a_statement_is_explained_without_being_sent(
    shop: LocalCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    printed = run("SELECT * FROM AdminViewTable.GSI1 WHERE GSI1_SK = 'x'", "--dry-run").stdout
    assert "scan: its condition does not fix GSI1_PK" in printed
    assert f"index 'GSI1' of {shop.settings.view_table}" in printed
    assert re.search(r"it would +query", run(PROFILE, "--dry-run").stdout)


@on_the_real_one
@pytest.mark.usefixtures("partiql")
def test_pages_are_followed_and_gone_on_with() -> None:
    page = json.loads(run(ORDERS, "--limit", "2", "--json").stdout)
    assert days(page["rows"]) == ["01", "02"]
    page = json.loads(run(ORDERS, "--limit", "2", "--cursor", page["cursor"], "--json").stdout)
    assert days(page["rows"]) == ["03", "04"]
    lines = run(ORDERS, "--all", "--json").stdout.splitlines()
    assert days([json.loads(line) for line in lines]) == ["01", "02", "03", "04", "05"]
    assert "there are more rows: add --all, or --cursor " in run(ORDERS, "--limit", "2").stderr


@on_the_real_one
@pytest.mark.usefixtures("partiql")
def test_a_page_has_as_many_rows_as_were_asked_for_however_many_are_filtered_out() -> None:
    chosen = f"{ORDERS} AND data.OrderId >= '4'"
    page = json.loads(run(chosen, "--limit", "2", "--json").stdout)
    assert days(page["rows"]) == ["04", "05"]


@on_the_real_one
@pytest.mark.usefixtures("partiql")
def test_an_index_is_queried_by_its_partition_key() -> None:
    pending = 'FROM "AdminViewTable"."GSI1" WHERE GSI1_PK = \'ORDER#STATUS#PENDING\''
    assert len(json.loads(run(f"SELECT SK {pending}", "--json").stdout)["rows"]) == 5
    several = "SELECT SK FROM AdminViewTable WHERE PK IN ['ORDER#1', 'ORDER#2']"
    assert len(json.loads(run(several, "--json").stdout)["rows"]) == 4


@on_the_real_one
@pytest.mark.usefixtures("partiql")
def test_what_dynamodb_says_of_a_statement_is_passed_on() -> None:
    with pytest.raises(QueryError, match=r"DynamoDB refused the statement: .*well formed"):
        run(f"{PROFILE} AND a b")


@pytest.mark.usefixtures("shop")
def test_an_unknown_index_is_answered_with_those_there_are() -> None:
    with pytest.raises(QueryError, match=r"AdminViewTable has no index 'GSI9'; it has .*GSI1"):
        run("SELECT * FROM AdminViewTable.GSI9 WHERE a = 'b'")
