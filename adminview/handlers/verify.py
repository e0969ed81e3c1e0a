"""The verify function: a sample of all tables in, the drift out. Writes only its own progress.

It works on the segments of a verification as the bulk function does, one after the other. The next
invocation continues a verification that it does not finish in its time.
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
from adminview.aws.observability import DriftObserver
from adminview.aws.rate_limit import RateLimiter
from adminview.aws.settings import Settings
from adminview.bulk.runs import EVERYTHING, Bulk, make_bulk
from adminview.bulk.segment import SegmentState
from adminview.bulk.verification import Verification
from adminview.bulk.verify.differences import Kind
from adminview.bulk.verify.phases import VERIFY_TOTALS, phase_of
from adminview.bulk.verify.scope import Scope, VerifyPhase
from adminview.model.errors import BulkError, ServiceError, SettingsError
from adminview.model.source import UNKNOWN
from adminview.model.total import ALL_TOTALS
from adminview.runtime import InvocationContext
from adminview.views import registry

SAMPLE = 0.01
TOTALS_UNITS = 1_000_000.0  # read units of an invocation for totals: 8 GB of rows
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

    return VerifyDependencies(make, DriftObserver(service=settings.service))


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
    units, grace = _positive(event, "totals_units") or TOTALS_UNITS, _positive(event, "grace")
    scope = Scope(event.get("segments", 4), event.get("sample", SAMPLE)).check()
    scope = scope if grace is None else replace(scope, grace=grace)
    source, bulk = event.get("source"), dependencies.make(budget)
    pages = Pages(over.earlier(CALLS_RESERVE), sleep)
    verification = Verification(bulk, source or EVERYTHING, daily=True)
    trouble = _verify(verification, scope, pages)
    report = _report(verification, trouble, dependencies.observer)
    if bulk.registry.totals and source is None:
        verification = Verification(bulk, daily=True, kind=VERIFY_TOTALS)
        most = budget.spent + units
        pages = replace(pages, stopped=lambda: budget.spent >= most)
        trouble = _verify(verification, replace(scope, sample=1.0), pages)
        report["totals"] = _report_totals(verification, trouble, pages, dependencies.observer)
    return report


@dataclass(slots=True)
class Pages:
    """When the pages of a verification end, and how many there were."""

    end: Deadline
    sleep: Callable[[float], None]
    stopped: Callable[[], bool] = lambda: False
    count: int = 0

    def turned(self, _: SegmentState) -> None:
        self.count += 1


def _verify(verification: Verification, scope: Scope, pages: Pages) -> str:
    """Verify until done or out of time; return why the run is incomplete, or an empty string."""
    bulk, end = verification.bulk, pages.end
    try:
        for run in verification.left(scope, deadline=end):
            own = verification.scope_of(run, scope, deadline=end)
            segments = bulk.begin(run, None, deadline=end, scope=own)
            worker = replace(bulk.worker(run), sleep=pages.sleep, watch=pages.turned)
            if phase_of(run) is not VerifyPhase.COMPARISON:  # its reads are few
                worker = replace(worker, stopped=pages.stopped)
            records = map_concurrently(partial(worker.work, end=end), segments)
            if not all(record.done for record in records):
                return OUT_OF_TIME
            bulk.finish(run, deadline=end)
    except (BulkError, ServiceError) as error:
        return str(error)
    return ""


def _report_totals(
    verification: Verification, trouble: str, pages: Pages, observer: VerifyObserver
) -> dict[str, Any]:
    """Report the counts of the totals when all are compared, and return the summary.

    The next invocation continues one that was out of time or units after some pages.
    """
    counts: dict[str, int] = {}
    with suppress(ServiceError):  # then it is the trouble
        report = verification.report(deadline=Deadline.after(PATIENCE_SECONDS))
        counts = dict(report.counts.get(ALL_TOTALS, {}))
    unfinished = "" if trouble == OUT_OF_TIME and pages.count else trouble
    if unfinished or not trouble:
        shown = {} if trouble else counts
        observer.verified(ALL_TOTALS, shown, shown.get("differing", 0), unfinished)
    return {"finished": not trouble, "trouble": unfinished, **counts}


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
