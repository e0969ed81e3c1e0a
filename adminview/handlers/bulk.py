"""The bulk function: backfill, sweep, migrate, verify or build, one segment at a time.

The state machine calls ``"step": "begin"`` once to get the segments, then ``"step": "work"`` for
each segment until it is done, and ``"step": "finish"`` at the end. Progress stays in the progress
table: it contains customers' keys, which must not appear in the history of an execution.
"""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from json import dumps
from typing import Any

from adminview.aws.boto3_clients import lambda_client
from adminview.aws.clients import Clients
from adminview.aws.deadline import LONGEST_CALL, Deadline
from adminview.aws.event_source_mappings import check_followed
from adminview.aws.metered_client import Metered
from adminview.aws.observability import Observability
from adminview.aws.rate_limit import RateLimiter
from adminview.aws.settings import VIEW_STREAM
from adminview.bulk.build import BUILD, Build, Probes
from adminview.bulk.request import validate_request
from adminview.bulk.runs import BACKFILL, EVERYTHING, MIGRATE, SWEEP, VERIFY, Bulk, make_bulk
from adminview.bulk.segment import Segment
from adminview.bulk.verification import Verification
from adminview.bulk.verify.phases import DAILY, OF_TOTALS, PHASES, VERIFY_TOTALS
from adminview.bulk.verify.scope import Scope
from adminview.bulk.worker import FAILED
from adminview.model.errors import SettingsError, TooEarlyError, reason_of
from adminview.runtime import InvocationContext, read_settings
from adminview.views import migrations, registry

RESERVE = 2 * LONGEST_CALL  # for the last call and the report
PATIENCE_SECONDS = 60.0
CONCURRENCY, TOLERATED = 8, 100
# Seconds between two attempts of a build whose next phase cannot begin yet, and attempts at most.
# While the totals are behind, each attempt itself polls for almost 15 minutes.
WAIT_SECONDS, MOST_WAITS = 60, 60
SCOPE_FIELDS = ("segments", "sample", "repair", "grace")
RESPONSE_LIMIT = 240 * 1024  # bytes; Step Functions limits the output of a step to 256 KB


@dataclass(frozen=True, slots=True)
class BulkDependencies:
    """What a step needs; tests pass their own."""

    make: Callable[[RateLimiter, RateLimiter], Bulk]
    check: Callable[[Mapping[str, str], list[str]], None]  # UUIDs of mappings by source
    observer: Observability
    probes: Callable[[], Probes]
    sleep: Callable[[float], object] = time.sleep


def handle(event: Mapping[str, Any], context: InvocationContext) -> dict[str, Any]:
    return run_step(event, context, dependencies())


@cache
def dependencies() -> BulkDependencies:
    """Build the dependencies of this container from its environment, once."""
    settings, clients = read_settings(), Clients()
    observer = Observability(service=settings.service)

    def make(reads: RateLimiter, writes: RateLimiter) -> Bulk:
        client = Metered(clients.dynamodb, reads, writes)
        bulk = make_bulk(registry(), settings, clients, client, migrations())
        return replace(bulk, report_error=lambda error: observer.failed(reason_of(error)))

    def check(mappings: Mapping[str, str], sources: list[str]) -> None:
        deadline = partial(Deadline.after, PATIENCE_SECONDS)
        check_followed(lambda_client(), mappings, sources, deadline)

    def probes() -> Probes:
        from adminview.aws.boto3_clients import streams_client  # noqa: PLC0415 - loads boto3
        from adminview.bulk.totals_probes import TotalsProbes  # noqa: PLC0415 - only for totals

        stream = os.environ.get(VIEW_STREAM, "")
        view = settings.view_table
        return TotalsProbes(clients.dynamodb, streams_client(), view, stream=stream)

    return BulkDependencies(make, check, observer, probes)


