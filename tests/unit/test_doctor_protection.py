"""A stage that keeps its data refuses deletion; until then, the doctor says so."""

import pytest

from adminview.cli.doctor.finding import State
from tests.support.deployment import API, Deployment, sound

DEPLOY = "npx cdk deploy --all -c adminview:stage=dev"
TABLE = "AWS::DynamoDB::GlobalTable"


def retained(policy: str) -> Deployment:
    """Return a deployment whose tables outlive their stacks, without protection."""
    here = sound()
    here.tables["AdminViewTableProgress"] = {"TableName": "AdminViewTableProgress"}
    for stack in here.stacks.values():
        for resource in stack["template"]["Resources"].values():
            if resource["Type"] == TABLE:
                resource["DeletionPolicy"] = policy
    return here


def protect(here: Deployment) -> None:
    for stack in here.stacks.values():
        stack["description"]["EnableTerminationProtection"] = True
    for table in here.tables.values():
        table["DeletionProtectionEnabled"] = True


@pytest.mark.parametrize("policy", ["Retain", "RetainExceptOnCreate"])
def test_a_stage_that_is_not_protected_yet_is_a_warning_with_the_setting(policy: str) -> None:
    finding = retained(policy).examine()["protection"]
    assert finding.state is State.WARNING
    assert "stacks AdminView-dev-Sources, AdminView-dev-View, AdminView-dev-Sync" in finding.summary
    assert "; tables " in finding.summary
    (advice,) = finding.advice
    assert advice.startswith('set "protect": true under "adminview" in cdk.json, then ' + DEPLOY)


def test_a_protected_stage_is_ok() -> None:
    here = retained("Retain")
    protect(here)
    finding = here.examine()["protection"]
    assert (finding.state, finding.summary) == (State.OK, "stacks and tables refuse deletion")


def test_one_table_whose_protection_was_turned_off_is_named() -> None:
    here = retained("Retain")
    protect(here)
    here.tables["AdminViewTable"]["DeletionProtectionEnabled"] = False
    finding = here.examine()["protection"]
    assert finding.summary == "not protected from deletion: tables AdminViewTable"


def test_a_stage_that_keeps_nothing_needs_no_protection() -> None:
    assert "protection" not in retained("Delete").examine()


@pytest.mark.parametrize("status", ["ROLLBACK_COMPLETE", "ROLLBACK_FAILED"])
def test_a_protected_stack_that_was_never_created_is_released_before_the_next_attempt(
    status: str,
) -> None:
    """The CDK deletes such a stack first, which CloudFormation refuses for a protected one."""
    here = sound()
    description = here.stacks[API]["description"]
    description.update(StackStatus=status, EnableTerminationProtection=True)
    finding = here.examine()[f"stack {API}"]
    assert finding.state is State.PROBLEM
    assert finding.summary == f"{status}: its first deployment failed"
    (advice,) = finding.advice
    release = "aws cloudformation update-termination-protection --no-enable-termination-protection"
    assert advice == (
        f"aws cloudformation describe-stack-events --stack-name {API} shows why; "
        f"then {release} --stack-name {API}; then {DEPLOY} --import-existing-resources "
        "(docs/runbook.md#failed-first-deployment)"
    )
