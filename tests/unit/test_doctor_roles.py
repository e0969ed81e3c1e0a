"""Roles are compared with the deployed permissions: missing, added, or denied by a boundary."""

from typing import Any

import pytest

from adminview.cli.doctor.finding import Finding, State
from adminview.cli.doctor.references import resolve
from adminview.model.errors import SettingsError
from tests.support.deployment import QUEUE, ROLE, SYNC, VIEW, Deployment, sound
from tests.support.fakes import refusal

DENIED = refusal("AccessDenied", "SimulatePrincipalPolicy", 403)
RESTORE = f"npx cdk deploy {SYNC} -c adminview:stage=dev --exclusively --revert-drift"


@pytest.fixture
def here() -> Deployment:
    """Begin with nothing wrong."""
    return sound()


def role_of(here: Deployment) -> Finding:
    return here.examine()["role Role"]


def test_a_role_that_lost_a_statement_cannot_do_what_it_must(here: Deployment) -> None:
    here.policy().pop(1)
    here.denied["sqs:SendMessage"] = {"EvalDecision": "implicitDeny"}
    finding = role_of(here)
    assert finding.state is State.PROBLEM
    assert finding.summary == f"it may not sqs:SendMessage on {QUEUE} (implicitDeny)"
    assert finding.advice == (RESTORE,)


@pytest.mark.parametrize(
    ("detail", "words"),
    [
        (
            {"PermissionsBoundaryDecisionDetail": {"AllowedByPermissionsBoundary": False}},
            "its permissions boundary",
        ),
        (
            {"OrganizationsDecisionDetail": {"AllowedByOrganizations": False}},
            "a policy of the organization",
        ),
    ],
)
def test_a_refusal_by_a_policy_above_the_role_is_not_fixed_by_a_deployment(
    here: Deployment, detail: dict[str, Any], words: str
) -> None:
    here.denied["dynamodb:BatchWriteItem"] = {"EvalDecision": "implicitDeny", **detail}
    finding = role_of(here)
    assert (finding.state, finding.summary) == (
        State.PROBLEM,
        f"it may not dynamodb:BatchWriteItem on {VIEW} ({words})",
    )
    assert finding.advice == (f"have an administrator extend {words}",)


def test_a_role_that_was_given_more_is_a_warning(here: Deployment) -> None:
    here.policy().append({"Effect": "Allow", "Action": "dynamodb:*", "Resource": "*"})
    here.attached.append("arn:aws:iam::aws:policy/AdministratorAccess")
    finding = role_of(here)
    assert finding.state is State.WARNING
    assert "permissions were added by hand: dynamodb:* on *" in finding.summary
    assert "attached by hand: arn:aws:iam::aws:policy/AdministratorAccess" in finding.summary


def test_a_condition_that_was_added_makes_another_grant(here: Deployment) -> None:
    here.policy()[0]["Condition"] = {"Bool": {"aws:ViaAWSService": "true"}}
    here.denied["dynamodb:BatchWriteItem"] = {"EvalDecision": "implicitDeny"}
    assert role_of(here).state is State.PROBLEM


def test_the_same_in_other_words_is_a_warning_if_it_can_be_done(here: Deployment) -> None:
    here.policy()[1]["Action"] = "sqs:Send*"
    finding = role_of(here)
    assert finding.state is State.WARNING
    assert f"allowed by other statements: sqs:SendMessage on {QUEUE}" in finding.summary


def test_what_is_not_simulated_is_evaluated_by_the_policy_text_and_reported(
    here: Deployment,
) -> None:
    here.refused["simulate_principal_policy"] = DENIED
    finding = role_of(here)
    assert finding.state is State.WARNING
    assert "iam:SimulatePrincipalPolicy: AWS answered AccessDenied" in finding.summary
    assert finding.advice == (
        "allow iam:SimulatePrincipalPolicy for the credentials of this command",
    )
    here.policy().pop(1)
    finding = role_of(here)
    assert finding.state is State.PROBLEM
    assert f"it lacks sqs:SendMessage on {QUEUE}" in finding.summary


def test_a_role_that_nobody_may_look_at_is_unknown_and_not_ok(here: Deployment) -> None:
    here.refused["simulate_principal_policy"] = DENIED
    here.refused["list_role_policies"] = refusal("AccessDenied", "ListRolePolicies", 403)
    finding = role_of(here)
    assert (finding.state, finding.advice) == (
        State.UNKNOWN,
        ("allow iam:ListRolePolicies for the credentials of this command",),
    )


def test_a_role_whose_text_is_hidden_is_judged_by_the_simulation(here: Deployment) -> None:
    here.refused["get_role_policy"] = refusal("AccessDenied", "GetRolePolicy", 403)
    assert role_of(here).state is State.WARNING
    here.denied["sqs:SendMessage"] = {"EvalDecision": "explicitDeny"}
    assert role_of(here).state is State.PROBLEM


