"""The state machine works on segments concurrently until each is done, and waits for leases."""

import json
from typing import TYPE_CHECKING, Any, cast
from unittest.mock import Mock

import pytest

from adminview.aws.observability import Observability
from adminview.bulk.lease_table import LEASE_SECONDS
from adminview.bulk.request import validate_request
from adminview.bulk.segment import Segment
from adminview.cdk.constructs.segment_machine import LAMBDA_ERRORS
from adminview.handlers.bulk import BulkDependencies, run_step
from adminview.model.errors import (
    AdminViewError,
    SettingsError,
    TooManyFailuresError,
)
from tests.infra.roles import held
from tests.support.fakes import Context
from tests.support.shop import registry
from tests.support.synthesis import Assembly

if TYPE_CHECKING:
    from adminview.bulk.runs import Bulk

MACHINES = ("Backfill", "Migrate")
WHOLE_INVOCATION = 900  # seconds

each_machine = pytest.mark.parametrize("machine", MACHINES)


def definition(assembly: Assembly, machine: str) -> dict[str, Any]:
    return dict(json.loads(assembly.name(assembly.machine(machine)["DefinitionString"])))


def each_segment(assembly: Assembly, machine: str) -> dict[str, Any]:
    return dict(definition(assembly, machine)["States"]["Each segment"])


def in_a_segment(assembly: Assembly, machine: str) -> dict[str, Any]:
    return dict(each_segment(assembly, machine)["ItemProcessor"]["States"])


def calls(assembly: Assembly, machine: str) -> dict[str, dict[str, Any]]:
    begin = definition(assembly, machine)["States"]["Begin"]
    work = in_a_segment(assembly, machine)["Work"]
    finish = definition(assembly, machine)["States"]["Finish"]
    return {"Begin": begin, "Work": work, "Finish": finish}


def goes_to(state: dict[str, Any]) -> list[str]:
    """Name the states after this one, the normal one last."""
    chosen = [letter_filter["Next"] for letter_filter in state.get("Choices", [])]
    usual = [state[key] for key in ("Default", "Next") if key in state]
    assert bool(chosen or usual) != bool(state.get("End") or state["Type"] == "Succeed")
    return chosen + usual


@each_machine
def test_begin_lists_the_segments_and_each_is_worked_on(dev: Assembly, machine: str) -> None:
    whole = definition(dev, machine)
    assert whole["StartAt"] == "Merge"
    assert {name: (state["Type"], goes_to(state)) for name, state in whole["States"].items()} == {
        "Merge": ("Pass", ["Begin"]),
        "Begin": ("Task", ["Each segment"]),
        "Each segment": ("Map", ["Finish"]),
        "Finish": ("Task", ["Then?"]),
        "Then?": ("Choice", ["Pause", "Again", "End"]),
        "Pause": ("Wait", ["Again"]),
        "Again": ("Pass", ["Begin"]),
        "End": ("Succeed", []),
    }


@each_machine
def test_work_on_a_segment_is_repeated_until_it_is_done(dev: Assembly, machine: str) -> None:
    states = in_a_segment(dev, machine)
    assert each_segment(dev, machine)["ItemProcessor"]["StartAt"] == "Work"
    assert {name: (state["Type"], goes_to(state)) for name, state in states.items()} == {
        "Work": ("Task", ["Done?"]),
        "Done?": ("Choice", ["Done", "Work"]),
        "Done": ("Succeed", []),
    }
    assert states["Done?"]["Choices"] == [
        {"Variable": "$.result.Payload.done", "BooleanEquals": True, "Next": "Done"}
    ]


@each_machine
def test_work_is_always_asked_for_with_the_item_that_begin_made(
    dev: Assembly, machine: str
) -> None:
    assert each_segment(dev, machine)["ItemsPath"] == "$.segments"
    assert each_segment(dev, machine)["ItemSelector"] == {"item.$": "$$.Map.Item.Value"}
    work = in_a_segment(dev, machine)["Work"]
    assert work["Parameters"]["Payload.$"] == "$.item"
    assert work["ResultPath"] == "$.result", "the result does not replace the item"
    assert not work.keys() & {"InputPath", "OutputPath", "ResultSelector"}


