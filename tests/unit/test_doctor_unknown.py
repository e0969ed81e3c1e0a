"""A check that AWS does not allow is unknown; the others still run."""

import json
from typing import Any

import boto3
import pytest
from botocore.exceptions import EndpointConnectionError
from typer.testing import CliRunner, Result

from adminview.cli.deployment.stacks import PARTS
from adminview.cli.doctor.finding import Check, Fault, Finding, State, run_check
from adminview.cli.main import app
from tests.support.aws_descriptions import stream
from tests.support.deployment import SYNC, Deployment, sound
from tests.support.fakes import refusal
from tests.support.model import registry


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Deployment:
    """Begin with nothing wrong, and let the command find it."""
    deployment = sound()
    monkeypatch.setattr(boto3, "client", lambda service, **_: deployment.client(service))
    monkeypatch.setattr("adminview.cli.commands.doctor.registry", registry)
    monkeypatch.setenv("COLUMNS", "200")
    return deployment


def adminview(*words: str) -> Result:
    result = CliRunner().invoke(app, ["doctor", *words])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def states(here: Deployment, state: State) -> list[str]:
    return [finding.name for finding in here.examine().values() if finding.state is state]


def test_a_call_that_is_denied_is_unknown_and_names_the_permission(here: Deployment) -> None:
    code = refusal("AccessDeniedException", "GetFunctionConfiguration", 403)
    here.refused["get_function_configuration"] = code
    findings = here.examine()
    assert states(here, State.UNKNOWN) == ["function SyncFunction", "function ApiFunction"]
    finding = findings["function SyncFunction"]
    assert finding.summary == "lambda:GetFunctionConfiguration: AWS answered AccessDeniedException"
    assert finding.advice == (
        "allow lambda:GetFunctionConfiguration for the credentials of this command",
    )
    assert states(here, State.PROBLEM) == []


def test_a_service_that_does_not_answer_is_not_waited_for_again(here: Deployment) -> None:
    here.refused["describe_rule"] = EndpointConnectionError(endpoint_url="https://events")
    here.stacks["AdminView-dev-Recovery"]["resources"].append(
        {
            "LogicalResourceId": "Second",
            "ResourceType": "AWS::Events::Rule",
            "PhysicalResourceId": "second",
        }
    )
    aws = here.aws()
    with pytest.raises(Exception, match="no answer from AWS: EndpointConnectionError"):
        aws.call("events", "DescribeRule", Name="replay-rule")
    tries = here.requests.count("describe_rule")
    with pytest.raises(Exception, match="no answer from AWS: EndpointConnectionError"):
        aws.call("events", "DescribeRule", Name="second")
    assert here.requests.count("describe_rule") == tries
    assert states(here, State.UNKNOWN) == ["schedule ReplayRule", "schedule Second"]


def test_a_refused_call_is_made_again_for_the_next_resource(here: Deployment) -> None:
    here.refused["describe_table"] = refusal("AccessDeniedException", "DescribeTable")
    aws = here.aws()
    for name in ("Orders", "Users"):
        with pytest.raises(Exception, match="AccessDenied"):
            aws.call("dynamodb", "DescribeTable", TableName=name)
    assert here.requests.count("describe_table") == 2


def test_a_stack_that_cannot_be_read_is_unknown_and_what_is_in_it_is_left_out(
    here: Deployment,
) -> None:
    here.refused["describe_stacks"] = refusal("AccessDenied", "DescribeStacks", 403)
    findings = here.examine()
    assert {finding.state for finding in findings.values()} == {State.UNKNOWN}
    assert [*findings] == [f"stack AdminView-dev-{part}" for part in PARTS], "whether needed or not"


def test_a_sync_stack_of_another_version_is_reported_once_for_all_sources(here: Deployment) -> None:
    here.output(SYNC, "Settings", "not JSON")
    here.output(SYNC, "Mappings", "not JSON")
    findings = here.examine()
    assert findings["sources"].summary.startswith(f"stack {SYNC!r} has no valid output 'Settings'")
    assert states(here, State.UNKNOWN) == [
        "access patterns",
        "sources",
        "mappings",
        "bulk work",
    ]


def test_a_check_that_is_surprised_is_unknown_and_quotes_nothing() -> None:
    def surprised() -> Any:
        raise KeyError("customer")

    finding = run_check(Check("it", surprised))
    assert (finding.state, "customer" in finding.summary) == (State.UNKNOWN, False)
    assert "KeyError" in finding.summary


def test_sources_that_are_all_others_tables_need_no_stack(here: Deployment) -> None:
    del here.stacks["AdminView-dev-Sources"]
    assert states(here, State.PROBLEM) == ["stack AdminView-dev-Sources"]
    for name, resource in here.stacks[SYNC]["template"]["Resources"].items():
        if name.startswith("Follow"):
            literal = stream(name.removeprefix("Follow"))
            resource["Properties"] = {**resource["Properties"], "EventSourceArn": literal}
    assert states(here, State.PROBLEM) == []


