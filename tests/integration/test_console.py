"""The console's routes on both engines: every test starts with a put into a source table."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from aws_lambda_powertools import Logger
from jsonschema_rs import Draft202012Validator

from adminview.aws.attribute_codec import for_boto3
from adminview.cli.deployment.find import check_model
from adminview.cli.querying.result_grid import table_grid
from adminview.examples.shop.sample_data import ADA, FIRST_DAY, POISON, order
from adminview.http_api.handlers import Api
from adminview.http_api.health import NoAlarms
from adminview.http_api.openapi import document
from adminview.local.http_server import event
from adminview.local.local_cloud import LocalCloud
from adminview.local.source_writes import Put
from adminview.model.row import VIEW_TABLE
from tests.support.console import REASON, ConsoleClient, console_of
from tests.support.model import registry

ORDER = {"PK": f"USER#{ADA}", "SK": "ORDER#2025-03-01#2121195"}
MISSING = {"source": "Orders", "view": "order", "error": "MissingAttributeError"}


@pytest.fixture
def shop(cloud: LocalCloud) -> LocalCloud:
    """Open the shop for a day; one order cannot be synced."""
    for step in (*FIRST_DAY, POISON):
        assert isinstance(step, Put)
        cloud.put(step.source, step.item)
    cloud.settle()
    return cloud


@pytest.fixture
def audit(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


@pytest.fixture
def console(shop: LocalCloud, audit: Path) -> ConsoleClient:
    return console_of(shop, audit)


def fix(shop: LocalCloud) -> None:
    """Correct the item that cannot be synced, behind the stream's back."""
    day, number = POISON.item["SK"].split("#")
    step = order(POISON.item["CustomerId"], day, number, "PAID", [])
    shop.put(step.source, step.item)


def lines(audit: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in audit.read_text().splitlines()]


def test_a_row_is_explained_by_its_item_its_change_and_its_view(console: ConsoleClient) -> None:
    explained = console.get(f"/explain?{urlencode(ORDER)}")
    assert explained["verdict"] == "equal"
    assert explained["row"] == explained["expected"]
    assert explained["row"]["data"]["Total"] == 5.98
    assert explained["difference"] == []
    assert explained["item"] == {
        "owner": f"Orders/{ADA}/2025-03-01#2121195",
        "source": "Orders",
        "table": "Orders",
        "key": {"CustomerId": ADA, "SK": "2025-03-01#2121195"},
        "exists": True,
    }
    assert explained["change"]["sequence"].isdigit()
    assert explained["change"]["ageSeconds"] >= 0
    assert explained["view"]["name"] == "order"
    assert explained["view"]["file"].endswith("sales.py")
    assert explained["view"]["line"] > 1
    assert explained["model"]["same"] is True
    assert explained["repair"] is None


def test_data_has_the_order_of_the_view_file_as_on_the_command_line(
    shop: LocalCloud, console: ConsoleClient
) -> None:
    results = shop.query_engine.page("orders-of-user", user_id=ADA).rows
    pattern = shop.registry.pattern("orders-of-user")
    columns = table_grid(shop.registry, pattern, results).headers
    rows = console.get(f"/patterns/orders-of-user?user_id={ADA}")["rows"]
    written = [name for name in columns if name in rows[0]["data"]]
    assert [*rows[0]["data"]] == written != sorted(written)
    assert [*console.get(f"/explain?{urlencode(ORDER)}")["row"]["data"]] == written
    fix(shop)
    (item,) = console.post("/dead-letters/preview", {"all": True})["items"]
    previewed = item["put"][0]["after"]["data"]
    assert [*previewed] == [name for name in written if name in previewed]


def test_a_row_that_was_changed_by_hand_is_shown_with_both_sides_and_repaired(
    shop: LocalCloud, console: ConsoleClient, audit: Path
) -> None:
    (row,) = [row for row in shop.rows() if row["SK"] == {"S": ORDER["SK"]}]
    row["data"]["M"]["Total"] = {"N": "1"}
    shop.clients.dynamodb.put_item(TableName=VIEW_TABLE, Item=for_boto3(row))
    explained = console.get(f"/explain?{urlencode(ORDER)}")
    assert (explained["verdict"], explained["repairable"]) == ("different", True)
    assert (explained["row"]["data"]["Total"], explained["expected"]["data"]["Total"]) == (1, 5.98)
    assert any(line.startswith("+") for line in explained["difference"])
    done = console.post("/repairs/reconcile", {**ORDER, "reason": REASON})
    assert done == {"item": explained["item"]["owner"], "put": 1, "deleted": 0}
    assert console.get(f"/explain?{urlencode(ORDER)}")["verdict"] == "equal"
    assert lines(audit)[0]["item"] == explained["item"]["owner"]


