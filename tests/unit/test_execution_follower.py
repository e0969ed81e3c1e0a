"""Progress, result and failure of an execution of the state machine."""

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest

from adminview.cli.bulk import state_machine as machine_module
from adminview.cli.bulk.segment_pool import SegmentOutcome
from adminview.cli.bulk.state_machine import ExecutionFollower, ExecutionRequest
from adminview.cli.commands.backfill import run_on_aws
from adminview.cli.deployment.deployment import Deployment
from adminview.cli.shutdown import Shutdown
from adminview.model.errors import ServiceError, SettingsError
from tests.support.bulk_tables import World, never
from tests.support.fakes import NO_WAIT, TABLE, refusal
from tests.unit.test_deployment import FakeAws

MACHINE, EXECUTION = "arn:machine", "arn:execution:1"
RUNS = ("backfill/Things", "backfill/Notes")
ORDER = ExecutionRequest(
    {"task": "backfill", "sources": None, "segments": 2}, RUNS, ("Things", "Notes")
)
STOPPING = f"aws stepfunctions stop-execution --execution-arn {EXECUTION}"


@dataclass
class States:
    """Step Functions, with one machine; an execution moves on each time it is looked at."""

    turns: list[Any] = field(default_factory=list)  # what each look sees, or does
    running: dict[str, str] = field(default_factory=dict)  # input by execution
    failed: dict[str, Any] = field(default_factory=dict)  # the part of a map that failed
    started: list[Any] = field(default_factory=list)

    def list_executions(self, **request: Any) -> Any:
        if "mapRunArn" in request:
            assert request["statusFilter"] == "FAILED"
            return {"executions": [{"executionArn": "arn:part"}] if self.failed else []}
        assert request == {"stateMachineArn": MACHINE, "statusFilter": "RUNNING"}
        return {"executions": [{"executionArn": arn} for arn in self.running]}

    def list_map_runs(self, executionArn: str) -> Any:  # noqa: N803 - boto3's
        assert executionArn == EXECUTION
        return {"mapRuns": [{"mapRunArn": "arn:map"}]}

    def start_execution(self, **request: Any) -> Any:
        self.started.append(request)
        return {"executionArn": EXECUTION}

    def describe_execution(self, executionArn: str) -> Any:  # noqa: N803 - boto3's
        if executionArn == "arn:part":
            return {"status": "FAILED", **self.failed}
        turn = self.turns.pop(0) if self.turns else {"status": "RUNNING"}
        turn = turn() or {"status": "RUNNING"} if callable(turn) else turn
        return {"input": self.running.get(executionArn, "{}"), **turn}


@pytest.fixture
def world() -> World:
    """Let there be some items, and a run that ended long ago."""
    world = World()
    for number in range(6):
        world.put(f"t{number}", x="1")
    world.write("Notes", {"about": "t0", "number": 1, "text": "hello"})
    world.run("backfill/Notes")
    world.now += 1000
    return world


def follower(world: World, states: States, **changes: Any) -> ExecutionFollower:
    options: dict[str, Any] = {"stop": Shutdown(), "backoff": NO_WAIT} | changes
    return ExecutionFollower(states, MACHINE, ORDER, world.progress, **options)


def test_an_execution_is_started_with_the_given_options_and_nothing_else(world: World) -> None:
    states, printed = States(), list[str]()
    assert follower(world, states, notify=printed.append).start() == EXECUTION
    (started,) = states.started
    assert started["stateMachineArn"] == MACHINE
    assert json.loads(started["input"]) == {"task": "backfill", "segments": 2}
    assert printed == [f"started {EXECUTION}"]


def test_progress_is_what_the_progress_table_says_and_the_end_what_the_marks_say(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine_module, "POLL_SECONDS", 0.0)
    (segment, *_) = world.bulk.begin(RUNS[0], 2, deadline=never())

    def work() -> None:
        world.worker(RUNS[0]).work(segment, end=never())

    def end() -> Any:
        world.run(RUNS[0], 2)
        world.run(RUNS[1], 1)
        return {"status": "SUCCEEDED"}

    seen: list[int] = []
    run = follower(world, States([lambda: None, work, end]))
    outcomes = run.follow(run.start(), lambda counts: seen.append(counts["items"]))
    assert seen[0] == 0, "what an earlier run did is not this one's doing"
    assert 0 < seen[1] < 6
    assert outcomes == [
        SegmentOutcome(RUNS[0], Counter(items=6, rows=6)),
        SegmentOutcome(RUNS[1], Counter(items=1, right=1)),
    ]
    assert all(outcome.finished for outcome in outcomes)


