"""The verify function: a sample of all tables in, the drift out. Writes only its own progress.

It works on the segments of a verification as the bulk function does, one after the other. What it
does not finish in its time, the next invocation continues.
"""

import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, Protocol

from adminview.aws.clients import Clients
from adminview.aws.concurrency import map_concurrently
from adminview.aws.deadline import LONGEST_CALL, Deadline
from adminview.aws.metered_client import Metered
from adminview.aws.observability import ALL_TOTALS, DriftObserver
from adminview.aws.rate_limit import RateLimiter
from adminview.aws.settings import Settings
from adminview.bulk.runs import EVERYTHING, Bulk, make_bulk
from adminview.bulk.verification import Verification
from adminview.bulk.verify.differences import Kind
from adminview.bulk.verify.scope import Scope
from adminview.bulk.verify.totals import TotalsVerifier, make_totals_verifier
from adminview.bulk.verify.totals_rounds import TotalsRounds
from adminview.model.errors import BulkError, ServiceError, SettingsError
from adminview.model.source import UNKNOWN
from adminview.runtime import InvocationContext
from adminview.views import registry

SAMPLE = 0.01
FIELDS = ("grace", "max_rcu", "sample", "segments", "source", "totals_units")  # of an event
PATIENCE_SECONDS = 10.0
# The last call may take this long; then the report must still fit.
CALLS_RESERVE = LONGEST_CALL + 2
PAGES_RESERVE = CALLS_RESERVE + 20  # for all calls of a page or a recheck, if they are slow
OUT_OF_TIME = "out of time"


class VerifyObserver(Protocol):
    def invoked(self, request_id: str) -> None: ...

    def verified(
        self, source: str, counts: Mapping[str, int], drift: int, trouble: str, /
    ) -> None: ...


@dataclass(frozen=True, slots=True)
class VerifyDependencies:
    """What a verification needs; tests pass their own."""

    make: Callable[[RateLimiter], Bulk]
    observer: VerifyObserver
    make_totals: Callable[[RateLimiter], TotalsVerifier] | None = None  # None: there are no totals
    sleep: Callable[[float], object] = time.sleep


def handle(event: Mapping[str, Any], context: InvocationContext) -> dict[str, Any]:
    return verify(event, context, dependencies())


@cache
def dependencies() -> VerifyDependencies:
    """Build the dependencies of this container from its environment, once."""
    settings, clients = Settings.from_env(os.environ), Clients()

    def make(reads: RateLimiter) -> Bulk:
        metered = Metered(clients.dynamodb, reads, RateLimiter())
        return make_bulk(registry(), settings, clients, metered)

    return VerifyDependencies(
        make=make,
        observer=DriftObserver(service=settings.service),
        make_totals=(
            partial(make_totals_verifier, registry(), settings.view_table, clients.dynamodb)
            if registry().totals
            else None
        ),
    )


def verify(
    event: Mapping[str, Any], context: InvocationContext, dependencies: VerifyDependencies
) -> dict[str, Any]:
    """Verify a sample and return counts, without keys. Raises a SettingsError for a bad event."""
    dependencies.observer.invoked(context.aws_request_id)
    if unknown := sorted(event.keys() - {*FIELDS}):
        msg = f"unknown fields: {', '.join(unknown)}; the event takes {', '.join(FIELDS)}"
        raise SettingsError(msg)
    over = Deadline.after(context.get_remaining_time_in_millis() / 1000)
    end = over.earlier(PAGES_RESERVE)

    def sleep(seconds: float) -> None:
        dependencies.sleep(max(0.0, min(seconds, end.remaining)))

    budget = RateLimiter(_positive(event, "max_rcu"), sleep=sleep)
    units, grace = _positive(event, "totals_units"), _positive(event, "grace")
    scope = Scope(event.get("segments", 4), event.get("sample", SAMPLE)).check()
    scope = scope if grace is None else replace(scope, grace=grace)
    source = event.get("source")
    verification = Verification(dependencies.make(budget), source or EVERYTHING, daily=True)
    trouble = _verify(verification, scope, over.earlier(CALLS_RESERVE), sleep)
    report = _report(verification, trouble, dependencies.observer)
    if dependencies.make_totals and source is None:
        totals = replace(
            dependencies.make_totals(budget),
            grace=scope.grace,
            patience=PATIENCE_SECONDS,
            end=over.earlier(CALLS_RESERVE),
            sleep=sleep,
            stopped=lambda: end.passed,
        )
        rounds = TotalsRounds.of(totals, units)
        report["totals"] = _verify_totals(rounds, scope, dependencies.observer)
    return report


def _verify_totals(rounds: TotalsRounds, scope: Scope, observer: VerifyObserver) -> dict[str, Any]:
    """Verify totals within the rest of the time; report a round when it is complete."""
    try:
        run = rounds.verify(scope)
    except ServiceError as error:
        observer.verified(ALL_TOTALS, {}, 0, str(error))
        return {"finished": False, "trouble": str(error)}
    counts = dict(run.counts)
    trouble = "" if run.finished or run.scanned else OUT_OF_TIME
    if run.finished or trouble:
        observer.verified(ALL_TOTALS, counts, run.counts["differing"], trouble)
    return {"finished": run.finished, "trouble": trouble, "scanned": run.scanned, **counts}


def _verify(
    verification: Verification, scope: Scope, end: Deadline, sleep: Callable[[float], None]
) -> str:
    """Verify until done or out of time; return why the run is incomplete, or an empty string."""
    bulk = verification.bulk
    try:
        for run in verification.left(scope, deadline=end):
            own = verification.scope_of(run, scope, deadline=end)
            segments = bulk.begin(run, None, deadline=end, scope=own)
            worker = replace(bulk.worker(run), sleep=sleep)
            records = map_concurrently(partial(worker.work, end=end), segments)
            if not all(record.done for record in records):
                return OUT_OF_TIME
            bulk.finish(run, deadline=end)
    except (BulkError, ServiceError) as error:
        return str(error)
    return ""


def _report(verification: Verification, trouble: str, observer: VerifyObserver) -> dict[str, Any]:
    """Report the counts of each source and return the summary."""
    bulk, subject = verification.bulk, verification.subject
    counts = {}
    with suppress(ServiceError):  # then it is the trouble
        counts = verification.report(deadline=Deadline.after(PATIENCE_SECONDS)).counts
    declared = [source.name for source in bulk.registry.sources]
    sources = [*declared, UNKNOWN] if subject == EVERYTHING else [subject]
    by_source = {source: dict(counts.get(source, {})) for source in sources}
    for source, counted in by_source.items():
        drift = sum(counted.get(kind.value, 0) for kind in Kind)
        observer.verified(source, counted, drift, trouble)
    return {"finished": not trouble, "trouble": trouble, "sources": by_source}


def _positive(event: Mapping[str, Any], name: str) -> float | None:
    value = event.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        msg = f"{name} must be a number above 0, not {value!r}"
        raise SettingsError(msg)
    return float(value)
