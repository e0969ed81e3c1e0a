"""Completion markers in the progress table: which sources are built, which may have stale rows.

`adminview.bulk` marks each run that has completed. Before new code is deployed, a plan invalidates
these markers: from then on a source has rows of two models, so it is not built, and a backfill in
progress must not continue.
"""

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from adminview.aws.deadline import Deadline
from adminview.bulk.lease_table import GENERATION, LeaseTable
from adminview.bulk.runs import BACKFILL, EVERYTHING, ROWS, SWEEP, VERIFY
from adminview.model.errors import ServiceError

NO_TABLE: Final = "ResourceNotFoundException"
TIMEOUT_SECONDS: Final = 60.0
LEFTOVERS: Final = "leftovers"
BY: Final = "by"  # in an invalidated marker: its model

Completions = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Marker:
    """A completed backfill: the model, and the digest of the source's code."""

    model: str
    code: str  # "" if invalidated


@dataclass(frozen=True, slots=True)
class CompletionMarkers:
    """The completion markers of a view."""

    table: LeaseTable
    now: Callable[[], float]

    def read(self) -> Completions:
        """Return all markers; none if the progress table does not exist."""
        try:
            return self.table.completions(deadline=_soon())
        except ServiceError as error:
            if error.code != NO_TABLE:
                raise
            return {}

    def busy_until(self, sources: Iterable[str], model: str) -> float:
        """Return until when a bulk worker of another model may still run; 0 if there is none."""
        subjects = [*sources, EVERYTHING]
        kinds = (BACKFILL, SWEEP, VERIFY, f"{VERIFY}{ROWS}")  # a verification may repair
        runs = [f"{kind}/{subject}" for kind in kinds for subject in subjects]
        try:
            records = [
                record for run in runs for record in self.table.records(run, deadline=_soon())
            ]
        except ServiceError as error:
            if error.code != NO_TABLE:
                raise
            return 0.0
        return max((record.deadline for record in records if record.model != model), default=0.0)

    def invalidate(
        self,
        unbuilt: Iterable[str],
        leftovers: Iterable[str],
        names: Iterable[str],
        *,
        model: str,
    ) -> None:
        """Invalidate the markers of these sources, before code of *model* is deployed.

        *names* are the index attributes that stale rows of *leftovers* may have.
        """
        before, at, names = self.read(), self.now(), set(names)
        try:
            for source in leftovers:
                due = stale_attributes(before, source, model) or frozenset()
                facts = {"since": at, "model": model, "attributes": sorted(names | due)}
                self.table.complete(f"{LEFTOVERS}/{source}", facts, deadline=_soon())
                self._end(f"{SWEEP}/{source}", before)
            self._end(f"{SWEEP}/{EVERYTHING}", before)
            for source in unbuilt:
                self._end(f"{BACKFILL}/{source}", before, code="", at=at)
        except ServiceError as error:
            if error.code != NO_TABLE:  # then there are no markers
                raise

    def _end(self, run: str, before: Completions, **facts: Any) -> None:
        """Stop a run that was started earlier; if it still completes, that does not count."""
        generations = [
            record.segment.generation for record in self.table.records(run, deadline=_soon())
        ]
        known = before.get(run, {})
        # A run may have started without a record yet, so skip one more.
        generation = max([int(known.get(GENERATION, 0)), *generations]) + 1
        # Without a model: else a run of this generation would take the marker for its own.
        marker = {**known, BY: _by(known), **facts, "model": "", GENERATION: generation}
        if not self.table.complete(run, marker, deadline=_soon()):
            self._end(run, self.read(), **facts)  # a run has completed meanwhile


def markers(completions: Completions) -> dict[str, Marker]:
    """Return the completed backfills by source."""
    return {
        run.partition("/")[2]: Marker(str(facts.get("model", "")), str(facts.get("code") or ""))
        for run, facts in completions.items()
        if run.startswith(f"{BACKFILL}/")
    }


def completed_sources(completions: Completions) -> list[str]:
    """Return the sources that were ever backfilled completely: an invalidated marker says so."""
    prefix = f"{BACKFILL}/"
    return [
        run.removeprefix(prefix)
        for run, facts in completions.items()
        if run.startswith(prefix) and _by(facts)
    ]


def sweeps(
    completions: Completions, sources: Iterable[str], model: str
) -> dict[str, frozenset[str] | None]:
    """Return the sources that may have stale rows, with their attributes; None if swept since.

    *model* is the declared one.
    """
    marked = [run.partition("/")[2] for run in completions if run.startswith(f"{LEFTOVERS}/")]
    stale = {source: stale_attributes(completions, source, model) for source in marked}
    for source in sources:
        if source not in stale and _swept_at(completions, source):
            stale[source] = None
    return stale


def stale_attributes(completions: Completions, source: str, model: str) -> frozenset[str] | None:
    """Return the attributes that stale rows may have; None if there are no such rows."""
    facts = completions.get(f"{LEFTOVERS}/{source}")
    if facts is None:
        return None
    # A sweep of older code keeps rows that are stale under the new model.
    models = {model, facts.get("model")}
    if _swept_at(completions, source, models) > facts["since"]:
        return None
    return frozenset(facts["attributes"])


def _swept_at(
    completions: Completions, source: str, models: Container[str | None] | None = None
) -> float:
    """Return when a source was last swept by one of *models* (None: any); 0 if never."""
    sweeps = (completions.get(f"{SWEEP}/{subject}", {}) for subject in (source, EVERYTHING))
    return max(
        float(facts.get("at", 0.0)) if models is None or _by(facts) in models else 0.0
        for facts in sweeps
    )


def _by(facts: Mapping[str, Any]) -> str:
    return str(facts.get("model") or facts.get(BY, ""))


def _soon() -> Deadline:
    return Deadline.after(TIMEOUT_SECONDS)
