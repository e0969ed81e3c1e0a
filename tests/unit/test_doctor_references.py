"""A weak reference that was resolved to a resource that is gone is found."""

from typing import Any

from adminview.cli.doctor.finding import State
from tests.support.deployment import MACHINE, RECOVERY, SYNC, WATCH, Deployment, sound

LABELS = {"Fn::GetStackOutput": {"StackName": SYNC, "OutputName": "Labels"}}
ORDERS_LABEL = {"Fn::Select": [0, {"Fn::Split": [",", {"Fn::Join": ["", [LABELS, ","]]}]}]}
FUNCTION = {"Fn::GetStackOutput": {"StackName": SYNC, "OutputName": "FunctionRef"}}


def referring() -> Deployment:
    """Return a deployment whose alarm and state machine refer to the sync stack weakly."""
    here = sound()
    here.output(SYNC, "Labels", "2026-01-01,2026-01-02")
    here.output(SYNC, "FunctionRef", "sync")
    dimensions = [
        {"Name": "FunctionName", "Value": FUNCTION},
        {"Name": "StreamLabel", "Value": ORDERS_LABEL},
    ]
    properties(here, WATCH, "Age")["Dimensions"] = dimensions
    here.alarms["age"]["Dimensions"] = [
        {"Name": "FunctionName", "Value": "sync"},
        {"Name": "StreamLabel", "Value": "2026-01-01"},
    ]
    text = {"Fn::Join": ["", ['{"mappings": {"Orders": "', FUNCTION, '"}}']]}
    properties(here, RECOVERY, "Machine01234567")["DefinitionString"] = text
    here.machines[MACHINE]["definition"] = '{"mappings": {"Orders": "sync"}}'
    return here


def properties(here: Deployment, stack: str, resource: str) -> dict[str, Any]:
    declared: dict[str, Any] = here.stacks[stack]["template"]["Resources"][resource]["Properties"]
    return declared


def test_references_that_are_current_are_ok() -> None:
    findings = referring().examine()
    assert findings[f"alarms of {WATCH}"].state is State.OK
    assert findings["state machine Machine"].state is State.OK


def test_an_alarm_that_watches_an_older_function_is_a_problem() -> None:
    here = referring()
    here.output(SYNC, "FunctionRef", "sync-2")
    finding = here.examine()[f"alarms of {WATCH}"]
    assert finding.state is State.PROBLEM
    assert finding.summary == "age refers to older resources: sync-2 is deployed"
    (advice,) = finding.advice
    assert advice == (
        f"npx cdk deploy {WATCH} -c adminview:stage=dev --exclusively --force "
        "(docs/runbook.md#stale-references)"
    )


def test_an_alarm_on_the_label_of_an_older_stream_is_a_problem() -> None:
    here = referring()
    here.output(SYNC, "Labels", "2026-09-09,2026-01-02")
    finding = here.examine()[f"alarms of {WATCH}"]
    assert finding.summary == "age refers to older resources: 2026-09-09 is deployed"


def test_a_state_machine_with_the_id_of_an_older_mapping_is_a_problem() -> None:
    here = referring()
    here.output(SYNC, "FunctionRef", "other-id")
    finding = here.examine()["state machine Machine"]
    assert finding.state is State.PROBLEM
    assert finding.summary == "it refers to older resources: other-id is deployed"
    assert f"cdk deploy {RECOVERY} " in finding.advice[0]


def test_a_function_with_the_value_of_an_older_resource_is_a_problem() -> None:
    here = referring()
    properties(here, SYNC, "SyncFunction01234567")["Environment"]["Variables"]["STREAM"] = LABELS
    here.functions["sync"]["Environment"]["Variables"]["STREAM"] = "2026-01-01,2026-01-02"
    assert here.examine()["function SyncFunction"].state is State.OK
    here.output(SYNC, "Labels", "2026-09-09")
    finding = here.examine()["function SyncFunction"]
    assert finding.summary == "it refers to older resources: 2026-09-09 is deployed"
    assert f"cdk deploy {SYNC} -c adminview:stage=dev --exclusively --force" in finding.advice[0]