@each_machine
def test_segments_have_no_output_so_that_their_number_is_not_limited(
    dev: Assembly, machine: str
) -> None:
    assert in_a_segment(dev, machine)["Done"]["OutputPath"] is None, "an empty object"
    each = each_segment(dev, machine)
    assert each["ResultPath"] is None, "Finish gets what Begin returned"
    assert not each.keys() & {"ResultSelector", "OutputPath", "ResultWriter"}


@each_machine
def test_the_output_is_what_finish_returns(dev: Assembly, machine: str) -> None:
    states = definition(dev, machine)["States"]
    assert states["Finish"]["Parameters"]["Payload.$"] == "$.finish"
    assert states["Finish"]["ResultPath"] == "$.finished"
    assert states["End"]["OutputPath"] == "$.finished.Payload"


@each_machine
def test_an_event_that_begin_wants_to_follow_is_its_next_one(dev: Assembly, machine: str) -> None:
    states = definition(dev, machine)["States"]
    assert states["Then?"]["Choices"] == [
        {"Variable": "$.wait", "IsPresent": True, "Next": "Pause"},
        {"Variable": "$.then", "IsPresent": True, "Next": "Again"},
    ]
    assert (states["Pause"]["SecondsPath"], states["Pause"]["Next"]) == ("$.wait", "Again")
    assert states["Again"]["Parameters"] == {"default": {}, "input.$": "$.then", "fixed": {}}


@each_machine
def test_segments_run_by_themselves_as_many_at_once_as_begin_says(
    dev: Assembly, machine: str
) -> None:
    segment = each_segment(dev, machine)
    assert segment["ItemProcessor"]["ProcessorConfig"] == {
        "Mode": "DISTRIBUTED",
        "ExecutionType": "STANDARD",
    }
    assert segment["MaxConcurrencyPath"] == "$.concurrency"
    assert "MaxConcurrency" not in segment
    assert "ItemBatcher" not in segment


@each_machine
def test_an_execution_with_a_segment_that_failed_is_no_success(dev: Assembly, machine: str) -> None:
    segment = each_segment(dev, machine)
    assert not [key for key in segment if key.startswith("Tolerated")], "none is what AWS tolerates"
    assert "Catch" not in dev.name(dev.machine(machine)["DefinitionString"])


MAPPINGS = {source.name: f"Follow{source.name}Mapping" for source in registry().sources}


@pytest.mark.parametrize(
    ("machine", "default", "fixed"),
    [
        ("Backfill", {"task": "backfill"}, {"step": "begin", "mappings": MAPPINGS}),
        ("Migrate", {}, {"step": "begin", "task": "migrate"}),
    ],
)
def test_begin_gets_the_input_with_its_defaults(
    dev: Assembly, machine: str, default: dict[str, str], fixed: dict[str, str]
) -> None:
    states = definition(dev, machine)["States"]
    assert states["Merge"]["Parameters"] == {"default": default, "input.$": "$", "fixed": fixed}
    # The later of two wins.
    assert states["Begin"]["Parameters"]["Payload.$"] == (
        "States.JsonMerge(States.JsonMerge($.default, $.input, false), $.fixed, false)"
    )
    assert states["Begin"]["OutputPath"] == "$.Payload"


class OneSegment:
    """Bulk work that is cut into one piece."""

    registry = registry()

    def run(self, kind: str, subject: object) -> str:
        return f"{kind}/{subject}"

    def model_of(self, run: str) -> str:
        return f"model of {run}"

    def begin(self, run: str, of: int, **_: object) -> list[Segment]:
        return [Segment(run, 0, of)]


@pytest.mark.parametrize(
    ("machine", "options"),
    [
        ("Backfill", {"sources": ["Orders"], "max_wcu": 1, "concurrency": 3}),
        ("Backfill", {"task": "sweep"}),
        ("Migrate", {"migration": "orders-delivery-date"}),
    ],
)
def test_begin_answers_what_the_machine_looks_for_with_items_that_work_understands(
    dev: Assembly, machine: str, options: dict[str, Any]
) -> None:
    merge = definition(dev, machine)["States"]["Merge"]["Parameters"]
    event = merge["default"] | options | {"segments": 1} | merge["fixed"]
    bulk = cast("Bulk", OneSegment())
    dependencies = BulkDependencies(lambda *_: bulk, lambda *_: None, Mock(Observability), Mock())
    reported = run_step(event, Context(), dependencies)
    each = each_segment(dev, machine)
    (item,) = reported[each["ItemsPath"].removeprefix("$.")]
    assert validate_request(item)["step"] == "work"
    assert validate_request(reported["finish"])["step"] == "finish"
    assert reported[each["MaxConcurrencyPath"].removeprefix("$.")] == options.get("concurrency", 8)


