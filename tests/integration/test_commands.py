"""The commands for repairs, run as they are typed, on real engines."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from adminview.cli import dead_letters
from adminview.cli.main import app
from adminview.dead_letters.replay import LOCALLY
from adminview.local.local_cloud import LocalCloud
from adminview.model.errors import AdminViewError, QueryError
from adminview.model.row import VIEW_TABLE
from tests.support.model import USER, order, registry

BAD_ORDER = {"CustomerId": "user-123", "SK": "2025-03-02#7", "OrderId": "7"}
ROW = ("USER#user-123", "PROFILE")


@pytest.fixture
def shop(start: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> LocalCloud:
    """Start the shop, with a user, an order, and an order that is poison."""
    cloud: LocalCloud = start(registry())
    monkeypatch.chdir(tmp_path)
    for name, value in cloud.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("COLUMNS", "200")
    cloud.put("Users", USER)
    cloud.put("Orders", order())
    cloud.put("Orders", BAD_ORDER)
    cloud.settle()
    return cloud


def adminview(*words: str, stdin: str | None = None) -> Result:
    """Run a command as if it were typed."""
    result = CliRunner().invoke(app, words, input=stdin)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def parsed(*words: str) -> Any:
    return json.loads(adminview(*words, "--json").stdout)


def tamper(cloud: LocalCloud, key: tuple[str, str], **changes: Any) -> None:
    """Change a row behind the product's back."""
    pk, sk = key
    for name, value in changes.items():
        cloud.clients.dynamodb.update_item(
            TableName=VIEW_TABLE,
            Key={"PK": {"S": pk}, "SK": {"S": sk}},
            UpdateExpression="SET #name = :value",
            ExpressionAttributeNames={"#name": name},
            ExpressionAttributeValues={":value": value},
        )


def test_dead_letters_are_listed_by_source_error_key_and_age(shop: LocalCloud) -> None:
    (letter,) = parsed("dlq", "list")
    assert letter["item"] == "Orders/user-123/2025-03-02#7"
    assert letter["error"] == "MissingAttributeError"
    assert (letter["attempts"], letter["source"]) == (0, "Orders")
    for chosen in (
        ["--source", "Orders"],
        ["--error", "MissingAttributeError"],
        ["--key", "Orders/user-123/2025-03-02#7"],
        ["--key", "user-123"],
        ["--newer-than", "1d"],
    ):
        assert len(parsed("dlq", "list", *chosen)) == 1, chosen
    for chosen in (
        ["--source", "Users"],
        ["--error", "ViewError"],
        ["--key", "user-456"],
        ["--older-than", "1d"],
    ):
        assert parsed("dlq", "list", *chosen) == [], chosen
    assert shop.letters(), "looking takes nothing away"


def test_a_list_for_people_says_what_is_wrong_and_how_many_there_are(shop: LocalCloud) -> None:
    printed = adminview("dlq", "list").stdout
    assert "Orders/user-123/2025-03-02#7" in printed
    assert "no attribute 'Status'" in printed
    assert "1 dead letter" in printed
    shop.letters()
    assert "0 dead letters" in adminview("dlq", "list").stdout


def test_a_dead_letter_is_shown_whole_by_the_beginning_of_its_id(shop: LocalCloud) -> None:
    (letter,) = parsed("dlq", "list")
    assert parsed("dlq", "show", letter["id"][:6]) == letter["letter"]
    shown = " ".join(adminview("dlq", "show", letter["id"]).stdout.split())
    assert "key CustomerId: user-123 SK: 2025-03-02#7" in shown
    with pytest.raises(AdminViewError, match=r"'zzz'.* gets a new id"):
        adminview("dlq", "show", "zzz")
    for words in (("replay",), ("discard", "--yes", "--reason", "it is old")):
        with pytest.raises(AdminViewError, match="no dead letter has an id that begins with"):
            adminview("dlq", *words, "user-123")  # an item, not an id
    assert shop.letters()


def test_a_dry_run_says_what_would_be_written_and_writes_nothing(shop: LocalCloud) -> None:
    before = shop.rows()
    would = parsed("dlq", "replay", "--dry-run")
    assert "no attribute 'Status'" in would["problem"]
    shop.put("Orders", order(SK="2025-03-02#7", OrderId="7", Items=[]))
    would = parsed("dlq", "replay", "--dry-run")
    assert would["put"] == [["USER#user-123", "ORDER#2025-03-02#7"]]
    printed = adminview("dlq", "replay", "--dry-run").stdout
    assert "would put" in printed
    assert "dry run: nothing was written" in printed
    assert shop.rows() == before
    assert shop.letters()