def test_a_stage_without_monitoring_has_no_alarms_and_that_is_reported(here: Deployment) -> None:
    del here.stacks["AdminView-dev-Watch"]
    findings = here.examine()
    watch = "stack AdminView-dev-Watch"
    assert [name for name in findings if "Watch" in name or "alarm" in name] == [watch]
    assert (findings[watch].state, findings[watch].advice) == (
        State.WARNING,
        ("npx cdk deploy AdminView-dev-Watch -c adminview:stage=dev",),
    )
    assert "there are no alarms" in findings[watch].summary


@pytest.mark.parametrize(("kept", "warnings"), [({}, 1), ({"DeletionPolicy": "Retain"}, 0)])
def test_the_advice_about_another_stream_of_our_table_warns_if_a_deployment_deletes_the_table(
    here: Deployment, kept: dict[str, str], warnings: int
) -> None:
    here.stacks["AdminView-dev-Sources"]["template"]["Resources"]["Orders"].update(kept)
    here.tables["Orders"]["LatestStreamArn"] = stream("Orders", "2027-01-01T00:00:00.000")
    (do,) = here.examine()["mapping of Orders"].advice
    assert "adminview verify --source Orders --repair --stage dev" in do
    # The alarms look at the stream, too.
    assert "AdminView-dev-Api AdminView-dev-Watch -c adminview:stage=dev --exclusively;" in do
    assert do.count("AdminView-dev-Sources deletes Orders") == warnings


def test_models_that_differ_while_a_plan_is_carried_out_are_a_warning(here: Deployment) -> None:
    requested = here.stacks["AdminView-dev-Api"]["template"]["Resources"]["ApiFunction"][
        "Properties"
    ]
    requested["Environment"] = {"Variables": {"ADMINVIEW_MODEL": "newer"}}
    here.functions["api"]["Environment"] = requested["Environment"]
    here.output("AdminView-dev-Api", "AccessPatterns", json.dumps({"pending": {"new": None}}))
    findings = here.examine()
    assert findings["model"].state is State.WARNING
    assert states(here, State.PROBLEM) == []


def test_an_index_of_a_pending_pattern_may_be_missing(here: Deployment) -> None:
    view = here.stacks["AdminView-dev-View"]["template"]["Resources"]["View"]["Properties"]
    for table in (view, here.tables["AdminViewTable"]):
        table["GlobalSecondaryIndexes"] = table["GlobalSecondaryIndexes"][1:]
    assert states(here, State.PROBLEM) == ["view AdminViewTable"]
    patterns: Any = {"pending": {"orders-by-status": None, "payments-by-status": None}}
    here.output("AdminView-dev-Api", "AccessPatterns", json.dumps(patterns))
    assert states(here, State.PROBLEM) == []
    patterns = {"pending": {"orders-by-status": "Older", "payments-by-status": None}}
    here.output("AdminView-dev-Api", "AccessPatterns", json.dumps(patterns))
    assert "index Older, which access pattern" in here.examine()["view AdminViewTable"].summary


def test_the_command_ends_well_if_all_is_well_or_only_a_warning(here: Deployment) -> None:
    assert adminview("--stage", "dev").exit_code == 0
    here.policy().append({"Effect": "Allow", "Action": "s3:*", "Resource": "*"})
    result = adminview("--stage", "dev")
    assert result.exit_code == 0
    assert "healthy: " in result.stdout
    assert "1 warning" in result.stdout


@pytest.mark.parametrize("broken", ["describe_rule", "simulate_principal_policy"])
def test_the_command_fails_if_something_is_wrong_or_unknown(here: Deployment, broken: str) -> None:
    if broken == "describe_rule":
        here.refused[broken] = refusal("AccessDenied", "DescribeRule", 403)
    else:
        here.denied["sqs:SendMessage"] = {"EvalDecision": "explicitDeny"}
    result = adminview("--stage", "dev")
    assert result.exit_code == 1
    assert "not healthy: " in result.stdout


def test_all_findings_are_printed_as_json(here: Deployment) -> None:
    here.concurrency["sync"] = 0
    result = adminview("--json")
    report = json.loads(result.stdout)
    assert (result.exit_code, report["status"]) == (1, 1)
    assert report["counts"]["problem"] == 1
    (problem,) = [finding for finding in report["findings"] if finding["state"] == "problem"]
    assert problem == {
        "name": "function SyncFunction",
        "state": "problem",
        "seen": "it cannot run: its reserved concurrency is 0",
        "do": ["aws lambda delete-function-concurrency --function-name sync"],
    }


def test_what_to_do_is_printed_whole_so_that_it_can_be_copied(
    here: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    here.mappings["id-Orders"]["State"] = "Disabled"
    lines = adminview().stdout.splitlines()
    assert "  aws lambda update-event-source-mapping --enabled --uuid id-Orders" in lines


def test_the_worst_of_several_faults_is_what_counts_and_advice_is_given_once() -> None:
    faults = [Fault("a", "x", State.WARNING), Fault("b", "x"), Fault("c", "y", State.UNKNOWN)]
    finding = Finding.of("it", faults, "")
    assert (finding.state, finding.summary, finding.advice) == (
        State.PROBLEM,
        "a; b; c",
        ("x", "y"),
    )
