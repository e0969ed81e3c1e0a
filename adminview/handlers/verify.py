"""A sample of all tables in, the drift between them out. Nothing is changed."""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Protocol

from adminview.aws.clients import Clients
from adminview.aws.deadline import LONGEST_CALL, Deadline
from adminview.aws.observability import DriftObserver
from adminview.aws.rate_limit import RateLimiter
from adminview.aws.settings import Settings
from adminview.bulk.verify.differences import Kind
from adminview.bulk.verify.run import Run
from adminview.bulk.verify.scope import Scope
from adminview.bulk.verify.verifier import Verifier, make_verifier
from adminview.model.errors import ServiceError, SettingsError
from adminview.model.source import UNKNOWN
from adminview.runtime import Invocation
from adminview.views import registry

SAMPLE = 0.01
FIELDS = ("grace", "max_rcu", "sample", "segments", "source")  # that an event may hold
PATIENCE_SECONDS = 10.0
# The last call that is begun may take this long; then the report must still fit.
CALLS_RESERVE = LONGEST_CALL + 2
PAGES_RESERVE = CALLS_RESERVE + 20  # for all the calls of a page or a look, if they are slow
OUT_OF_TIME = "out of time"


class DriftTeller(Protocol):
    """Who is told."""

    def invoked(self, context: Invocation) -> None:
        """Hear of an invocation."""

    def verified(self, source: str, counts: Mapping[str, int], drift: int, trouble: str, /) -> None:
        """Hear what was found of one source."""


@dataclass(frozen=True, slots=True)
class Verification:
    """How this container makes a verifier on a budget, and whom it tells."""

    make: Callable[[RateLimiter], Verifier]
    model: str
    observer: DriftTeller


def handle(event: Mapping[str, Any], context: Invocation) -> dict[str, Any]:
    """Verify a sample, and count what differs."""
    return verify(event, context, verification())


@cache
def verification() -> Verification:
    """Connect this container to the tables that its environment names."""
    settings = Settings.from_env(os.environ)
    dynamodb = Clients().dynamodb
    return Verification(
        make=lambda budget: make_verifier(registry(), settings, dynamodb, budget),
        model=settings.model,
        observer=DriftObserver(service=settings.service),
    )


def verify(
    event: Mapping[str, Any], context: Invocation, verification: Verification
) -> dict[str, Any]:
    """Verify a sample with given tables. The summary holds counts, and no key of anybody."""
    verification.observer.invoked(context)
    if unknown := sorted(event.keys() - {*FIELDS}):
        msg = f"the event holds {', '.join(unknown)}; it may hold {', '.join(FIELDS)}"
        raise SettingsError(msg)
    over = Deadline.after(context.get_remaining_time_in_millis() / 1000)
    end = over.earlier(PAGES_RESERVE)

    def sleep(seconds: float) -> None:
        time.sleep(max(0.0, min(seconds, end.remaining)))

    verifier = verification.make(RateLimiter(_positive(event, "max_rcu"), sleep=sleep))
    grace = _positive(event, "grace")
    verifier = replace(
        verifier,
        grace=verifier.grace if grace is None else grace,
        patience=PATIENCE_SECONDS,
        end=over.earlier(CALLS_RESERVE),
        sleep=sleep,
        stopped=lambda: end.passed,
    )
    run = verifier.begin(
        Scope(
            view_table=verifier.view_table,
            model=verification.model,
            source=event.get("source"),
            segments=event.get("segments", 4),
            sample=event.get("sample", SAMPLE),
        )
    )
    trouble = _verify(verifier, run)
    return _tell(run, list(verifier.routes), trouble, verification.observer)


def _verify(verifier: Verifier, run: Run) -> str:
    """Verify until all is done or the time is over, and say what stood in the way."""
    try:
        verifier.verify(run)
    except ServiceError as error:
        return str(error)
    return "" if run.finished else OUT_OF_TIME


def _tell(run: Run, declared: list[str], trouble: str, observer: DriftTeller) -> dict[str, Any]:
    """Tell each source's counts apart from the others'."""
    counts = run.counts
    sources = run.scope.sources([*declared, UNKNOWN])
    found = {source: dict(counts.get(source, {})) for source in sources}
    for source, told in found.items():
        drift = sum(told.get(kind.value, 0) for kind in Kind)
        observer.verified(source, told, drift, trouble)
    return {"finished": not trouble, "trouble": trouble, "sources": found}


def _positive(event: Mapping[str, Any], name: str) -> float | None:
    value = event.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        msg = f"{name} is a number above 0, not {value!r}"
        raise SettingsError(msg)
    return float(value)