@each_machine
def test_a_machine_calls_its_own_function_and_nothing_else(dev: Assembly, machine: str) -> None:
    for call in calls(dev, machine).values():
        assert call["Resource"] == "arn:AWS::Partition:states:::lambda:invoke"
        assert call["Parameters"]["FunctionName"] == f"{machine}Function.Arn"
        assert call["Parameters"].keys() == {"FunctionName", "Payload.$"}
        assert "TimeoutSeconds" not in call, "the function's own time is the limit"


TRANSIENT = {
    "ErrorEquals": [*LAMBDA_ERRORS, "ServiceError"],
    "IntervalSeconds": 5,
    "MaxDelaySeconds": 120,
    "MaxAttempts": 8,
    "JitterStrategy": "FULL",
}
TAKEN = {
    "ErrorEquals": ["SegmentTakenError"],
    "IntervalSeconds": 60,
    "MaxAttempts": 20,
    "BackoffRate": 1,
}


@each_machine
def test_passing_trouble_is_waited_out_and_so_is_somebody_elses_work(
    dev: Assembly, machine: str
) -> None:
    for call in calls(dev, machine).values():
        assert call["Retry"] == [TRANSIENT, TAKEN]


def test_a_worker_that_nobody_calls_again_is_outwaited() -> None:
    longest = LEASE_SECONDS + WHOLE_INVOCATION
    assert TAKEN["IntervalSeconds"] * TAKEN["MaxAttempts"] > longest  # type: ignore[operator]


@each_machine
@pytest.mark.parametrize("error", [SettingsError, TooManyFailuresError])
def test_what_waiting_cannot_help_fails_at_once(
    dev: Assembly, machine: str, error: type[AdminViewError]
) -> None:
    for call in calls(dev, machine).values():
        retried = {name for retry in call["Retry"] for name in retry["ErrorEquals"]}
        assert not retried & {error.__name__, "States.ALL", "States.TaskFailed"}


TRACES = (
    "xray:GetSamplingRules",
    "xray:GetSamplingTargets",
    "xray:PutTelemetryRecords",
    "xray:PutTraceSegments",
)


@each_machine
def test_only_state_machines_of_this_account_may_take_the_role(dev: Assembly, machine: str) -> None:
    role = dev.named("AWS::IAM::Role")[f"{machine}SegmentsMachineRole"]
    (statement,) = role["Properties"]["AssumeRolePolicyDocument"]["Statement"]
    assert statement["Principal"] == {"Service": "states.amazonaws.com"}
    assert statement["Condition"]["StringEquals"] == {
        "aws:SourceAccount": {"Ref": "AWS::AccountId"}
    }


@each_machine
def test_every_step_is_logged_without_what_was_worked_on(dev: Assembly, machine: str) -> None:
    logging = dev.machine(machine)["LoggingConfiguration"]
    assert (logging["Level"], logging["IncludeExecutionData"]) == ("ALL", False)
    (destination,) = logging["Destinations"]
    group = destination["CloudWatchLogsLogGroup"]["LogGroupArn"]
    assert dev.name(group) == f"{machine}SegmentsLogs.Arn"


@each_machine
def test_the_log_is_kept_as_long_as_the_stage_says(
    dev: Assembly, prod: Assembly, machine: str
) -> None:
    retention = [
        assembly.named("AWS::Logs::LogGroup")[f"{machine}SegmentsLogs"]["Properties"][
            "RetentionInDays"
        ]
        for assembly in (dev, prod)
    ]
    assert retention == [7, 90]


@each_machine
def test_a_machine_traces_where_the_stage_says_so_and_nowhere_else(
    dev: Assembly, prod: Assembly, traced: Assembly, machine: str
) -> None:
    on = [
        assembly.machine(machine).get("TracingConfiguration", {})
        for assembly in (dev, prod, traced)
    ]
    assert [tracing.get("Enabled", False) for tracing in on] == [False, False, True]
    role = f"{machine}SegmentsMachineRole"
    # X-Ray knows no resources.
    assert held(traced, role) == held(dev, role) | {(action, "*") for action in TRACES}
