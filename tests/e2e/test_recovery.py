"""Deployed functions recover from failures: dead letters, lost rows and stopped runs."""

import json

from tests.support.e2e.api_client import Api
from tests.support.e2e.cloud import Checkout, at_once, stop_build
from tests.support.model import PAYMENT
from tests.support.shop import registry

USER_KEY, ORDER_KEY = "USER#user-123", "ORDER#2025-03-01#2121195"
PAYMENTS = "lambdas/views/payments.py"
POISON = {name: value for name, value in PAYMENT.items() if name != "createdAt"} | {
    "transactionId": "txn-poison",
    "amount": 4711,
}
REST_SECONDS = 60.0  # a dead letter is delivered half a minute after it was sent
ONE = ("--segments", "1")  # each segment starts a function again, and here is little to divide


def letters(checkout: Checkout, *kinds: str) -> int:
    """Count the dead letters in the deployed queue: those that can be seen, or of other kinds."""
    names = [f"ApproximateNumberOfMessages{kind}" for kind in kinds or ("",)]
    url = checkout.outputs("Sync")["DeadLetterQueueUrl"]
    response = checkout.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=names)
    return sum(int(response["Attributes"][name]) for name in names)


def repeat_replay(checkout: Checkout, *, on: bool) -> None:
    """Turn the schedule of the replay on or off: on a slow machine it would replay first."""
    events = checkout.client("events")
    rules = events.list_rules(NamePrefix="AdminView-dev-Recovery-RepeatReplay")["Rules"]
    assert rules
    for rule in rules:
        (events.enable_rule if on else events.disable_rule)(Name=rule["Name"])


def test_a_poison_record_is_dead_lettered_and_its_neighbours_are_written(
    checkout: Checkout,
) -> None:
    repeat_replay(checkout, on=False)
    for name, item in {"txn-before": PAYMENT, "txn-poison": POISON, "txn-after": PAYMENT}.items():
        checkout.put("Payments", item | {"transactionId": name})
    for name in ("txn-before", "txn-after"):
        checkout.await_row({"PK": {"S": "ORDER#2121195"}, "SK": {"S": f"PAYMENT#{name}"}})
    checkout.deadline(
        lambda: letters(checkout, "", "Delayed"), "the letter is in the deployed queue"
    )
    assert checkout.row("ORDER#2121195", "PAYMENT#txn-poison") is None


def test_a_corrected_view_is_deployed_and_then_there_is_no_difference(checkout: Checkout) -> None:
    lenient = 'item.get("createdAt", "UNKNOWN")'
    checkout.edit(PAYMENTS, ('"CREATED_AT", item["createdAt"]', f'"CREATED_AT", {lenient}'))
    checkout.cdk("deploy", "--all", "--require-approval", "never")
    again = checkout.cdk("deploy", "--all", "--app", "cdk.out", "--ci")
    stacks = [*(checkout.folder / "cdk.out").glob("*.template.json")]
    assert again.count("(no changes)") == len(stacks) > 0
    assert "Number of stacks with differences: 0" in checkout.cdk("diff", "--fail", "--ci")
    stop_build(checkout)  # the tests of the state machine fill the view


def test_a_dead_letter_holds_keys_and_a_reason_and_the_deployed_function_replays_it(
    checkout: Checkout,
) -> None:
    checkout.deadline(lambda: letters(checkout, ""), "the letter has rested", REST_SECONDS)
    (letter,) = json.loads(checkout.adminview("dlq", "list", "--json"))
    assert letter["source"] == "Payments"
    assert "createdAt" in letter["reason"]
    assert "txn-poison" in json.dumps(letter)
    assert "4711" not in json.dumps(letter)

    result = json.loads(checkout.adminview("dlq", "replay", "--deployed", "--json"))
    assert (result["rows_put"], result["complete"]) == (1, True)
    assert checkout.row("ORDER#2121195", "PAYMENT#txn-poison")
    assert [letters(checkout, kind) for kind in ("", "Delayed", "NotVisible")] == [0, 0, 0]
    repeat_replay(checkout, on=True)


def test_the_state_machines_build_and_sweep_the_view_and_complete_old_items(
    checkout: Checkout,
) -> None:
    row = {"PK": {"S": USER_KEY}, "SK": {"S": ORDER_KEY}}
    checkout.client("dynamodb").delete_item(TableName="AdminViewTable", Key=row)
    backfill = ("backfill", *ONE, "--deployed", "--json")
    filled = json.loads(checkout.adminview(*backfill))
    assert checkout.row(USER_KEY, ORDER_KEY)
    assert [run["finished"] for run in filled] == [True] * len(registry().sources)

    orders = ("--source", "Orders")
    migrate = ("migrate", "orders-delivery-date", *ONE, "--deployed", "--yes", "--json")
    (again, completed) = map(
        json.loads,
        at_once(
            lambda: checkout.adminview(*backfill, *orders), lambda: checkout.adminview(*migrate)
        ),
    )
    assert "rows" not in again[0]["counts"]
    assert completed["counts"]["updated"] == 1
    path = "/patterns/orders-by-delivery-date?delivery_date=2025-03-22"
    checkout.deadline(
        lambda: "2121195" in str(Api(checkout).get(path).body),
        "the stream brings the date into the view",
    )
    assert json.loads(checkout.adminview("sweep", *ONE, "--deployed", "--json"))[0]["finished"]


def test_the_state_machine_verifies_and_repairs_the_view(checkout: Checkout) -> None:
    row = {"PK": {"S": USER_KEY}, "SK": {"S": ORDER_KEY}}
    checkout.client("dynamodb").delete_item(TableName="AdminViewTable", Key=row)
    command = ("verify", *ONE, "--grace", "0", "--deployed", "--repair", "--json")
    report = json.loads(checkout.adminview(*command))
    assert (report["status"], report["finished"], report["repaired"]) == (0, True, 1)
    (finding,) = report["listed"]
    assert (finding["kind"], finding["row"]) == ("missing", [USER_KEY, ORDER_KEY])
    assert checkout.row(USER_KEY, ORDER_KEY)


def test_nothing_is_filled_from_a_source_that_nobody_follows(checkout: Checkout) -> None:
    mapping = json.loads(checkout.outputs("Sync")["Mappings"])["Orders"]
    functions = checkout.client("lambda")
    command = ("backfill", "--source", "Orders", *ONE)
    functions.update_event_source_mapping(UUID=mapping, Enabled=False)
    try:
        here, deployed = at_once(
            lambda: checkout.refused(*command), lambda: checkout.refused(*command, "--deployed")
        )
    finally:
        functions.update_event_source_mapping(UUID=mapping, Enabled=True)
    for printed in (here, deployed):
        assert "the stream of 'Orders' is not read" in printed


def test_after_the_repairs_verify_plan_and_doctor_find_nothing(checkout: Checkout) -> None:
    verified, planned, examined = at_once(
        lambda: checkout.adminview("verify", "--grace", "1"),
        lambda: checkout.adminview("plan"),
        lambda: checkout.refused("doctor", "--json"),
    )
    assert "the view is equal to the sources" in verified
    assert planned.startswith("nothing to do: ")
    findings = {finding["name"]: finding for finding in json.loads(examined)["findings"]}
    assert findings.pop("topic Alarms")["state"] == "warning", "nobody has subscribed to this one"
    assert findings.pop("mapping of the totals")["state"] == "problem", "this cloud has no windows"
    assert [finding for finding in findings.values() if finding["state"] != "ok"] == []
