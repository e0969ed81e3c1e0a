"""The check of the stacks finds what is wrong, and what was accepted without need."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from cdk_nag import AwsSolutionsChecks

from adminview.cdk.constructs.suppress_nag import suppress_nag
from tests.infra import checks
from tests.infra.checks import TOLERATED, Finding, deployments, lint, nag
from tests.support.shop import registry

Fill = Callable[[cdk.Stack], object]


def nagged(directory: Path, fill: Fill) -> dict[str, str]:
    """Give the rules that a small stack breaks, each with where."""
    findings = nag(directory, lambda app: fill(cdk.Stack(app, "Small")), {})
    return {finding.rule: finding.where for finding in findings}


def open_queue(stack: cdk.Stack) -> sqs.Queue:
    """Make a queue that takes dead letters without TLS."""
    queue = sqs.Queue(stack, "Queue")
    suppress_nag(queue, "SQS3", "It is planted.")
    return queue


def role(stack: cdk.Stack, *actions: str) -> iam.Role:
    """Make a role that may do something to everything."""
    may = iam.PolicyStatement(actions=[*actions], resources=["*"])
    return iam.Role(
        stack,
        "Role",
        assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
        inline_policies={"Planted": iam.PolicyDocument(statements=[may])},
    )


def test_an_open_queue_is_found(tmp_path: Path) -> None:
    assert nagged(tmp_path, open_queue) == {"AwsSolutions-SQS4": "Small/Queue/Resource"}


def test_a_role_that_may_touch_everything_is_found_by_what_it_may_do(tmp_path: Path) -> None:
    assert nagged(tmp_path, lambda stack: role(stack, "sqs:*")) == {
        "AwsSolutions-IAM5[Action::sqs:*]": "Small/Role/Resource",
        "AwsSolutions-IAM5[Resource::*]": "Small/Role/Resource",
    }


def test_what_is_acknowledged_is_not_found_and_its_neighbour_is(tmp_path: Path) -> None:
    def fill(stack: cdk.Stack) -> None:
        suppress_nag(role(stack, "sqs:*"), "IAM5[Resource::*]", "It is planted.")

    assert nagged(tmp_path, fill) == {"AwsSolutions-IAM5[Action::sqs:*]": "Small/Role/Resource"}


@pytest.mark.parametrize(
    ("rule", "where"),
    [("SQS3", "Small/Topic"), ("SNS4", "Small/Topic"), ("SNS3", "Small")],
    ids=["of another resource", "of no rule", "of a rule that is kept"],
)
def test_an_acknowledgment_of_what_is_not_found_is_itself_found(
    tmp_path: Path, rule: str, where: str
) -> None:
    def fill(stack: cdk.Stack) -> None:
        topic = sns.Topic(stack, "Topic", enforce_ssl=True)
        suppress_nag(topic if where == topic.node.path else stack, rule, "It is planted.")

    assert nagged(tmp_path, fill) == {f"AwsSolutions::AwsSolutions-{rule}": where}


def test_an_acknowledgment_that_only_another_resource_needs_is_found(tmp_path: Path) -> None:
    def fill(stack: cdk.Stack) -> None:
        suppress_nag(open_queue(stack), "SQS4", "It is planted.")
        suppress_nag(sns.Topic(stack, "Topic", enforce_ssl=True), "SQS4", "It is planted.")

    assert nagged(tmp_path, fill) == {"AwsSolutions::AwsSolutions-SQS4": "Small/Topic"}


def test_an_acknowledgment_that_one_of_two_needs_is_not_superfluous(tmp_path: Path) -> None:
    def fill(stack: cdk.Stack) -> None:
        sqs.Queue(stack, "One", enforce_ssl=True)
        sqs.Queue(stack, "Other")
        for rule in ("SQS3", "SQS4"):
            suppress_nag(stack, rule, "It is planted.")

    assert nagged(tmp_path, fill) == {}


def test_rules_that_could_not_run_are_no_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken(AwsSolutionsChecks):
        def validate(self, context: object) -> Any:  # noqa: ARG002 - none can be judged
            msg = "planted"
            raise ValueError(msg)

    monkeypatch.setattr(checks, "AwsSolutionsChecks", Broken)
    (finding,) = nag(tmp_path, lambda app: sqs.Queue(cdk.Stack(app, "Small"), "Queue"), {})
    assert finding.rule == "failed"
    assert "planted" in finding.what


TAKEN = {
    "Effect": "Allow",
    "Action": "sts:AssumeRole",
    "Principal": {"Service": "lambda.amazonaws.com"},
}
ROLE = {
    "Type": "AWS::IAM::Role",
    "Properties": {"AssumeRolePolicyDocument": {"Version": "2012-10-17", "Statement": [TAKEN]}},
}
FUNCTION = {
    "Type": "AWS::Lambda::Function",
    "DependsOn": ["Role"],
    "Properties": {
        "Code": {"ZipFile": "pass"},
        "Handler": "index.handler",
        "Runtime": "python3.13",
        "Role": {"Fn::GetAtt": ["Role", "Arn"]},
    },
}
MACHINE = {
    "Type": "AWS::StepFunctions::StateMachine",
    "DependsOn": ["Role"],
    "Properties": {
        "Definition": {"StartAt": "Done", "States": {"Done": {"Type": "Succeed"}}},
        "RoleArn": {"Fn::GetAtt": ["Role", "Arn"]},
    },
}
TOLERABLE = {"Role": ROLE, "Function": FUNCTION, "Machine": MACHINE}


def linted(directory: Path, resources: dict[str, Any], **more: object) -> list[Finding]:
    template = directory / "Small.template.json"
    template.write_text(json.dumps({"Resources": resources, **more}))
    return lint([template])


def test_a_template_that_aws_would_refuse_is_found(tmp_path: Path) -> None:
    queue = {"Type": "AWS::SQS::Queue", "Properties": {"VisibilityTimeout": "long"}}
    (finding,) = linted(tmp_path, TOLERABLE | {"Queue": queue})
    assert (finding.where, finding.rule) == ("Small.template.json/Queue", "E3012")
    assert "integer" in finding.what


def test_what_is_wrong_beside_the_resources_is_found(tmp_path: Path) -> None:
    (finding,) = linted(tmp_path, TOLERABLE, Parameters={"Unused": {"Type": "String"}})
    assert (finding.where, finding.rule) == ("Small.template.json/Parameters/Unused", "W2001")


def test_what_is_tolerated_on_one_type_is_found_on_another(tmp_path: Path) -> None:
    topic = {
        "Type": "AWS::SNS::Topic",
        "DependsOn": ["Role"],
        "Properties": {"DisplayName": {"Fn::GetAtt": ["Role", "RoleId"]}},
    }
    (finding,) = linted(tmp_path, TOLERABLE | {"Topic": topic})
    assert (finding.where, finding.rule) == ("Small.template.json/Topic", "W3005")


def test_what_is_tolerated_and_nowhere_found_is_itself_found(tmp_path: Path) -> None:
    findings = linted(tmp_path, {"Queue": {"Type": "AWS::SQS::Queue"}})
    assert {(finding.rule, finding.where) for finding in findings} == TOLERATED


def test_a_linter_that_does_not_run_is_no_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "CFN_LINT", Path("/bin/false"))
    with pytest.raises(RuntimeError):
        linted(tmp_path, TOLERABLE)


@pytest.mark.parametrize("findings", [[], [Finding("Small/Queue", "AwsSolutions-SQS4", "Open.")]])
def test_the_command_names_what_is_found_and_fails_by_it(
    findings: list[Finding], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    checked: list[str] = []

    def remember(directory: Path, *_: object) -> list[Finding]:
        checked.append(directory.name)
        return findings

    monkeypatch.setattr(checks, "nag", remember)
    monkeypatch.setattr(checks, "lint", lambda _: [])
    assert checks.main() == bool(findings)
    assert checked == [*deployments(registry())], "each once"
    assert all(str(finding) in capsys.readouterr().out for finding in findings)