def run_step(
    event: Mapping[str, Any], context: InvocationContext, dependencies: BulkDependencies
) -> dict[str, Any]:
    """Run one step; raise a SettingsError if the event is invalid."""
    dependencies.observer.invoked(context.aws_request_id)
    end = Deadline.after(context.get_remaining_time_in_millis() / 1000).earlier(RESERVE)
    request = validate_request(event)
    step = {"begin": _begin, "work": _work, "finish": _finish}[request["step"]]
    return step(request, dependencies, end)


def _begin(
    event: Mapping[str, Any], dependencies: BulkDependencies, end: Deadline
) -> dict[str, Any]:
    """Begin the runs, and return their segments, each with its share of the budgets."""
    bulk = _make_bulk(event, dependencies)
    try:
        runs, scope, then = _runs(event, bulk, dependencies, end)
    except TooEarlyError:
        if event.get("waits", 0) >= MOST_WAITS:
            raise
        return _again_later(event)
    if event.get("task", BACKFILL) == BACKFILL:
        dependencies.check(event.get("mappings", {}), [run.partition("/")[2] for run in runs])
    segments: list[Segment] = []
    tolerated = event.get("tolerated_failures", TOLERATED)
    restart = event.get("restart", False)
    for run in runs:
        of = event.get("segments")
        left = bulk.begin(run, of, deadline=end, restart=restart, tolerated=tolerated, scope=scope)
        if not left:
            # The execution ended before its last step.
            bulk.finish(run, deadline=end, tolerated=tolerated)
        segments += left
    concurrency = event.get("concurrency", CONCURRENCY)
    at_once = max(1, min(concurrency, len(segments)))
    shared = {
        **({"task": BUILD} if event.get("task") == BUILD else {}),
        "tolerated_failures": tolerated,
        **{name: event[name] / at_once for name in ("max_rcu", "max_wcu") if name in event},
    }
    response = {
        "segments": [
            {"step": "work", **_as_event(segment), "model": bulk.model_of(segment.run), **shared}
            for segment in segments
        ],
        "concurrency": concurrency,
        "finish": {"step": "finish", "runs": runs, "tolerated_failures": tolerated},
        **({"then": then} if then else {}),
    }
    if len(dumps(response)) > RESPONSE_LIMIT:
        msg = (
            f"{len(segments)} segments exceed what a state machine step can return: "
            "choose fewer segments or fewer sources"
        )
        raise SettingsError(msg)
    return response