def test_a_replay_reports_what_it_did_and_whether_dead_letters_are_left(shop: LocalCloud) -> None:
    shop.put("Orders", order(SK="2025-03-02#7", OrderId="7", Items=[]))
    replayed = adminview("dlq", "replay")
    assert replayed.exit_code == 0
    assert "letters reconciled" in replayed.stdout
    assert parsed("dlq", "replay")["outcomes"]["reconciled"] == 0
    assert ("USER#user-123", "ORDER#2025-03-02#7") in keys(shop)
    shop.put("Orders", BAD_ORDER | {"SK": "2025-03-03#8"})
    shop.settle()
    failed = adminview("dlq", "replay", "--source", "Orders", "--json")
    assert failed.exit_code == 1
    assert json.loads(failed.stdout)["outcomes"]["still_failing"] >= 1


def test_a_replay_that_fails_reports_how_many_dead_letters_are_left_and_why(
    shop: LocalCloud,
) -> None:
    assert shop.rows()
    failed = adminview("dlq", "replay")
    assert failed.exit_code == 1
    lines = [" ".join(line.split()) for line in failed.stdout.splitlines()]
    assert "dead letters still failing 1" in lines
    assert "items reconciled 0" in lines
    (reason,) = [line for line in lines if line.startswith("left because ")]
    assert "1: MissingAttributeError: the item has no attribute 'Status'" in reason


def test_reconcile_does_not_wait_for_a_dead_letter_that_is_invisible(shop: LocalCloud) -> None:
    adminview("dlq", "replay")
    assert parsed("dlq", "list") == []
    shop.put("Orders", order(SK="2025-03-02#7", OrderId="7", Items=[]))
    assert parsed("reconcile", "Orders", "user-123", "2025-03-02#7")["rows_put"] == 1
    assert ("USER#user-123", "ORDER#2025-03-02#7") in keys(shop)


def test_a_replay_of_rows_that_are_right_says_so(shop: LocalCloud) -> None:
    shop.put("Orders", order(SK="2025-03-02#7", OrderId="7", Items=[]))
    adminview("reconcile", "Orders", "user-123", "2025-03-02#7")
    replayed = " ".join(adminview("dlq", "replay").stdout.split())
    assert "dead letters whose rows were already correct 1" in replayed
    assert "unchanged" not in replayed


def test_a_dry_run_is_never_left_to_the_deployed_function(shop: LocalCloud) -> None:
    refused = adminview("dlq", "replay", "--deployed", "--dry-run")
    assert refused.exit_code == 2
    assert "exclude each other" in refused.stderr
    assert shop.letters()