def test_a_row_without_an_item_is_orphaned(shop: LocalCloud, console: ConsoleClient) -> None:
    shop.delete("Orders", {"CustomerId": ADA, "SK": "2025-03-01#2121195"})
    explained = console.get(f"/explain?{urlencode(ORDER)}")
    assert (explained["verdict"], explained["expected"]) == ("orphaned", None)
    assert explained["item"]["exists"] is False


def test_a_row_leads_to_the_rows_and_queries_of_its_keys(console: ConsoleClient) -> None:
    related = console.get(f"/related?{urlencode(ORDER)}")
    assert {"PK": ORDER["PK"], "SK": "PROFILE"} in related["partition"]["rows"]
    assert ORDER not in related["partition"]["rows"]
    assert {row["PK"] for row in related["item"]["rows"]} == {"ORDER#2121195"}
    links = {
        (link["pattern"], tuple(link["parameters"].items()))
        for link in related["links"]
        if not link["missing"]
    }
    assert ("user-profile", (("user_id", ADA),)) in links
    assert ("payments-of-order", (("order_id", "2121195"),)) in links
    assert ("products-of-order", (("order_id", "2121195"),)) in links
    assert ("orders-by-status", (("status", "PENDING"),)) in links
    for name, parameters in links:
        console.get(f"/patterns/{name}?{urlencode(dict(parameters))}")


def test_a_purchase_leads_to_its_product_and_its_user(console: ConsoleClient) -> None:
    (row, *_) = console.get("/patterns/products-of-order?order_id=2121195")["rows"]
    related = console.get(f"/related?{urlencode(row['key'])}")
    links = {link["pattern"]: link["parameters"] for link in related["links"]}
    assert links["product-details"]["product_id"] in row["key"]["SK"]
    assert links["user-profile"] == {"user_id": ADA}
    assert related["joins"] == [
        {
            "name": "profile",
            "pattern": "buyers-of-product",
            "key": {"PK": f"USER#{ADA}", "SK": "PROFILE"},
        }
    ]


def test_dead_letters_are_grouped_and_shown_and_stay(console: ConsoleClient) -> None:
    for _ in range(2):
        response = console.get("/dead-letters")
        (group,) = response["groups"]
        assert {name: group[name] for name in MISSING} == MISSING
        assert (group["count"], group["readable"]) == (1, True)
        (letter,) = response["letters"]
        assert letter["items"] == [f"Orders/{POISON.item['CustomerId']}/{POISON.item['SK']}"]
        assert response["queue"]["ready"] == 1
        assert response["complete"]
    details = console.get(f"/dead-letters/{letter['id']}")
    assert details["firstError"]["kind"] == MISSING["error"]
    assert json.loads(details["text"])["source"] == "Orders"
    assert console.get("/dead-letters?source=Users")["letters"] == []
    assert console.send("/dead-letters/none").status == 404


def test_a_preview_names_the_rows_and_writes_none(shop: LocalCloud, console: ConsoleClient) -> None:
    before = console.post("/dead-letters/preview", {"all": True})
    assert before["items"][0]["problem"].startswith("MissingAttributeError")
    fix(shop)
    rows = shop.rows()
    preview = console.post("/dead-letters/preview", {"group": MISSING})
    (item,) = preview["items"]
    assert item["problem"] is None
    assert item["put"][0]["isNew"]
    assert item["put"][0]["before"] is None
    assert item["put"][0]["after"]["data"]["Status"] == "PAID"
    assert len(shop.rows()) == len(rows)
    assert console.get("/dead-letters")["queue"]["ready"] == 1