def test_a_role_that_is_gone_is_a_problem(here: Deployment) -> None:
    here.roles.clear()
    assert (role_of(here).state, role_of(here).summary) == (State.PROBLEM, "it is deleted")


def test_a_policy_beside_the_role_and_an_attached_one_are_part_of_it(here: Deployment) -> None:
    managed = "arn:aws:iam::aws:policy/ReadOnlyAccess"
    statement = {"Effect": "Allow", "Action": "sqs:DeleteMessage", "Resource": QUEUE}
    requested = {"PolicyDocument": {"Statement": statement}, "Roles": [{"Ref": "Role01234567"}]}
    stack = here.stacks[SYNC]
    stack["template"]["Resources"]["Beside"] = {"Type": "AWS::IAM::Policy", "Properties": requested}
    stack["template"]["Resources"]["Role01234567"]["Properties"]["ManagedPolicyArns"] = [managed]
    stack["resources"].append({"LogicalResourceId": "Beside", "ResourceType": "AWS::IAM::Policy"})
    here.refused["simulate_principal_policy"] = DENIED
    seen = role_of(here).summary
    assert f"it lacks sqs:DeleteMessage on {QUEUE}" in seen
    assert f"detached policies: {managed}" in seen
    here.roles["sync-role"]["Beside"] = {"Statement": [statement]}
    here.attached.append(managed)
    assert role_of(here).summary.startswith("not fully checked")


def test_the_content_of_a_managed_policy_of_the_stack_is_compared(here: Deployment) -> None:
    arn = "arn:aws:iam::111122223333:policy/Policy1"
    delete = {"Effect": "Allow", "Action": "sqs:DeleteMessage", "Resource": QUEUE}
    stack = here.stacks[SYNC]
    stack["template"]["Resources"]["Policy1"] = {
        "Type": "AWS::IAM::ManagedPolicy",
        "Properties": {"PolicyDocument": {"Statement": delete}},
    }
    role = stack["template"]["Resources"]["Role01234567"]["Properties"]
    role["ManagedPolicyArns"] = [{"Ref": "Policy1"}]
    stack["resources"].append(
        {
            "LogicalResourceId": "Policy1",
            "ResourceType": "AWS::IAM::ManagedPolicy",
            "PhysicalResourceId": arn,
        }
    )
    here.attached.append(arn)
    here.managed[arn] = {"Statement": [delete]}
    assert role_of(here).state is State.OK
    here.managed[arn] = {"Statement": [delete | {"Action": "sqs:*"}]}
    finding = role_of(here)
    assert finding.state is State.WARNING
    assert f"permissions were added by hand: sqs:* on {QUEUE}" in finding.summary
    assert f"allowed by other statements: sqs:DeleteMessage on {QUEUE}" in finding.summary
    assert "--policy-name" not in " ".join(finding.advice), "it is not an inline policy"
    here.managed[arn] = {"Statement": []}
    here.denied["sqs:DeleteMessage"] = {"EvalDecision": "implicitDeny"}
    finding = role_of(here)
    assert finding.state is State.PROBLEM
    assert f"it may not sqs:DeleteMessage on {QUEUE}" in finding.summary


def test_an_action_that_takes_no_resource_is_not_simulated(here: Deployment) -> None:
    here.denied["dynamodb:ListStreams"] = {"EvalDecision": "implicitDeny"}
    assert role_of(here).state is State.OK


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("plain", "plain"),
        ({"Ref": "AWS::AccountId"}, "111122223333"),
        ({"Ref": "SyncFunction01234567"}, "sync"),
        ({"Fn::GetAtt": ["Role01234567", "Arn"]}, ROLE),
        ({"Fn::GetAtt": ["Letters01234567", "Arn"]}, QUEUE),
        ({"Fn::ImportValue": "AdminView-dev-View:ViewArn"}, VIEW),
        (
            {"Fn::GetStackOutput": {"StackName": "AdminView-dev-View", "OutputName": "ViewArn"}},
            VIEW,
        ),
        ({"Fn::Join": [":", ["a", {"Ref": "AWS::Region"}]]}, "a:eu-west-1"),
        ({"Fn::Select": [1, {"Fn::Split": [":", "a:b:c"]}]}, "b"),
    ],
)
def test_references_of_a_template_are_what_was_made(
    here: Deployment, value: Any, expected: str
) -> None:
    site = here.deployment()
    assert resolve(value, site.part("Sync"), site) == expected


@pytest.mark.parametrize(
    "value",
    [
        {"Ref": "Nobody"},
        {"Fn::GetAtt": ["Letters01234567", "QueueName"]},
        {"Fn::GetAtt": ["FollowOrders", "Arn"]},
        {"Fn::ImportValue": "another:output"},
        {"Fn::Sub": "x"},
    ],
)
def test_a_reference_that_cannot_be_resolved_is_not_guessed(here: Deployment, value: Any) -> None:
    site = here.deployment()
    with pytest.raises(SettingsError, match="cannot resolve"):
        resolve(value, site.part("Sync"), site)
