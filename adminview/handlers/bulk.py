"""A whole table in, its rows written or its items completed out: a segment at a time.

The state machine asks twice. First how the work is cut (``"step": "begin"``), then for each
segment, again and again, until that is done (``"step": "work"``). How far it is stays in the
progress table: it names keys of customers, which are not to be in the history of an execution.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from json import dumps
from typing import Any

from adminview.aws.clients import Clients
from adminview.aws.deadline import LONGEST_CALL, Deadline
from adminview.aws.event_source_mappings import check_followed, lambda_client
from adminview.aws.metered_client import Metered
from adminview.aws.observability import Observability
from adminview.aws.rate_limit import RateLimiter
from adminview.bulk.request import validate_request
from adminview.bulk.runs import BACKFILL, EVERYTHING, MIGRATE, SWEEP, Bulk, make_bulk
from adminview.bulk.segment import Segment
from adminview.model.errors import SettingsError, reason_of
from adminview.runtime import Invocation, read_settings
from adminview.views import migrations, registry

RESERVE = 2 * LONGEST_CALL  # for the last call that is begun, and the report
PATIENCE_SECONDS = 60.0
CONCURRENCY, TOLERATED = 8, 100
ANSWER_LIMIT = 240 * 1024  # bytes: Step Functions takes 256 KB from a step


@dataclass(frozen=True, slots=True)
class Dependencies:
    """How this container makes its tools on budgets, and looks at the streams' mappings."""

    make: Callable[[RateLimiter, RateLimiter], Bulk]
    check: Callable[[Mapping[str, str], list[str]], None]  # UUIDs of mappings by source
    observer: Observability


def handle(event: Mapping[str, Any], context: Invocation) -> dict[str, Any]:
    """Begin a run, or work on one segment of it."""
    return answer(event, context, dependencies())


@cache
def dependencies() -> Dependencies:
    """Connect this container to the tables that its environment names."""
    settings, clients = read_settings(), Clients()
    observer = Observability(service=settings.service)

    def make(reads: RateLimiter, writes: RateLimiter) -> Bulk:
        client = Metered(clients.dynamodb, reads, writes)
        bulk = make_bulk(registry(), settings, clients, client, migrations())
        return replace(bulk, report_error=lambda error: observer.failed(reason_of(error)))

    def check(mappings: Mapping[str, str], sources: list[str]) -> None:
        deadline = partial(Deadline.after, PATIENCE_SECONDS)
        check_followed(lambda_client(), mappings, sources, deadline)

    return Dependencies(make, check, observer)


def answer(
    event: Mapping[str, Any], context: Invocation, dependencies: Dependencies
) -> dict[str, Any]:
    """Do one step with a given crew."""
    dependencies.observer.invoked(context)
    end = Deadline.after(context.get_remaining_time_in_millis() / 1000).earlier(RESERVE)
    asked = validate_request(event)
    return (
        _begin(asked, dependencies, end)
        if asked["step"] == "begin"
        else _work(asked, dependencies, end)
    )


def _begin(event: Mapping[str, Any], dependencies: Dependencies, end: Deadline) -> dict[str, Any]:
    """Cut the work into segments, each with its share of the budgets."""
    bulk = _made(event, dependencies)
    runs = _runs(event, bulk)
    if event.get("task", BACKFILL) == BACKFILL:
        dependencies.check(event.get("mappings", {}), [run.partition("/")[2] for run in runs])
    segments: list[Segment] = []
    tolerated = event.get("tolerated_failures", TOLERATED)
    restart = event.get("restart", False)
    for run in runs:
        of = event.get("segments")
        left = bulk.begin(run, of, deadline=end, restart=restart, tolerated=tolerated)
        if not left:
            # Whoever did the last of it did not come to this.
            bulk.finish(run, deadline=end, tolerated=tolerated)
        segments += left
    concurrency = event.get("concurrency", CONCURRENCY)
    at_once = max(1, min(concurrency, len(segments)))
    shared = {
        "tolerated_failures": tolerated,
        **{name: event[name] / at_once for name in ("max_rcu", "max_wcu") if name in event},
    }
    told = {
        "segments": [
            {"step": "work", **_as_event(one), "model": bulk.model_of(one.run), **shared}
            for one in segments
        ],
        "concurrency": concurrency,
    }
    if len(dumps(told)) > ANSWER_LIMIT:
        msg = (
            f"{len(segments)} segments are more than a state machine can be told of at once: "
            "ask for fewer segments, or fewer sources"
        )
        raise SettingsError(msg)
    return told


def _made(event: Mapping[str, Any], dependencies: Dependencies) -> Bulk:
    """Make the tools on the budgets that an event names."""
    return dependencies.make(RateLimiter(event.get("max_rcu")), RateLimiter(event.get("max_wcu")))


def _as_event(segment: Segment) -> dict[str, Any]:
    place = {"segment": segment.number, "of": segment.of, "turn": segment.turn}
    return {"run": segment.run, **place}


def _runs(event: Mapping[str, Any], bulk: Bulk) -> list[str]:
    """Name the runs that an event asks for."""
    task = event.get("task", BACKFILL)
    if ("sources" if task == MIGRATE else "migration") in event:
        msg = "the event names a migration to migrate, or sources to backfill or sweep, not both"
        raise SettingsError(msg)
    if task == MIGRATE:
        return [bulk.run(MIGRATE, event.get("migration"))]
    names = [source.name for source in bulk.registry.sources]
    subjects = event.get("sources") or ([EVERYTHING] if task == SWEEP else names)
    return [*dict.fromkeys(bulk.run(task, subject) for subject in subjects)]


def _work(event: Mapping[str, Any], dependencies: Dependencies, end: Deadline) -> dict[str, Any]:
    """Work on one segment until it is done or the time is nearly over."""
    bulk = _made(event, dependencies)
    run = bulk.run(*event["run"].split("/", 1))
    model = bulk.model_of(run)
    if event.get("model", model) != model:
        # Or the new code would go on where the old one was, before the plan lets it begin.
        msg = f"{run} was begun by model {event['model']}, and deployed is {model}: begin again"
        raise SettingsError(msg)
    segment = Segment(run, event["segment"], event["of"], event.get("turn", 1))
    tolerated = event.get("tolerated_failures", TOLERATED)
    worker = replace(bulk.worker(run), tolerated=tolerated)
    record = worker.work(segment, end=end)
    done = record.done and not bulk.client.rest  # or the next segment would not know what is owed
    if done:
        bulk.finish(segment.run, deadline=end, tolerated=tolerated)
    told = {"done": done, "run": segment.run, "segment": segment.number}
    dependencies.observer.worked(told | record.counts)
    return {**told, "counts": dict(record.counts)}
