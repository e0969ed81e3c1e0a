"""Bulk work on AWS: a deployed state machine is started, and followed from here."""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import boto3

from adminview.aws.clients import Clients
from adminview.aws.deadline import Deadline
from adminview.aws.retry import Backoff, call_with_retry
from adminview.aws.settings import Settings
from adminview.aws.table_scanner import TableScanner
from adminview.bulk.lease_table import LeaseTable, progress_table
from adminview.cli.bulk.segment_pool import Limits, RunOptions, SegmentOutcome, Watch
from adminview.cli.output.bulk import progress
from adminview.cli.output.printing import echo
from adminview.cli.shutdown import Shutdown, graceful_shutdown
from adminview.model.errors import ServiceError, SettingsError

FIRST_LOOK_SECONDS = 1.0  # after which short work has ended; doubled from look to look
LOOK_SECONDS = 5.0  # between two looks at an execution, at most
PATIENCE_SECONDS = 60.0
RUNNING, SUCCEEDED = "RUNNING", "SUCCEEDED"


@dataclass(frozen=True, slots=True)
class Order:
    """What a state machine is asked, the runs that it is to make of it, and their tables."""

    event: Mapping[str, Any]
    runs: Sequence[str]
    tables: Sequence[str]

    @property
    def input(self) -> str:
        """Write the event down, without what is not said."""
        said = {name: value for name, value in self.event.items() if value is not None}
        return json.dumps(said, sort_keys=True)


def as_event(asked: RunOptions, limits: Limits) -> dict[str, Any]:
    """Write what a command was asked as a state machine takes it."""
    return {
        "segments": asked.segments,
        "max_rcu": limits.max_rcu,
        "max_wcu": limits.max_wcu,
        "tolerated_failures": asked.tolerate,
        "restart": asked.restart or None,
    }


def on_aws(machine: str, settings: Settings, order: Order) -> list[SegmentOutcome]:
    """Have a deployed state machine do the work, and follow it until it ends or Ctrl-C."""
    dynamodb = Clients().dynamodb
    table = LeaseTable(dynamodb, progress_table(settings.view_table))
    states: Any = boto3.client("stepfunctions")
    expected = None
    with suppress(ServiceError):  # not to know it stops nobody
        reader = TableScanner(dynamodb)
        expected = sum(reader.count(one, deadline=Deadline.after(10)) for one in order.tables)
    with graceful_shutdown() as stop, progress(order.event["task"], expected) as watch:
        follower = Follower(states, machine, order, table, stop, partial(echo, err=True))
        return follower.follow(follower.start(), watch)


@dataclass(slots=True)
class Follower:
    """Starts an execution, and tells how far it is by the progress table."""

    states: Any  # boto3's client of Step Functions
    machine: str
    order: Order
    progress: LeaseTable
    stop: Shutdown
    say: Callable[[str], None] = lambda _: None
    backoff: Backoff = field(default_factory=Backoff)
    _before: Mapping[str, Any] = field(default_factory=dict)  # marks of runs that ended earlier

    def start(self) -> str:
        """Start an execution, unless one is running that was asked the same: that one is it."""
        self._before = self._marks()
        listed = self._ask("list_executions", stateMachineArn=self.machine, statusFilter=RUNNING)
        for one in listed["executions"]:
            arn = str(one["executionArn"])
            asked = json.loads(self._ask("describe_execution", executionArn=arn)["input"])
            if asked != json.loads(self.order.input):
                msg = (
                    "the state machine is at other work: let that end, or begin anew without it "
                    f"({_stopping(arn)})"
                )
                raise SettingsError(msg)
            self.say(f"it is running already: {arn}")
            return arn
        started = self._ask("start_execution", stateMachineArn=self.machine, input=self.order.input)
        self.say(f"started {started['executionArn']}")
        return str(started["executionArn"])

    def follow(self, execution: str, watch: Watch) -> list[SegmentOutcome]:
        """Look at an execution until it ends, or somebody no longer wants to."""
        pause = FIRST_LOOK_SECONDS
        while (told := self._look(execution))["status"] == RUNNING:
            watch(sum((one.counts for one in self._outcomes("running")), Counter[str]()))
            if self.stop.event.is_set():
                return self._outcomes(f"it goes on without this command ({_stopping(execution)})")
            self.stop.sleep(min(pause, LOOK_SECONDS))
            pause *= 2
        return self._outcomes("" if told["status"] == SUCCEEDED else self._why(execution, told))

    def _outcomes(self, trouble: str) -> list[SegmentOutcome]:
        """Tell what has been done of each run; *trouble* is with those that have not ended."""
        outcomes, marks = [], self._marks()
        for run in self.order.runs:
            mark = marks.get(run, {})
            ended = mark.get("model") and mark != self._before.get(run, {})
            if not trouble or ended:
                outcomes.append(SegmentOutcome(run, Counter(mark.get("counts", {}))))
            else:
                records = self.progress.records(run, deadline=_soon())
                counts = sum((one.counts for one in records), Counter[str]())
                outcomes.append(SegmentOutcome(run, counts, trouble))
        return outcomes

    def _marks(self) -> Mapping[str, Any]:
        return self.progress.completions(deadline=_soon())

    def _look(self, execution: str) -> Any:
        return self._ask("describe_execution", executionArn=execution)

    def _why(self, execution: str, told: Mapping[str, Any]) -> str:
        """Say why an execution failed: of a map, only its parts know."""
        with suppress(ServiceError):
            for one in self._ask("list_map_runs", executionArn=execution)["mapRuns"]:
                parts = self._ask(
                    "list_executions",
                    mapRunArn=one["mapRunArn"],
                    statusFilter="FAILED",
                    maxResults=1,
                )["executions"]
                for part in parts:
                    told = self._look(part["executionArn"])
        return _cause(told) or f"the execution is {told['status']}: {execution}"

    def _ask(self, what: str, **asked: Any) -> Any:
        call = partial(getattr(self.states, what), **asked)
        return call_with_retry(call, f"{what} of a state machine", self.backoff, _soon())


def _cause(told: Mapping[str, Any]) -> str:
    """Take the words of an error out of what Lambda wrapped them in."""
    error, cause = told.get("error", ""), told.get("cause", "")
    try:
        wrapped = json.loads(cause)
        return str(wrapped["errorMessage"])
    except (ValueError, LookupError, TypeError):
        return ": ".join(filter(None, [error, cause]))


def _stopping(execution: str) -> str:
    return f"to stop it: aws stepfunctions stop-execution --execution-arn {execution}"


def _soon() -> Deadline:
    return Deadline.after(PATIENCE_SECONDS)