def _again_later(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return no segments, and the same event again for a later Begin."""
    return {
        "segments": [],
        "concurrency": 1,
        "finish": {"step": "finish", "runs": []},
        "then": {**event, "waits": event.get("waits", 0) + 1},
        "wait": WAIT_SECONDS,
    }


def _make_bulk(event: Mapping[str, Any], dependencies: BulkDependencies) -> Bulk:
    return dependencies.make(RateLimiter(event.get("max_rcu")), RateLimiter(event.get("max_wcu")))


def _as_event(segment: Segment) -> dict[str, Any]:
    position = {"segment": segment.number, "of": segment.of, "generation": segment.generation}
    return {"run": segment.run, **position}


Runs = tuple[list[str], Scope | None, Mapping[str, Any] | None]


def _runs(
    event: Mapping[str, Any], bulk: Bulk, dependencies: BulkDependencies, end: Deadline
) -> Runs:
    """Return the runs of an event, the scope of a verification, and the event to follow, if any.

    Raises a SettingsError if a name is unknown.
    """
    task = event.get("task", BACKFILL)
    if task in PHASES:
        return _phase(event, bulk, end)
    if task == BUILD:
        check = partial(dependencies.check, event.get("mappings", {}))
        build = Build(bulk, dependencies.probes, check, dependencies.sleep)
        model, phase = event.get("model", bulk.model), event.get("phase", BACKFILL)
        runs, following = build.runs(model, phase, deadline=end)
        return runs, None, {**event, "phase": following, "waits": 0} if following else None
    if named := [name for name in ("sample", "grace", "repair") if name in event]:
        msg = f"only a verification takes {', '.join(named)}"
        raise SettingsError(msg)
    return _named_runs(task, event, bulk), None, None


def _phase(event: Mapping[str, Any], bulk: Bulk, end: Deadline) -> Runs:
    """Return one run of a verification, and the event that begins the next one."""
    sources = event.get("sources") or [EVERYTHING]
    if event["task"].startswith(DAILY):
        msg = f"the task {event['task']} is for the scheduled verification: name {VERIFY}"
        raise SettingsError(msg)
    if "migration" in event or len(sources) > 1:
        msg = "pass one source to verify, or none for all"
        raise SettingsError(msg)
    options = {name: event[name] for name in SCOPE_FIELDS if name in event}
    task, scope = event["task"], Scope(**options)
    kind = VERIFY_TOTALS if PHASES[task] in OF_TOTALS else VERIFY
    verification = Verification(bulk, sources[0], kind=kind)
    left = verification.runs
    if task == kind:
        left = verification.left(scope.check(), deadline=end, restart=event.get("restart", False))
    else:
        left = left[left.index(bulk.run(task, sources[0])) :]
    then = {**event, "task": left[1].partition("/")[0]} if left[1:] else None
    return [left[0]], verification.scope_of(left[0], scope, deadline=end), then


def _named_runs(task: str, event: Mapping[str, Any], bulk: Bulk) -> list[str]:
    if ("sources" if task == MIGRATE else "migration") in event:
        msg = "pass either a migration to migrate, or sources to backfill or sweep"
        raise SettingsError(msg)
    if task == MIGRATE:
        return [bulk.run(MIGRATE, event.get("migration"))]
    names = [source.name for source in bulk.registry.sources]
    subjects = event.get("sources") or ([EVERYTHING] if task == SWEEP else names)
    return [*dict.fromkeys(bulk.run(task, subject) for subject in subjects)]


def _work(
    event: Mapping[str, Any], dependencies: BulkDependencies, end: Deadline
) -> dict[str, Any]:
    """Work on one segment until it is done or the time is nearly up."""
    bulk = _make_bulk(event, dependencies)
    run = bulk.run(*event["run"].split("/", 1))
    model = bulk.model_of(run)
    if event.get("model", model) != model:
        if event.get("task") == BUILD:  # Begin will notice, and end it
            return {"done": True, "run": run, "segment": event["segment"], "counts": {}}
        # New code must not continue the old code's run before `apply` begins its own.
        msg = f"{run} was begun by model {event['model']}, but {model} is deployed: begin again"
        raise SettingsError(msg)
    segment = Segment(run, event["segment"], event["of"], event.get("generation", 1))
    tolerated = event.get("tolerated_failures", TOLERATED)
    worker = replace(bulk.worker(run), tolerated=tolerated)
    record = worker.work(segment, end=end)
    done = record.done and not bulk.client.wait_seconds  # the next segment would not know the debt
    if record.counts[FAILED]:  # else there is nothing to add to those of other segments
        bulk.check_failures(run, deadline=end, tolerated=tolerated)
    report = {"done": done, "run": segment.run, "segment": segment.number}
    dependencies.observer.worked(report | record.counts)
    return {**report, "counts": dict(record.counts)}


def _finish(
    event: Mapping[str, Any], dependencies: BulkDependencies, end: Deadline
) -> dict[str, Any]:
    """Write the completion of the runs, and return the counts of those that have just finished."""
    bulk, tolerated = _make_bulk(event, dependencies), event.get("tolerated_failures", TOLERATED)
    runs = [bulk.run(*run.split("/", 1)) for run in event["runs"]]
    finished = {run: bulk.finish(run, deadline=end, tolerated=tolerated) for run in runs}
    return {run: dict(counts) for run, counts in finished.items() if counts is not None}
