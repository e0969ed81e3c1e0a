"""Execute bulk runs on AWS: start the deployed state machine and follow its progress."""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from adminview.aws.deadline import Deadline
from adminview.aws.retry import Backoff, call_with_retry
from adminview.bulk.lease_table import LeaseTable
from adminview.cli.bulk.segment_pool import Limits, RunOptions, SegmentOutcome, Watch
from adminview.cli.shutdown import Shutdown
from adminview.model.errors import ServiceError, SettingsError

FIRST_POLL_SECONDS = 1.0  # short work has ended by then; doubled after each poll
POLL_SECONDS = 5.0  # between two polls, at most
PATIENCE_SECONDS = 60.0
RUNNING, SUCCEEDED = "RUNNING", "SUCCEEDED"


@dataclass(frozen=True, slots=True)
class ExecutionRequest:
    """The input of an execution, its runs and their tables."""

    event: Mapping[str, Any]
    runs: Sequence[str]
    tables: Sequence[str]

    @property
    def input(self) -> str:
        """The event as JSON, without unset values."""
        event = {name: value for name, value in self.event.items() if value is not None}
        return json.dumps(event, sort_keys=True)


def as_event(options: RunOptions, limits: Limits) -> dict[str, Any]:
    """Convert the options of a command to the state machine's input."""
    return {
        "segments": options.segments,
        "max_rcu": limits.max_rcu,
        "max_wcu": limits.max_wcu,
        "tolerated_failures": options.tolerate,
        "restart": options.restart or None,
    }


@dataclass(slots=True)
class ExecutionFollower:
    """Starts an execution, and reads its progress from the progress table."""

    states: Any  # boto3's client of Step Functions
    machine: str
    request: ExecutionRequest
    progress: LeaseTable
    stop: Shutdown
    notify: Callable[[str], None] = lambda _: None
    backoff: Backoff = field(default_factory=Backoff)
    _before: Mapping[str, Any] = field(default_factory=dict)  # completions of earlier runs

    def start(self) -> str:
        """Start an execution, or return the running one if it has the same input.

        Raises a SettingsError if an execution with other input is running.
        """
        self._before = self._completions()
        listed = self._call("list_executions", stateMachineArn=self.machine, statusFilter=RUNNING)
        for execution in listed["executions"]:
            arn = str(execution["executionArn"])
            if json.loads(self._describe(arn)["input"]) != json.loads(self.request.input):
                msg = (
                    "the state machine is executing another request: wait until it has ended, or "
                    f"stop it and run this command again ({_stopping(arn)})"
                )
                raise SettingsError(msg)
            self.notify(f"already running: {arn}")
            return arn
        started = self._call(
            "start_execution", stateMachineArn=self.machine, input=self.request.input
        )
        self.notify(f"started {started['executionArn']}")
        return str(started["executionArn"])

    def follow(self, execution: str, watch: Watch) -> list[SegmentOutcome]:
        """Poll an execution until it ends or a stop is requested."""
        pause = FIRST_POLL_SECONDS
        while (described := self._describe(execution))["status"] == RUNNING:
            watch(sum((outcome.counts for outcome in self._outcomes("running")), Counter[str]()))
            if self.stop.event.is_set():
                return self._outcomes(f"it continues on AWS ({_stopping(execution)})")
            self.stop.sleep(min(pause, POLL_SECONDS))
            pause *= 2
        succeeded = described["status"] == SUCCEEDED
        return self._outcomes("" if succeeded else self._failure(execution, described))

    def _outcomes(self, trouble: str) -> list[SegmentOutcome]:
        """Return the outcome of each run, with *trouble* for those that are not complete."""
        outcomes, completions = [], self._completions()
        for run in self.request.runs:
            completion = completions.get(run, {})
            ended = completion.get("model") and completion != self._before.get(run, {})
            if not trouble or ended:
                outcomes.append(SegmentOutcome(run, Counter(completion.get("counts", {}))))
            else:
                records = self.progress.records(run, deadline=_soon())
                counts = sum((record.counts for record in records), Counter[str]())
                outcomes.append(SegmentOutcome(run, counts, trouble))
        return outcomes

    def _completions(self) -> Mapping[str, Any]:
        return self.progress.completions(deadline=_soon())

    def _describe(self, execution: str) -> Any:
        return self._call("describe_execution", executionArn=execution)

    def _failure(self, execution: str, described: Mapping[str, Any]) -> str:
        """Return why an execution failed. The cause in a map is only in its child executions."""
        with suppress(ServiceError):
            for map_run in self._call("list_map_runs", executionArn=execution)["mapRuns"]:
                children = self._call(
                    "list_executions",
                    mapRunArn=map_run["mapRunArn"],
                    statusFilter="FAILED",
                    maxResults=1,
                )["executions"]
                for child in children:
                    described = self._describe(child["executionArn"])
        return _cause(described) or f"the execution is {described['status']}: {execution}"

    def _call(self, operation: str, **arguments: Any) -> Any:
        call = partial(getattr(self.states, operation), **arguments)
        return call_with_retry(call, f"{operation} of a state machine", self.backoff, _soon())


def _cause(described: Mapping[str, Any]) -> str:
    """Return the error message, without the JSON in which Lambda wraps it."""
    error, cause = described.get("error", ""), described.get("cause", "")
    try:
        wrapped = json.loads(cause)
        return str(wrapped["errorMessage"])
    except (ValueError, LookupError, TypeError):
        return ": ".join(filter(None, [error, cause]))


def _stopping(execution: str) -> str:
    return f"to stop it: aws stepfunctions stop-execution --execution-arn {execution}"


def _soon() -> Deadline:
    return Deadline.after(PATIENCE_SECONDS)
