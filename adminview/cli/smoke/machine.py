"""Check 10: a run of the state machine is stopped, and redriven."""

import json
from typing import Any, Final

from adminview.aws.aws_calls import AwsCallError
from adminview.aws.settings import BACKFILL_MACHINE_OUTPUT
from adminview.bulk.runs import BACKFILL
from adminview.cli.deployment.stacks import RECOVERY
from adminview.cli.smoke.check import Cleanup, Seen, SmokeCheck, UnknownError, failed, passed
from adminview.cli.smoke.run import SmokeRun

RUNNING, ABORTED, SUCCEEDED = "RUNNING", "ABORTED", "SUCCEEDED"
MAP_SECONDS: Final = 20.0  # until the map of the segments has begun
STOP_SECONDS: Final = 30.0
# A worker that was stopped keeps its segment for up to three minutes.
END_SECONDS: Final = 420.0


def redrive(run: SmokeRun, cleanup: Cleanup) -> Seen:
    """Start a backfill of one source, stop it in its map, redrive it, and wait for its end."""
    machine = run.deployment.output(RECOVERY, BACKFILL_MACHINE_OUTPUT)
    running = run.call(
        "stepfunctions", "ListExecutions", stateMachineArn=machine, statusFilter=RUNNING
    )
    if running["executions"]:
        msg = "a run of the state machine is in progress"
        raise UnknownError(msg, "repeat this check when it has ended: --only 10")
    source, executions = next(iter(run.routes)), list[str]()
    # Else the next backfill of the source would continue this one, which read its items before.
    cleanup.add(
        f"an unfinished run: adminview backfill --source {source} --deployed completes it",
        lambda: _complete(run, machine, source, executions),
    )
    for in_map in (True, False):
        execution = _start(run, machine, source)
        executions.append(execution)
        cleanup.add("a run of the state machine", lambda arn=execution: _stop(run, arn))  # type: ignore[misc]
        if in_map:
            run.wait(lambda arn=execution: _has_left_begin(run, arn), MAP_SECONDS)  # type: ignore[misc]
        _stop(run, execution)
        run.wait(lambda arn=execution: _status(run, arn) != RUNNING, STOP_SECONDS)  # type: ignore[misc]
        if _status(run, execution) == ABORTED:
            return _redriven(run, execution, "in its map" if in_map else "at its start")
    msg = "each run ended before it could be stopped"
    raise UnknownError(msg, f"put more items into {source}, and repeat this check: --only 10")


def _start(run: SmokeRun, machine: str, source: str) -> str:
    request = {"task": BACKFILL, "sources": [source], "segments": 1}
    started = run.call(
        "stepfunctions", "StartExecution", stateMachineArn=machine, input=json.dumps(request)
    )
    return str(started["executionArn"])


def _complete(run: SmokeRun, machine: str, source: str, executions: list[str]) -> None:
    """Start the run once more if it did not end; nobody waits for it."""
    if executions and _status(run, executions[-1]) != SUCCEEDED:
        _start(run, machine, source)


def _redriven(run: SmokeRun, execution: str, where: str) -> Seen:
    run.call("stepfunctions", "RedriveExecution", executionArn=execution)
    run.wait(lambda: _has_ended_again(run, execution), END_SECONDS)
    described = _describe(run, execution)
    status, times = described["status"], described.get("redriveCount", 0)
    line = f"stopped {where}; redriven {times} times, then {status}"
    if status == SUCCEEDED:
        return passed(line)
    advice = "run adminview backfill --deployed, which starts over; report the failed state"
    return failed(line, advice)


def _has_ended_again(run: SmokeRun, execution: str) -> bool:
    """Return whether a redriven execution has ended; for a while it may still look stopped."""
    described = _describe(run, execution)
    return bool(described["status"] != RUNNING and described.get("redriveCount", 1) > 0)


def _has_left_begin(run: SmokeRun, execution: str) -> bool:
    """Return whether the map has begun, or the run has ended."""
    maps = run.call("stepfunctions", "ListMapRuns", executionArn=execution)["mapRuns"]
    return bool(maps) or _status(run, execution) != RUNNING


def _stop(run: SmokeRun, execution: str) -> None:
    """Stop an execution, unless it has ended."""
    try:
        run.call("stepfunctions", "StopExecution", executionArn=execution)
    except AwsCallError:
        if _status(run, execution) == RUNNING:
            raise


def _status(run: SmokeRun, execution: str) -> str:
    return str(_describe(run, execution)["status"])


def _describe(run: SmokeRun, execution: str) -> Any:
    return run.call("stepfunctions", "DescribeExecution", executionArn=execution)


CHECKS: Final = (
    SmokeCheck(
        10,
        "A run of the state machine that is stopped can be redriven",
        "a redriven backfill continues with its segments, and succeeds",
        redrive,
        minutes=3,
        cents=0.2,
        only_on_aws=True,
    ),
)