@pytest.mark.parametrize("by", ["ids", "group", "all"])
def test_a_replay_of_a_fixed_item_writes_its_rows(
    shop: LocalCloud, console: ConsoleClient, audit: Path, by: str
) -> None:
    (letter,) = console.get("/dead-letters")["letters"]
    fix(shop)
    select = {"ids": {"ids": [letter["id"]]}, "group": {"group": MISSING}, "all": {"all": True}}
    job = console.repair("replay", select[by])
    assert (job["state"], job["outcomes"]) == ("done", {"reconciled": 1})
    assert job["rowsPut"] > 0
    assert console.get("/dead-letters")["letters"] == []
    key = {"PK": f"USER#{POISON.item['CustomerId']}", "SK": f"ORDER#{POISON.item['SK']}"}
    assert console.get(f"/explain?{urlencode(key)}")["change"]["reconciled"]
    (entry,) = [line for line in lines(audit) if line.get("id") == letter["id"]]
    assert (entry["action"], entry["outcome"], entry["reason"]) == ("replay", "reconciled", REASON)
    assert console.get("/audit")["entries"][0]["job"] == job["id"]


def test_a_dead_letter_that_still_fails_is_sent_again_and_known_to_be_invisible(
    console: ConsoleClient,
) -> None:
    job = console.repair("replay", {"all": True})
    assert job["outcomes"] == {"still_failing": 1}
    assert next(iter(job["reasons"])).startswith("MissingAttributeError")
    invisible = console.get("/dead-letters")["invisible"]
    if invisible["known"]:  # for a second
        assert invisible["known"][0]["source"] == "Orders"


@pytest.mark.parametrize("by", ["ids", "group", "all"])
def test_a_discard_is_written_down_before_it_deletes(
    console: ConsoleClient, audit: Path, by: str
) -> None:
    (letter,) = console.get("/dead-letters")["letters"]
    select = {"ids": {"ids": [letter["id"]]}, "group": {"group": MISSING}, "all": {"all": True}}
    job = console.repair("discard", select[by])
    assert (job["state"], job["outcomes"]) == ("done", {"discarded": 1})
    (entry,) = lines(audit)
    assert (entry["action"], entry["id"], entry["reason"]) == ("discard", letter["id"], REASON)
    assert json.loads(entry["letter"])["source"] == "Orders"
    assert console.get("/dead-letters")["letters"] == []


def test_other_dead_letters_stay(shop: LocalCloud, console: ConsoleClient) -> None:
    shop.clients.sqs.send_message(QueueUrl=shop.queue_url, MessageBody="<b>no letter \u2028")
    response = console.get("/dead-letters")
    assert {group["readable"] for group in response["groups"]} == {True, False}
    job = console.repair("discard", {"group": MISSING})
    assert job["outcomes"] == {"discarded": 1}
    (left,) = console.get("/dead-letters")["letters"]
    assert left["kind"] == "unreadable"
    assert console.get(f"/dead-letters/{left['id']}")["text"] == "<b>no letter \u2028"
    unreadable = {"source": None, "view": None, "error": left["error"]}
    assert console.repair("discard", {"group": unreadable})["outcomes"] == {"discarded": 1}


def test_a_job_is_rate_limited_and_can_be_stopped(shop: LocalCloud, console: ConsoleClient) -> None:
    for number in range(25):
        shop.clients.sqs.send_message(QueueUrl=shop.queue_url, MessageBody=f"not a letter {number}")
    body = {"select": {"all": True}, "reason": REASON, "perSecond": 1}
    job = console.post("/repairs/discard", body, 202)["job"]
    refused = console.send("/repairs/replay", "POST", body)
    assert (refused.status, refused.json["job"]["id"]) == (409, job["id"])
    assert console.send("/dead-letters/preview", "POST", {"all": True}).status == 409
    console.post(f"/jobs/{job['id']}/stop", None, 202)
    ended = console.ended(job["id"])
    assert ended["state"] == "stopped"
    assert ended["handled"] <= 20
    assert console.get("/jobs")["jobs"][0]["id"] == job["id"]
    assert len(console.get("/dead-letters")["letters"]) == 26 - ended["handled"]


