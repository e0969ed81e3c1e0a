"""Faults without a symptom: lost records, and changes made by hand."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from adminview.cli.doctor.finding import Finding, State
from tests.support.aws_descriptions import caller
from tests.support.deployment import API, RECOVERY, SYNC, TOPIC, WATCH, Deployment, sound
from tests.support.fakes import refusal

Break = Callable[[Deployment], object]

MODEL, QUEUE = "ADMINVIEW_MODEL", "ADMINVIEW_DEAD_LETTER_QUEUE_URL"
FILTER = {"Filters": [{"Pattern": '{"eventName": ["secret"]}'}]}
OF_ANOTHER = "arn:aws:execute-api:eu-west-1:another/*"
OURS = "arn:aws:execute-api:eu-west-1:id/*"
UNREADABLE = {"Error": {"ErrorCode": "AccessDeniedException", "Message": "secret"}}


@pytest.fixture
def here() -> Deployment:
    """Begin with nothing wrong."""
    return sound()


def restore(stack: str) -> str:
    return f"npx cdk deploy {stack} -c adminview:stage=dev --exclusively --revert-drift"


def mapping(**changes: Any) -> Break:
    return lambda here: here.mappings["id-Orders"].update(changes)


def variables(here: Deployment) -> dict[str, str]:
    environment: dict[str, str] = here.functions["sync"]["Environment"]["Variables"]
    return environment


CASES: list[tuple[Break, str, str, str]] = [
    (
        mapping(FilterCriteria=FILTER),
        "mapping of Orders",
        "drops changes silently",
        "--filter-criteria",
    ),
    (
        mapping(FilterCriteriaError={"ErrorCode": "x"}),
        *("mapping of Orders", "has a filter", "--uuid id-Orders; then adminview verify"),
    ),
    (
        lambda h: variables(h).pop("ADMINVIEW_WHERE"),
        *("function SyncFunction", "missing variables: ADMINVIEW_WHERE", restore(SYNC)),
    ),
    (
        lambda h: variables(h).update({QUEUE: "secret", MODEL: "secret"}),
        *("function SyncFunction", f"changed variables: {QUEUE}, {MODEL}", restore(SYNC)),
    ),
    (
        lambda h: h.functions["sync"].pop("Environment"),
        *("function SyncFunction", f"{QUEUE}, {MODEL}, ADMINVIEW_WHERE", restore(SYNC)),
    ),
    (lambda h: variables(h).update(ADMINVIEW_WHERE="there", MORE="x"), "", "", ""),
    (
        lambda h: h.targets.update({"replay-rule": []}),
        *("schedule ReplayRule", "it does not invoke replay", restore(RECOVERY)),
    ),
    (
        lambda h: h.targets.update({"replay-rule": [{"Arn": "arn:another"}]}),
        *("schedule ReplayRule", "it does not invoke replay", restore(RECOVERY)),
    ),
    (
        lambda h: h.callers.clear(),
        *("callers of ApiFunction", f"apigateway.amazonaws.com ({OURS}) may", restore(API)),
    ),
    (
        lambda h: h.callers.update(api=[caller(OURS, "s3.amazonaws.com")]),
        *("callers of ApiFunction", "may not invoke it", restore(API)),
    ),
    (
        lambda h: h.callers.update(api=[caller(OF_ANOTHER)]),
        *("callers of ApiFunction", "may not invoke it", restore(API)),
    ),
    (
        lambda h: h.callers.update(api=[{**caller(OURS), "Effect": "Deny"}]),
        *("callers of ApiFunction", "may not invoke it", restore(API)),
    ),
    (lambda h: h.callers["api"].insert(0, {"Principal": "*"}), "", "", ""),
    (lambda h: h.topics.clear(), "topic Alarms", "it is deleted", restore(WATCH)),
]


@pytest.mark.parametrize(("change", "name", "seen", "do"), CASES)
def test_what_is_lost_or_beside_is_a_problem_and_what_makes_no_difference_is_none(
    here: Deployment, change: Break, name: str, seen: str, do: str
) -> None:
    change(here)
    faulty = [finding for finding in here.examine().values() if finding.state is not State.OK]
    assert [(finding.name, finding.state) for finding in faulty] == (
        [(name, State.PROBLEM)] if name else []
    )
    for failing in faulty:
        assert seen in failing.summary
        assert do in " ".join(failing.advice)
        assert "secret" not in json.dumps(failing.data())


def test_that_nobody_has_subscribed_is_a_warning_and_no_reason_to_fail(here: Deployment) -> None:
    del here.topics[TOPIC]["SubscriptionsConfirmed"]
    finding = here.examine()["topic Alarms"]
    assert (finding.state, finding.fails) == (State.WARNING, False)


def test_who_has_not_confirmed_is_counted_beside_those_who_have(here: Deployment) -> None:
    here.topics[TOPIC]["SubscriptionsPending"] = "2"
    finding = here.examine()["topic Alarms"]
    assert (finding.state, finding.summary) == (State.OK, "subscribed: 1, not confirmed: 2")


def test_a_function_that_falls_back_to_boto3_is_a_warning_which_names_the_setting(
    here: Deployment,
) -> None:
    variables(here).update(HTTPS_PROXY="secret")
    finding = here.examine()["function SyncFunction"]
    assert finding.state is State.WARNING
    assert "it uses boto3 instead of the direct client" in finding.summary
    assert "HTTPS_PROXY is set" in finding.summary
    assert restore(SYNC) in " ".join(finding.advice)
    assert "secret" not in json.dumps(finding.data())


def test_a_function_that_was_deployed_to_use_boto3_is_ok_and_reports_it(here: Deployment) -> None:
    variables(here).update(ADMINVIEW_TRACING="true")
    resources = here.stacks[SYNC]["template"]["Resources"]
    deployed = resources["SyncFunction01234567"]["Properties"]["Environment"]["Variables"]
    deployed["ADMINVIEW_TRACING"] = "true"
    here.functions["api"]["Environment"]["Variables"]["ADMINVIEW_TRACING"] = "true"
    finding = here.examine()["function SyncFunction"]
    assert (finding.state, finding.summary) == (
        State.OK,
        "active; it uses boto3: ADMINVIEW_TRACING is set",
    )


def test_variables_that_nobody_may_decrypt_are_unknown(here: Deployment) -> None:
    here.functions["sync"]["Environment"] = UNREADABLE
    finding = here.examine()["function SyncFunction"]
    assert (finding.state, finding.advice) == (
        State.UNKNOWN,
        ("allow kms:Decrypt for the credentials of this command",),
    )
    assert "secret" not in finding.summary


@pytest.mark.parametrize(
    ("call", "name", "permission"),
    [
        ("list_targets_by_rule", "schedule ReplayRule", "events:ListTargetsByRule"),
        ("get_policy", "callers of ApiFunction", "lambda:GetPolicy"),
        ("get_topic_attributes", "topic Alarms", "sns:GetTopicAttributes"),
    ],
)
def test_what_the_caller_may_not_read_is_unknown(
    here: Deployment, call: str, name: str, permission: str
) -> None:
    here.refused[call] = refusal("AccessDenied", call, 403)
    faulty = [finding for finding in here.examine().values() if finding.state is not State.OK]
    assert [(finding.name, finding.state, finding.advice) for finding in faulty] == [
        (name, State.UNKNOWN, (f"allow {permission} for the credentials of this command",))
    ]


def test_a_disabled_schedule_is_a_problem_though_its_targets_cannot_be_read(
    here: Deployment,
) -> None:
    here.refused["list_targets_by_rule"] = refusal("AccessDenied", "ListTargetsByRule", 403)
    here.rules["replay-rule"]["State"] = "DISABLED"
    assert here.examine()["schedule ReplayRule"].state is State.PROBLEM


def test_what_was_added_to_a_role_is_removed_by_name_since_no_deployment_does(
    here: Deployment,
) -> None:
    more = {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}
    here.roles["sync-role"]["Extra"] = {"Statement": more}
    here.attached.append("arn:aws:iam::aws:policy/AdministratorAccess")
    finding: Finding = here.examine()["role Role"]
    assert finding.state is State.WARNING
    assert "policy Extra was added by hand: s3:* on *" in finding.summary
    role, arn = "--role-name sync-role", "arn:aws:iam::aws:policy/AdministratorAccess"
    assert finding.advice == (
        f"aws iam delete-role-policy {role} --policy-name Extra",
        f"aws iam detach-role-policy {role} --policy-arn {arn}",
    )


def test_what_was_added_to_a_policy_of_ours_is_taken_back_by_a_deployment(
    here: Deployment,
) -> None:
    here.policy().append({"Effect": "Allow", "Action": "s3:*", "Resource": "*"})
    assert here.examine()["role Role"].advice == (restore(SYNC),)
