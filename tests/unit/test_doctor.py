"""The doctor finds nothing wrong with a sound deployment, and each fault with its correction."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from adminview.bulk.lease_table import BUILT
from adminview.cli.doctor.finding import Finding, State
from tests.support.aws_descriptions import stream as stream_of
from tests.support.deployment import (
    API,
    MACHINE,
    NOW,
    QUEUE,
    QUEUE_URL,
    RECOVERY,
    SYNC,
    TOPIC,
    WATCH,
    Deployment,
    sound,
)
from tests.support.model import registry
from tests.support.readiness import completion_items, record_item

OK, WARNING, PROBLEM, UNKNOWN = State.OK, State.WARNING, State.PROBLEM, State.UNKNOWN

Break = Callable[[Deployment], object]


def others_than_ok(findings: dict[str, Finding]) -> list[str]:
    return [name for name, finding in findings.items() if finding.state is not OK]


def test_a_deployment_in_order_is_ok_in_everything() -> None:
    findings = sound().examine()
    assert [
        (finding.name, finding.summary) for finding in findings.values() if finding.state is not OK
    ] == []
    sources = [
        f"{what} {source.name}"
        for what in ("source", "mapping of")
        for source in registry().sources
    ]
    parts = ("Sources", "View", "Sync", "Recovery", "Api", "Watch")
    assert [*findings] == [
        *(f"stack AdminView-dev-{part}" for part in parts),
        "model",
        "view files",
        "access patterns",
        *sources,
        "bulk work",
        "view AdminViewTable",
        "queue Letters",
        "function SyncFunction",
        "function ApiFunction",
        "callers of ApiFunction",
        "schedule ReplayRule",
        "state machine Machine",
        "alarms of AdminView-dev-Watch",
        "topic Alarms",
        "role Role",
    ]


def status(stack: str, value: str) -> Break:
    return lambda here: here.stacks[stack]["description"].update(StackStatus=value)


def table(name: str, **changes: Any) -> Break:
    return lambda here: here.tables[name].update(changes)


def mapping(**changes: Any) -> Break:
    return lambda here: here.mappings["id-Orders"].update(changes)


def index(position: int, **changes: Any) -> Break:
    def change(here: Deployment) -> None:
        here.tables["AdminViewTable"]["GlobalSecondaryIndexes"][position].update(changes)

    return change


def without_index(here: Deployment) -> None:
    del here.tables["AdminViewTable"]["GlobalSecondaryIndexes"][0]


def another_index(here: Deployment) -> None:
    indexes = here.tables["AdminViewTable"]["GlobalSecondaryIndexes"]
    indexes.append({**indexes[0], "IndexName": "Mine"})


def index_never_deployed(here: Deployment) -> None:
    without_index(here)
    requested = here.stacks["AdminView-dev-View"]["template"]["Resources"]["View"]["Properties"]
    del requested["GlobalSecondaryIndexes"][0]


def pending(model: str | None = None, **questions: str | None) -> Break:
    reported = {"model": model or registry().fingerprint, "pending": questions}
    return lambda here: here.output(API, "AccessPatterns", json.dumps(reported))


def other_model(stack: str, function: str) -> Break:
    def change(here: Deployment) -> None:
        requested = here.stacks[stack]["template"]["Resources"][function]["Properties"]
        requested["Environment"] = {"Variables": {"ADMINVIEW_MODEL": "older"}}
        here.functions["api"]["Environment"] = requested["Environment"]

    return change


def record(run: str, *, done: bool, deadline: float = 0.0) -> Break:
    state: Any = {"model": "x", "start": None, "intent": [["secret"]], "counts": {}, "done": done}
    item = {
        "PK": {"S": run},
        "SK": {"S": "000003"},
        "of": {"N": "16"},
        "generation": {"N": "1"},
        "state": {"S": json.dumps(state)},
        "holder": {"S": "somebody"},
        "until": {"N": repr(deadline)},
        "version": {"N": "1"},
    }
    return lambda here: here.progress.append(item)


def not_built(source: str) -> Break:
    """Invalidate a source, as a deployment of other code does; its build fails at once."""

    def change(here: Deployment) -> None:
        deployed = registry()
        built = completion_items(deployed, without=(source,))
        here.progress = [record_item(deployed, execution="arn:failed"), *built]

    return change


def not_swept(source: str) -> Break:
    facts = {"since": 1.0, "model": registry().fingerprint, "attributes": []}
    item = {"SK": {"S": f"leftovers/{source}"}, "facts": {"S": json.dumps(facts)}}
    return lambda here: here.progress.append({"PK": {"S": BUILT}, **item})


def unseen(seconds: float, **changes: Any) -> Break:
    """Let an alarm have had no data for so long, since it was made."""
    reported = {
        "StateValue": "INSUFFICIENT_DATA",
        "TreatMissingData": "missing",
        "Period": DAY,
        "EvaluationPeriods": 2,
        "AlarmConfigurationUpdatedTimestamp": datetime.fromtimestamp(NOW - seconds, UTC),
    }
    return lambda here: here.alarms["age"].update(reported | changes)


def unconfirmed(count: str) -> Break:
    reported = {"SubscriptionsConfirmed": "0", "SubscriptionsPending": count}
    return lambda here: here.topics[TOPIC].update(reported)


DAY = 24 * 60 * 60
REVERT = f"npx cdk deploy {SYNC} -c adminview:stage=dev --exclusively --revert-drift"
FREE = "aws lambda delete-function-concurrency --function-name sync"
NO_STREAM = {"StreamEnabled": False}
KEYS_ONLY = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
OTHER_KEY = [{"AttributeName": "CustomerId", "KeyType": "HASH"}]
NEWER = stream_of("Orders", "2026-02-02T00:00:00.000")

CASES: list[tuple[Break, str, State, str, str]] = [
    (
        lambda h: h.stacks.pop(RECOVERY),
        f"stack {RECOVERY}",
        PROBLEM,
        "it does not exist",
        "--all -c",
    ),
    (status(API, "UPDATE_IN_PROGRESS"), f"stack {API}", PROBLEM, "in progress", "wait"),
    (
        status(API, "ROLLBACK_COMPLETE"),
        f"stack {API}",
        PROBLEM,
        "its first deployment failed",
        "then npx cdk deploy --all -c adminview:stage=dev --import-existing-resources",
    ),
    (status(API, "UPDATE_ROLLBACK_FAILED"), f"stack {API}", PROBLEM, "partly", "continue-update"),
    (status(API, "UPDATE_FAILED"), f"stack {API}", PROBLEM, "UPDATE_FAILED", "stack-events"),
    (status(API, "UPDATE_ROLLBACK_COMPLETE"), f"stack {API}", WARNING, "rolled back", "events"),
    (other_model(API, "ApiFunction"), "model", PROBLEM, "Api older", "adminview apply --stage dev"),
    (pending(gone=None), "access patterns", WARNING, "not ready: gone", "adminview apply"),
    (
        lambda h: h.tables.pop("Orders"),
        "source Orders",
        PROBLEM,
        "table Orders does not",
        "restore",
    ),
    (table("Orders", TableStatus="DELETING"), "source Orders", PROBLEM, "is DELETING", "wait"),
    (table("Orders", KeySchema=OTHER_KEY), "source Orders", PROBLEM, "SK (S)", "declare"),
    (
        table("Orders", StreamSpecification=NO_STREAM),
        "source Orders",
        PROBLEM,
        "no str",
        "Enable the",
    ),
    (
        table("Orders", StreamSpecification=KEYS_ONLY),
        "source Orders",
        PROBLEM,
        "KEYS",
        "disable the",
    ),
    (table("Orders", LatestStreamArn=NEWER), "mapping of Orders", PROBLEM, NEWER, NEWER),
    (lambda h: h.mappings.pop("id-Orders"), "mapping of Orders", PROBLEM, "is deleted", REVERT),
    (mapping(State="Disabled"), "mapping of Orders", PROBLEM, "Disabled", "--uuid id-Orders"),
    (mapping(State="Enabling"), "mapping of Orders", WARNING, "Enabling", "wait"),
    (
        mapping(LastProcessingResult="PROBLEM: x"),
        "mapping of Orders",
        PROBLEM,
        "batch failed",
        "logs",
    ),
    (mapping(FunctionArn="a:function:b"), "mapping of Orders", PROBLEM, "function is b", REVERT),
    (mapping(FunctionResponseTypes=[]), "mapping of Orders", PROBLEM, "is none", REVERT),
    (mapping(MaximumRetryAttempts=3), "mapping of Orders", PROBLEM, "but -1 was deployed", REVERT),
    (mapping(MaximumRecordAgeInSeconds=60), "mapping of Orders", PROBLEM, "but 79200 was", REVERT),
    (mapping(BisectBatchOnFunctionError=False), "mapping of Orders", PROBLEM, "is False", REVERT),
    (mapping(DestinationConfig={}), "mapping of Orders", PROBLEM, QUEUE, REVERT),
    (
        lambda h: h.tables.pop("AdminViewTable"),
        "view AdminViewTable",
        PROBLEM,
        "does not exist",
        "backfill",
    ),
    (
        table("AdminViewTable", TableStatus="ARCHIVED"),
        "view AdminViewTable",
        PROBLEM,
        "ARC",
        "wait",
    ),
    (
        without_index,
        "view AdminViewTable",
        PROBLEM,
        "index GSI1 is deleted",
        "-View -c adminview:stage=dev",
    ),
    (index(0, Backfilling=True), "view AdminViewTable", WARNING, "GSI1 is CREATING", "wait"),
    (
        index(0, Projection={"ProjectionType": "ALL"}),
        "view AdminViewTable",
        PROBLEM,
        "projection",
        "Delete",
    ),
    (
        another_index,
        "view AdminViewTable",
        WARNING,
        "Mine was created by hand",
        '"IndexName":"Mine"',
    ),
    (
        index_never_deployed,
        "view AdminViewTable",
        PROBLEM,
        "access pattern orders-by-st",
        "adminview apply",
    ),
    (lambda h: h.queues.clear(), "queue Letters", PROBLEM, "deleted", REVERT),
    (
        lambda h: h.queues[QUEUE_URL].update(VisibilityTimeout="5"),
        *("queue Letters", PROBLEM, "VisibilityTimeout is 5, but 360 was deployed", REVERT),
    ),
    (
        lambda h: h.queues[QUEUE_URL].update(ApproximateNumberOfMessagesNotVisible="2"),
        *("queue Letters", WARNING, "dead letters: 2 in flight", "adminview dlq list --stage dev"),
    ),
    (lambda h: h.functions.pop("sync"), "function SyncFunction", PROBLEM, "deleted", REVERT),
    (
        lambda h: h.functions["sync"].update(State="Failed"),
        "function SyncFunction",
        PROBLEM,
        "F",
        "-",
    ),
    (
        lambda h: h.functions["sync"].update(LastUpdateStatus="Failed"),
        *("function SyncFunction", PROBLEM, "last update is Failed", REVERT),
    ),
    (
        lambda h: h.functions["sync"].update(LastUpdateStatus="InProgress"),
        *("function SyncFunction", WARNING, "InProgress", ""),
    ),
    (
        lambda h: h.functions["sync"].update(Role="arn:another"),
        *("function SyncFunction", PROBLEM, "its role is arn:another", REVERT),
    ),
    (
        lambda h: h.concurrency.update(sync=0),
        *("function SyncFunction", PROBLEM, "it cannot run", "delete-function-concurrency"),
    ),
    (
        lambda h: h.concurrency.update(sync=3),
        *("function SyncFunction", WARNING, "concurrency is 3, but none was deployed", FREE),
    ),
    (lambda h: h.rules.clear(), "schedule ReplayRule", PROBLEM, "deleted", RECOVERY),
    (
        lambda h: h.rules["replay-rule"].update(State="DISABLED"),
        *("schedule ReplayRule", PROBLEM, "disabled", "aws events enable-rule --name replay-rule"),
    ),
    (lambda h: h.machines.clear(), "state machine Machine", PROBLEM, "deleted", RECOVERY),
    (
        lambda h: h.machines[MACHINE].update(status="DELETING"),
        *("state machine Machine", PROBLEM, "DELETING", RECOVERY),
    ),
    (
        lambda h: h.alarms["age"].update(StateValue="ALARM"),
        *("alarms of AdminView-dev-Watch", PROBLEM, "age is in ALARM", "Runbook#age"),
    ),
    (
        lambda h: h.alarms["age"].update(ActionsEnabled=False),
        *("alarms of AdminView-dev-Watch", WARNING, "age notifies nobody", "--alarm-names age"),
    ),
    (
        unseen(2 * DAY + 1),
        *("alarms of AdminView-dev-Watch", WARNING, "age no longer has data", "Runbook#age"),
    ),
    (
        unconfirmed("0"),
        *("topic Alarms", WARNING, "there is no subscription", f"--topic-arn {TOPIC}"),
    ),
    (
        unconfirmed("1"),
        *("topic Alarms", WARNING, "1 address has not confirmed", "follow the link in the email"),
    ),
    (
        unconfirmed("2"),
        *("topic Alarms", WARNING, "2 addresses have not confirmed", "aws sns subscribe"),
    ),
    (
        lambda h: h.alarms.clear(),
        "alarms of AdminView-dev-Watch",
        PROBLEM,
        "age is deleted",
        "Watch",
    ),
    (
        record("backfill/Orders", done=True),
        "bulk work",
        WARNING,
        "1 of 16",
        "backfill --source Ord",
    ),
    (
        not_built("Orders"),
        "bulk work",
        WARNING,
        "rows of the deployed model are not built: Orders",
        "--execution-arn arn:failed shows whether a build is running; if not, adminview apply",
    ),
    (not_swept("Users"), "bulk work", WARNING, "may be left: Users", "adminview apply"),
    (record("sweep/*", done=False), "bulk work", WARNING, "0 of 16", "adminview sweep --stage dev"),
    (
        record("migrate/orders-delivery-date", done=True),
        "bulk work",
        WARNING,
        "1 of",
        "migrate ord",
    ),
    (
        record("sweep/*", done=False, deadline=NOW + 9),
        "bulk work",
        WARNING,
        "a worker is running",
        "",
    ),
]


@pytest.mark.parametrize(("change", "name", "state", "seen", "do"), CASES)
def test_what_is_wrong_is_named_with_what_to_do_and_nothing_else_is(
    change: Break, name: str, state: State, seen: str, do: str
) -> None:
    here = sound()
    change(here)
    findings = here.examine()
    assert others_than_ok(findings) == [name]
    assert (findings[name].state, seen in findings[name].summary) == (state, True), findings[
        name
    ].summary
    assert do in " ".join(findings[name].advice)
    assert "secret" not in findings[name].summary


NEW: dict[str, Break] = {
    "no verification is due yet": unseen(2 * DAY - 1),
    "nobody tells since when": unseen(9 * DAY, AlarmConfigurationUpdatedTimestamp=None),
    "nothing was to be counted": unseen(9 * DAY, TreatMissingData="notBreaching"),
    "some have confirmed": lambda here: here.topics[TOPIC].update(SubscriptionsPending="1"),
}


@pytest.mark.parametrize("change", NEW.values(), ids=NEW)
def test_a_new_deployment_is_in_order_though_not_all_has_happened_yet(change: Break) -> None:
    here = sound()
    change(here)
    assert others_than_ok(here.examine()) == []


def test_more_alarms_than_a_page_has_are_all_found() -> None:
    here, names = sound(), [f"alarm-{number}" for number in range(120)]
    here.stack(WATCH, **{name: ("AWS::CloudWatch::Alarm", name, {}) for name in names})
    for name in names:
        here.alarms[name] = {**here.alarms["age"], "AlarmName": name}
    finding = here.examine()[f"alarms of {WATCH}"]
    assert (finding.state, finding.summary) == (State.OK, "none of 120 is in ALARM")