def test_nothing_is_replayed_with_another_model_than_the_deployed_one(
    shop: LocalCloud, audit: Path
) -> None:
    def check() -> None:
        check_model(registry(), replace(shop.settings, model="another"))

    console = console_of(shop, audit, check=check)
    body = {"select": {"all": True}, "reason": REASON}
    refused = console.send("/repairs/replay", "POST", body)
    assert (refused.status, refused.json["type"]) == (409, "urn:adminview:model-differs")
    refused = console.send("/repairs/reconcile", "POST", {**ORDER, "reason": REASON})
    assert refused.status == 409
    assert not audit.exists()


def test_the_status_knows_what_it_does_not_know(console: ConsoleClient) -> None:
    status = console.get("/status")
    assert [source["name"] for source in status["sources"]] == sorted(
        source.name for source in registry().sources
    )
    orders = next(source for source in status["sources"] if source["name"] == "Orders")
    assert orders["deadLetters"]["value"] == 1
    assert orders["lag"]["value"] is None
    assert orders["lag"]["reason"]
    assert orders["drift"]["value"] is None
    assert status["alarms"]["known"] is False
    assert status["state"] == "attention"
    assert status["model"]["same"] is True


def test_the_progress_lists_what_is_not_built(console: ConsoleClient) -> None:
    progress = console.get("/progress")
    assert progress["known"]
    assert progress["plan"]["unbuilt"] == [source.name for source in registry().sources]


def test_a_console_without_a_queue_has_no_dead_letters_and_no_repairs(
    shop: LocalCloud, audit: Path
) -> None:
    settings = replace(shop.settings, dead_letter_queue_url="")
    console = console_of(shop, audit, settings=settings)
    assert not {"dead-letters", "repairs"} & {*console.get("/session")["features"]}
    assert console.send("/dead-letters").status == 404
    assert console.send("/repairs/replay", "POST", {}).status == 404
    assert console.get("/status")["deadLetters"] is None


def test_hostile_rows_are_data(shop: LocalCloud, console: ConsoleClient) -> None:
    name = "<script>alert(1)</script>\u202e\x00\x1b[31m" + "x" * 300_000
    step = order("user-<b>", "2025-03-09", "2129999", "PENDING", [])
    shop.put(step.source, {**step.item, "Items": [{"Id": "p", "Name": name, "Price": 1}]})
    shop.settle()
    key = {"PK": "USER#user-<b>", "SK": "ORDER#2025-03-09#2129999"}
    explained = console.get(f"/explain?{urlencode(key)}")
    assert explained["verdict"] == "equal"
    assert explained["row"]["data"]["Items"][0]["Name"] == name
    assert console.get(f"/related?{urlencode(key)}")["links"]


def operations(console: ConsoleClient) -> list[tuple[str, str, bool]]:
    """Return the method and path of every route, and whether the deployed API has it."""
    queries = document(registry(), "m")["paths"]
    return [
        (method.upper(), path, path in queries)
        for path, methods in console.gateway.api.document["paths"].items()
        for method in methods
    ]


REFUSALS: list[tuple[int, dict[str, str | None]]] = [
    (401, {"Authorization": None}),
    (401, {"Authorization": "Bearer another"}),
    (421, {"Host": "evil.example:8090"}),
    (403, {"Origin": "http://evil.example"}),
    (403, {"Sec_Fetch_Site": "cross-site"}),
]


def test_every_route_is_refused_without_the_token_and_for_other_hosts_and_origins(
    console: ConsoleClient, audit: Path
) -> None:
    rows, refused = console.get("/dead-letters")["letters"], 0
    body = {"select": {"all": True}, "reason": REASON}
    for method, path, _ in operations(console):
        for status, headers in REFUSALS:
            answered = console.send(path, method, body, **headers)
            assert answered.status == status, (method, path, headers)
            refused += 1
    assert refused > 5 * 25
    assert console.get("/dead-letters")["letters"] == rows
    assert not audit.exists()


def test_the_deployed_api_has_queries_alone(shop: LocalCloud, console: ConsoleClient) -> None:
    deployed = Api(shop.query_engine, NoAlarms(), "m", Logger(service="deployed"))
    rejected = []
    for method, path, queried in operations(console):
        if not queried:
            answer = deployed(event(method, path, {}), None)
            assert answer["statusCode"] == 404, (method, path)
            rejected.append(path)
    assert {"/repairs/replay", "/repairs/discard", "/repairs/reconcile", "/dead-letters"} <= {
        *rejected
    }