def test_the_same_command_follows_the_execution_that_is_running(world: World) -> None:
    states, printed = States(running={EXECUTION: ORDER.input}), list[str]()
    assert follower(world, states, notify=printed.append).start() == EXECUTION
    assert states.started == []
    assert printed == [f"already running: {EXECUTION}"]
    states.turns = [{"status": "SUCCEEDED"}]
    _, notes = follower(world, states).follow(EXECUTION, lambda _: None)
    assert notes == SegmentOutcome(RUNS[1], Counter(items=1, rows=1)), "it may have ended before"


def test_no_execution_is_started_while_one_with_other_options_runs(world: World) -> None:
    states = States(running={EXECUTION: '{"task": "sweep"}'})
    with pytest.raises(SettingsError, match=f"is executing another request: .*{STOPPING}"):
        follower(world, states).start()
    assert states.started == []


def test_ctrl_c_leaves_it_running_and_says_how_to_stop_it(world: World) -> None:
    run = follower(world, States())
    execution = run.start()
    outcomes = run.follow(execution, lambda _: run.stop.event.set())
    assert [outcome.finished for outcome in outcomes] == [False, False]
    assert outcomes[0].trouble == (f"it continues on AWS (to stop it: {STOPPING})")


WRAPPED = json.dumps({"errorType": "SettingsError", "errorMessage": "Disabled: enable it"})


@pytest.mark.parametrize(
    ("description", "failed", "words"),
    [
        ({"error": "SettingsError", "cause": WRAPPED}, {}, "Disabled: enable it"),
        ({"error": "States.Runtime", "cause": "no such path"}, {}, "States.Runtime: no such path"),
        ({"error": "Lambda.Unknown", "cause": "[1]"}, {}, "Lambda.Unknown: [1]"),
        ({}, {}, f"the execution is FAILED: {EXECUTION}"),
        (
            {"error": "States.ExceedToleratedFailureThreshold", "cause": "a part failed"},
            {"error": "TooManyFailuresError", "cause": json.dumps({"errorMessage": "101 items"})},
            "101 items",
        ),
    ],
)
def test_the_reason_of_a_failure_is_the_functions_own_text(
    world: World, description: dict[str, str], failed: dict[str, str], words: str
) -> None:
    run = follower(world, States([{"status": "FAILED", **description}], failed=failed))
    outcomes = run.follow(run.start(), lambda _: None)
    assert {outcome.trouble for outcome in outcomes} == {words}


def test_of_an_execution_that_failed_the_runs_that_have_ended_are_done(world: World) -> None:
    def fail() -> Any:
        world.run(RUNS[0], 1)
        return {"status": "TIMED_OUT"}

    run = follower(world, States([fail]))
    first, second = run.follow(run.start(), lambda _: None)
    assert first == SegmentOutcome(RUNS[0], Counter(items=6, rows=6))
    assert second.trouble == f"the execution is TIMED_OUT: {EXECUTION}"


def test_a_failed_status_call_is_reported_and_not_taken_for_the_end(world: World) -> None:
    def refuse() -> Any:
        raise refusal("AccessDeniedException")

    run = follower(world, States([refuse]))
    with pytest.raises(ServiceError, match="describe_execution of a state machine: AWS answered"):
        run.follow(EXECUTION, lambda _: None)


def test_it_is_found_by_the_output_of_its_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    aws = FakeAws()
    aws.stacks["team-AdminView-prod-Recovery"] = {"BackfillMachineArn": MACHINE}
    monkeypatch.setattr("boto3.client", aws.client)
    deployment = Deployment.from_options("prod", "team-", {})
    assert deployment.output("Recovery", "BackfillMachineArn") == MACHINE
    with pytest.raises(SettingsError, match="no output 'MigrateMachineArn': deploy this version"):
        deployment.output("Recovery", "MigrateMachineArn")


def test_the_clients_are_those_of_the_environment(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended() -> Any:
        world.run(RUNS[0], 1)
        world.run(RUNS[1], 1)
        return {"status": "SUCCEEDED"}

    services = {"dynamodb": world.db, "sqs": None, "stepfunctions": States([ended])}
    monkeypatch.setattr("boto3.client", lambda service, **_: services[service])
    monkeypatch.setattr("adminview.aws.boto3_clients.check_responses", lambda _: None)
    outcomes = run_on_aws(MACHINE, world.bulk.settings, ORDER)
    assert [outcome.counts["items"] for outcome in outcomes] == [6, 1]
    assert world.bulk.settings.view_table == TABLE