def test_invisible_dead_letters_are_reported_wherever_they_might_be_missed(
    shop: LocalCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    # One second, the local delay, may pass within a command on a busy machine.
    monkeypatch.setattr(dead_letters, "LOCALLY", replace(LOCALLY, before_retry=30))
    assert adminview("dlq", "replay").exit_code == 1
    again = adminview("dlq", "replay")
    assert again.exit_code == 1, "a dead letter is left, though it is invisible"
    assert "about 1 dead letter is invisible, for up to 30 seconds" in again.stdout
    previewed = adminview("dlq", "replay", "--dry-run").stdout
    assert "no dead letter is ready" in previewed
    assert (
        "dry run: nothing was written or deleted; about 1 dead letter is invisible, for up to 30"
        in previewed
    )
    discarded = adminview("dlq", "discard", "--all", "--yes", "--reason", "no longer needed").stdout
    assert "0 dead letters discarded; about 1 dead letter is invisible" in discarded
    assert shop.letters() == []


def keys(cloud: LocalCloud) -> set[tuple[str, str]]:
    return {(row["PK"]["S"], row["SK"]["S"]) for row in cloud.rows()}


def test_dead_letters_are_discarded_after_confirmation_and_written_to_a_file(
    shop: LocalCloud, tmp_path: Path
) -> None:
    refused = adminview("dlq", "discard", "--reason", "tidy up")
    assert refused.exit_code == 2
    assert "select dead letters by id" in refused.stderr
    words = ("dlq", "discard", "--source", "Orders", "--reason", "a test order")
    refused = adminview(*words, stdin="n\n")
    assert refused.exit_code == 1
    assert len(parsed("dlq", "list")) == 1
    assert not (tmp_path / "adminview-audit.jsonl").exists()
    done = adminview(*words, stdin="y\n")
    assert "1 dead letter discarded" in done.stdout
    assert shop.letters() == []
    (line,) = (tmp_path / "adminview-audit.jsonl").read_text().splitlines()
    written = json.loads(line)
    assert (written["action"], written["reason"]) == ("discard", "a test order")
    assert json.loads(written["letter"])["owner"] == "Orders/user-123/2025-03-02#7"


def test_a_row_that_is_right_is_explained(shop: LocalCloud) -> None:
    explained = adminview("explain", *ROW)
    assert explained.exit_code == 0
    for part in ("Users/user-123", "profile in tests.support.views.users", "ADDRESS#home"):
        assert part in explained.stdout
    assert "equal to what the source item derives now" in explained.stdout
    assert "none: the row is up to date" in explained.stdout
    (profile,) = [row for row in shop.rows() if row["SK"]["S"] == "PROFILE"]
    assert profile["_seq"]["S"] in explained.stdout


def test_a_row_that_differs_is_explained_line_by_line(shop: LocalCloud) -> None:
    tamper(shop, ROW, data={"M": {"name": {"S": "Grace"}}})
    explained = adminview("explain", *ROW)
    assert explained.exit_code == 1
    assert "different from what the source item derives now" in explained.stdout
    assert any(line.startswith("-") and "Grace" in line for line in explained.stdout.splitlines())
    assert any(line.startswith("+") and "Ada" in line for line in explained.stdout.splitlines())
    assert "s since that change" in explained.stdout
    assert adminview("reconcile", "Users", "user-123").exit_code == 0
    again = parsed("explain", *ROW)
    assert again["written by"].startswith("a reconcile of ")
    assert again["this row is"] == "equal to what the source item derives now"


def test_a_row_that_should_not_be_there_is_explained(shop: LocalCloud) -> None:
    key = ("USER#user-123", "EXTRA")
    tamper(shop, key, data={"M": {}})
    assert "names no item of a declared source" in adminview("explain", *key).stdout
    tamper(shop, key, _owner={"S": "Users/user-999"})
    assert "the item it names does not derive it" in adminview("explain", *key).stdout
    with pytest.raises(AdminViewError, match="there is no row A B in AdminViewTable"):
        adminview("explain", "A", "B")


def test_an_item_whose_view_raises_is_explained_with_the_reason(shop: LocalCloud) -> None:
    key = ("USER#user-123", "ORDER#2025-03-01#2121195")
    broken = {name: value for name, value in order().items() if name != "Status"}
    shop.put("Orders", broken)
    explained = adminview("explain", *key)
    assert "no attribute 'Status'" in explained.stdout
    assert explained.exit_code == 1


def test_an_item_is_reconciled_by_its_key_or_the_command_says_what_is_wrong(
    shop: LocalCloud,
) -> None:
    tamper(shop, ROW, data={"M": {}})
    would = parsed("reconcile", "Users", "user-123", "--dry-run")
    assert would["would_put"] == [list(ROW)]
    assert parsed("reconcile", "Users", "user-123")["rows_put"] == 1
    assert parsed("reconcile", "Users", "user-123")["rows_put"] == 0
    with pytest.raises(AdminViewError, match="is CustomerId, then SK; 1 value was given"):
        adminview("reconcile", "Orders", "user-123")
    with pytest.raises(AdminViewError, match="no source is named 'Nope'; declared are"):
        adminview("reconcile", "Nope", "1")
    with pytest.raises(AdminViewError, match="no attribute 'Status'"):
        adminview("reconcile", "Orders", "user-123", "2025-03-02#7")


@pytest.mark.usefixtures("shop")
def test_a_preview_by_key_reads_the_item_from_its_table() -> None:
    preview = parsed("preview", "Orders", "user-123", "2025-03-01#2121195")
    assert preview["item"] == "Orders/user-123/2025-03-01#2121195"
    assert [view["view"] for view in preview["views"]] == ["order"]
    with pytest.raises(QueryError, match="there is no item Orders/user-123/9 in table Orders"):
        adminview("preview", "Orders", "user-123", "9")
    with pytest.raises(QueryError, match="the key of an item of Orders is CustomerId, then SK; 1"):
        adminview("preview", "Orders", "user-123")
