"""`adminview backfill` and `adminview sweep`, run as they are typed, on real engines."""

import json
import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from adminview.cli.bulk.segment_pool import Watch
from adminview.cli.main import app
from adminview.local.local_cloud import LocalCloud
from adminview.model.readiness import progress_table
from adminview.model.row import VIEW_TABLE
from tests.support.model import PAYMENT, PRODUCT, USER, order, registry

BAD_ORDER = {"CustomerId": "user-123", "SK": "2025-03-02#7", "OrderId": "7"}
USERS = 40


@pytest.fixture
def shop(start: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> LocalCloud:
    """Start the shop with items that were there before the view was."""
    cloud: LocalCloud = start(registry())
    monkeypatch.chdir(tmp_path)
    for name, value in cloud.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("COLUMNS", "200")
    for number in range(USERS):
        cloud.put("Users", USER | {"userId": f"user-{number}", "addresses": []})
    cloud.put("Orders", order())
    cloud.put("Payments", PAYMENT)
    cloud.put("Products", PRODUCT)
    return cloud


def adminview(*words: str) -> Result:
    """Run a command as if it were typed."""
    result = CliRunner().invoke(app, words)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def parsed(*words: str) -> list[Any]:
    reports: list[Any] = json.loads(adminview(*words, "--json").stdout)
    return reports


def shown(cloud: LocalCloud) -> dict[Any, Any]:
    """Read the rows, without what is only circumstance."""
    return {
        (row["PK"]["S"], row["SK"]["S"]): {
            name: value for name, value in row.items() if name in {"data", "_owner"}
        }
        for row in cloud.rows()
    }


def test_it_fills_the_view_as_the_sync_would_and_a_second_run_changes_nothing(
    shop: LocalCloud,
) -> None:
    reports = {report["run"]: report for report in parsed("backfill", "--segments", "3")}
    assert reports.keys() == {f"backfill/{source.name}" for source in registry().sources}
    assert {report["status"] for report in reports.values()} == {0}
    assert reports["backfill/Users"]["counts"] == {"items": USERS, "rows": USERS}
    filled, stamps = shown(shop), shop.rows()
    again = adminview("backfill", "--source", "Users", "--source", "Orders")
    assert again.exit_code == 0
    assert "rows already correct" in again.stdout
    assert "rows written" not in again.stdout
    assert again.stdout.splitlines()[-1] == "done"
    assert sorted(map(str, shop.rows())) == sorted(map(str, stamps))
    shop.settle()
    assert shown(shop) == filled, "the sync has nothing to add"


def test_items_that_fail_become_dead_letters_and_the_exit_status_is_1(shop: LocalCloud) -> None:
    shop.put("Orders", BAD_ORDER)
    result = adminview("backfill", "--source", "Orders")
    assert result.exit_code == 1
    assert result.stdout.splitlines()[-1] == (
        "done, except for the items that failed: adminview dlq list shows why"
    )
    (letter,) = shop.letters()
    assert letter["owner"] == "Orders/user-123/2025-03-02#7"
    result = adminview("backfill", "--source", "Orders", "--tolerate", "0")
    assert result.exit_code == 2
    assert "more than the tolerated 0" in result.stdout


def test_without_a_queue_dead_letters_go_into_a_file(
    shop: LocalCloud, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("ADMINVIEW_DEAD_LETTER_QUEUE_URL")
    shop.put("Orders", BAD_ORDER)
    result = adminview("backfill", "--source", "Orders")
    assert result.exit_code == 1
    assert "the items that failed: dead-letters.jsonl shows why" in result.stdout
    (line,) = (tmp_path / "dead-letters.jsonl").read_text().splitlines()
    assert json.loads(line)["owner"] == "Orders/user-123/2025-03-02#7"
    assert shop.letters() == []


def test_ctrl_c_stops_it_and_the_same_command_goes_on_from_there(
    shop: LocalCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    pressed, handler = iter([True]), signal.getsignal(signal.SIGINT)

    @contextmanager
    def interrupting(_: str, expected: int | None) -> Iterator[Watch]:
        assert expected in {None, USERS}

        def watch(counts: Counter[str]) -> None:
            if counts["items"] and next(pressed, False):
                os.kill(os.getpid(), signal.SIGINT)
                while signal.getsignal(signal.SIGINT) is not handler:  # until it is noticed
                    time.sleep(0.01)

        yield watch

    words = ("backfill", "--source", "Users", "--max-wcu", "20")
    with monkeypatch.context() as patch:
        patch.setattr("adminview.cli.commands.backfill.progress", interrupting)
        stopped = adminview(*words, "--segments", "1")
    assert stopped.exit_code == 2
    last_line = stopped.stdout.splitlines()[-1]
    assert last_line == "stopped; the same command (without --restart) resumes it"
    assert "backfill/Users, so far" in stopped.stdout
    assert 0 < len(shop.rows()) < USERS
    refused = adminview(*words, "--segments", "2")
    assert refused.exit_code == 2
    assert "begun with 1 segments and has not finished" in refused.stderr
    (report,) = parsed("backfill", "--source", "Users")
    assert report["counts"] == {"items": USERS, "rows": USERS}
    assert len(shop.rows()) == USERS


def test_a_sweep_removes_what_nothing_derives_any_more(shop: LocalCloud) -> None:
    adminview("backfill")
    filled = shown(shop)
    for pk, owner in (("OLD#1", "Users/user-1"), ("OLD#2", "Parcels/1"), ("OLD#3", "")):
        row: Any = {"PK": {"S": pk}, "SK": {"S": "x"}, "_model": {"S": "older"}}
        stamp: Any = {"_owner": {"S": owner}} if owner else {}
        shop.clients.dynamodb.put_item(TableName=VIEW_TABLE, Item=row | stamp)
    (report,) = parsed("sweep", "--source", "Users")
    assert (report["run"], report["counts"]["deleted"]) == ("sweep/Users", 1)
    result = adminview("sweep", "--segments", "2")
    assert result.exit_code == 0
    assert "rows deleted" in result.stdout
    assert shown(shop).keys() == {*filled, ("OLD#3", "x")}, "one without an owner is verify's"


def test_a_source_that_is_not_declared_is_refused_by_name(shop: LocalCloud) -> None:
    for command in ("backfill", "sweep"):
        refused = adminview(command, "--source", "Nope")
        assert refused.exit_code == 2
        assert "no source is named 'Nope'; declared are " in refused.stderr
    assert shop.rows() == []


def test_a_local_engine_is_given_a_progress_table_and_a_deployment_must_have_one(
    shop: LocalCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = progress_table(VIEW_TABLE)
    shop.clients.dynamodb.delete_table(TableName=name)
    with monkeypatch.context() as deployed:
        deployed.delenv("AWS_ENDPOINT_URL")
        deployed.setenv("AWS_ENDPOINT_URL_DYNAMODB", shop.engine.dynamodb_url)
        for key, value in shop.settings.to_env().items():
            deployed.setenv(key, value)
        refused = adminview("backfill")
        assert refused.exit_code == 2
        assert f"no table '{name}': deploy this version" in refused.stderr
    assert adminview("backfill", "--source", "Products").exit_code == 0
    assert len(shop.rows()) == 1


def test_help_says_what_the_exit_status_means() -> None:
    for command in ("backfill", "sweep"):
        help_text = " ".join(adminview(command, "--help").stdout.split())
        assert "Exit status: 0 done, 1 done except for items that failed" in help_text
        assert "--deployed" in help_text