def test_responses_have_the_form_that_the_document_states(
    shop: LocalCloud, console: ConsoleClient
) -> None:
    described = console.get("/openapi.json")
    (letter,) = console.get("/dead-letters")["letters"]
    job = console.repair("replay", {"all": True})
    key = urlencode(ORDER)
    shop.clients.sqs.send_message(QueueUrl=shop.queue_url, MessageBody=json.dumps({"a": 1}))
    answers = {
        "Session": console.get("/session"),
        "Explanation": console.get(f"/explain?{key}"),
        "Related": console.get(f"/related?{key}"),
        "DeadLetters": console.get("/dead-letters"),
        "ReplayPreview": console.post("/dead-letters/preview", {"all": True}),
        "Job": job,
        "Jobs": console.get("/jobs"),
        "Audit": console.get("/audit"),
        "Status": console.get("/status"),
        "Progress": console.get("/progress"),
        "ModelGraph": console.get("/model"),
        "Catalogue": console.get("/patterns"),
        "Problem": console.send(f"/dead-letters/{letter['id']}x").json,
    }
    for name, answer in answers.items():
        schema = {"$ref": f"#/components/schemas/{name}", "components": described["components"]}
        Draft202012Validator(schema).validate(answer)


@pytest.mark.parametrize(
    ("route", "body", "words"),
    [
        ("/repairs/replay", {}, "reason, select is missing"),
        ("/repairs/replay", {"select": {"all": True}}, "reason is missing"),
        ("/repairs/replay", {"select": {"all": True}, "reason": "short"}, "2 words"),
        ("/repairs/replay", {"select": {"all": True}, "reason": "a\ud800 b c d"}, "must be text"),
        ("/repairs/replay", {"select": {"all": False}, "reason": REASON}, "one member"),
        ("/repairs/replay", {"select": {}, "reason": REASON}, "one member"),
        ("/repairs/replay", {"select": {"ids": []}, "reason": REASON}, "1 to 1000"),
        ("/repairs/replay", {"select": {"ids": [1]}, "reason": REASON}, "1 to 1000"),
        ("/repairs/replay", {"select": {"group": {"source": "a"}}, "reason": REASON}, "group"),
        (
            "/repairs/discard",
            {"select": {"all": True}, "reason": REASON, "perSecond": 0},
            "from 1 to 100",
        ),
        (
            "/repairs/discard",
            {"select": {"all": True}, "reason": REASON, "perSecond": True},
            "from 1 to 100",
        ),
        ("/repairs/discard", {"select": {"all": True}, "reason": REASON, "x": 1}, "only"),
        ("/repairs/reconcile", {"PK": "a", "reason": REASON}, "SK is missing"),
        ("/repairs/reconcile", {"PK": 1, "SK": "a", "reason": REASON}, "must be text"),
        ("/dead-letters/preview", {}, "one member"),
        ("/dead-letters/preview", {"all": True, "ids": ["a"]}, "one member"),
    ],
)
def test_a_wrong_body_is_refused_with_the_reason(
    console: ConsoleClient, route: str, body: Any, words: str
) -> None:
    refused = console.send(route, "POST", body)
    assert refused.status == 400
    assert words in refused.detail


@pytest.mark.parametrize(
    ("route", "status"),
    [
        ("/explain?PK=a", 400),
        ("/explain?PK=a&SK=b&x=1", 400),
        ("/explain?PK=a&SK=b", 404),
        (f"/explain?PK={'a' * 2048}&SK={'b' * 1025}", 404),
        ("/explain?PK=%ff&SK=b", 400),
        ("/related?PK=a&SK=b", 404),
        ("/dead-letters?limit=0", 400),
        ("/dead-letters?limit=0000199999", 400),
        ("/dead-letters?limit=x", 400),
        ("/jobs/none", 404),
        ("/audit?limit=0", 400),
        ("/status?x=1", 400),
        ("/model?x=1", 400),
    ],
)
def test_a_wrong_request_is_refused(console: ConsoleClient, route: str, status: int) -> None:
    assert console.send(route).status == status
