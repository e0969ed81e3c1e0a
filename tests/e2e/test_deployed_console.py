"""`adminview console --stage` reads and repairs the deployment, over its HTTP routes alone."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from signal import SIGINT
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

from tests.support.background import Background
from tests.support.e2e.api_client import OK, Api
from tests.support.e2e.cloud import Checkout, surroundings
from tests.support.model import PAYMENT, USER
from tests.support.shop import registry

READER = USER | {"userId": "user-console", "addresses": []}
PROFILE = {"PK": "USER#user-console", "SK": "PROFILE"}
STORED = {name: {"S": text} for name, text in PROFILE.items()}
POISON = {name: value for name, value in PAYMENT.items() if name != "status"} | {
    "transactionId": "txn-console"
}
REST_SECONDS = 90.0  # a dead letter is delivered half a minute after it was sent
REASON = "a test repairs the deployment"
REPAIRS = ("/repairs/replay", "/repairs/discard", "/repairs/reconcile", "/session")


@dataclass(frozen=True)
class Console:
    """A console that serves, and the token that it printed."""

    address: str
    token: str
    audit: Path

    def send(self, method: str, path: str, body: Any = None, token: str | None = None) -> Any:
        """Make one request; return its status and the JSON of its response."""
        connection = HTTPConnection(self.address, timeout=60)
        headers = {"Authorization": f"Bearer {token or self.token}"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        content = None if body is None else json.dumps(body)
        connection.request(method, f"/api{path}", body=content, headers=headers)
        response = connection.getresponse()
        text = response.read()
        connection.close()
        return response.status, json.loads(text) if text else None

    def get(self, path: str, **query: str) -> Any:
        status, body = self.send("GET", f"{path}?{urlencode(query)}" if query else path)
        assert status == OK, body
        return body

    def post(self, path: str, body: Any, expected: int = OK) -> Any:
        status, answer = self.send("POST", path, body)
        assert status == expected, answer
        return answer


@pytest.fixture(scope="module")
def console(checkout: Checkout, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """Start the documented command; it ends as a person ends it."""
    audit = tmp_path_factory.mktemp("console") / "audit.jsonl"
    running = Background(
        *("console", "--stage", "dev", "--port", "0", "--audit", str(audit)),
        environment=surroundings() | dict(checkout.environment),
        folder=checkout.folder,
    )
    try:
        running.wait_for("?token=")
        url = urlsplit(re.findall(r"open (http://\S+)", running.output)[0])
        yield Console(url.netloc, url.query.removeprefix("token="), audit)
    finally:
        code = running.end(SIGINT)
    assert (code, running.lines[-1]) == (0, "stopped\n"), running.output


def test_the_console_names_the_stage_and_opens_a_session(console: Console) -> None:
    opened = console.post("/session", {})
    assert opened["target"]["kind"] == "stage"
    assert (opened["target"]["stage"], opened["target"]["viewTable"]) == ("dev", "AdminViewTable")
    assert {"queries", "dead-letters", "repairs", "status", "model"} <= {*opened["features"]}
    assert console.send("GET", "/status", token=opened["token"])[0] == OK
    assert console.send("GET", "/status", token="wrong")[0] == 401


def test_a_row_is_queried_and_explained_by_the_deployed_change(
    checkout: Checkout, console: Console
) -> None:
    checkout.put("Users", READER)
    checkout.await_row(STORED)
    (row,) = console.get("/patterns/user-profile", user_id="user-console")["rows"]
    assert row["key"] == PROFILE
    explained = console.get("/explain", **PROFILE)
    assert explained["verdict"] == "equal"
    assert explained["change"]["sequence"]
    assert explained["view"]["file"].endswith("users.py")
    assert explained["model"]["same"] is True


def test_a_row_that_was_edited_by_hand_is_reconciled(checkout: Checkout, console: Console) -> None:
    checkout.client("dynamodb").update_item(
        TableName="AdminViewTable",
        Key=STORED,
        UpdateExpression="SET #data.#name = :name",
        ExpressionAttributeNames={"#data": "data", "#name": "name"},
        ExpressionAttributeValues={":name": {"S": "Eve"}},
    )
    assert console.get("/explain", **PROFILE)["verdict"] == "different"
    repaired = console.post("/repairs/reconcile", {**PROFILE, "reason": REASON})
    assert repaired == {"item": "Users/user-console", "put": 1, "deleted": 0}
    assert console.get("/explain", **PROFILE)["verdict"] == "equal"


def test_health_knows_every_source_and_says_what_it_does_not_know(console: Console) -> None:
    status = console.get("/status")
    assert status["model"]["same"] is True
    assert {source["name"] for source in status["sources"]} == {
        source.name for source in registry().sources
    }
    assert status["deadLetters"] is not None
    for source in status["sources"]:
        for measure in ("lag", "records", "writes", "drift"):
            known = source[measure]
            assert (known["value"] is None) == bool(known["reason"]), known
    assert console.get("/progress")["known"] in (True, False)


def test_a_dead_letter_is_previewed_and_replayed_once_its_item_is_fixed(
    checkout: Checkout, console: Console
) -> None:
    def listed() -> Any:
        letters = console.get("/dead-letters", source="Payments")["letters"]
        return next((letter for letter in letters if "txn-console" in str(letter["items"])), None)

    checkout.put("Payments", POISON)
    checkout.deadline(listed, "the console lists the dead letter", REST_SECONDS)
    letter = listed()
    assert "status" in letter["reason"]
    selected = {"ids": [letter["id"]]}
    (previewed,) = console.post("/dead-letters/preview", selected)["items"]
    assert "status" in previewed["problem"]

    checkout.put("Payments", POISON | {"status": PAYMENT["status"]})
    key = {"PK": {"S": "ORDER#2121195"}, "SK": {"S": "PAYMENT#txn-console"}}
    checkout.await_row(key)
    repair = {"select": selected, "reason": REASON}
    job = console.post("/repairs/replay", repair, 202)["job"]
    checkout.deadline(lambda: console.get(f"/jobs/{job['id']}")["endedAt"], "the replay ends")
    ended = console.get(f"/jobs/{job['id']}")
    assert (ended["state"], ended["handled"], ended["problem"]) == ("done", 1, None)
    assert listed() is None
    assert checkout.row("ORDER#2121195", "PAYMENT#txn-console")


def test_every_repair_is_in_the_audit_file(console: Console) -> None:
    lines = [json.loads(line) for line in console.audit.read_text().splitlines()]
    assert {line["action"] for line in lines} == {"reconcile", "replay"}
    assert {line["reason"] for line in lines} == {REASON}


@pytest.mark.parametrize("path", REPAIRS)
def test_the_deployed_api_has_no_route_of_the_console(checkout: Checkout, path: str) -> None:
    assert Api(checkout).get(path).status == 404


def test_the_items_of_these_tests_are_gone(checkout: Checkout) -> None:
    checkout.delete("Users", userId="user-console")
    checkout.delete("Payments", transactionId="txn-console")
    checkout.deadline(lambda: not checkout.row(*PROFILE.values()), "the profile is gone")
    checkout.deadline(
        lambda: not checkout.row("ORDER#2121195", "PAYMENT#txn-console"), "the payment is gone"
    )
