"""Build the rows of the deployed model, phase by phase: backfill, sweep, then wait for the totals.

The state machine calls Begin once for each phase. Each phase finds its work in the progress table,
so an execution can be stopped and started again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from adminview.aws.deadline import Deadline
from adminview.bulk.builds import Builds
from adminview.bulk.completions import CompletionMarkers
from adminview.bulk.runs import BACKFILL, EVERYTHING, SWEEP, Bulk
from adminview.model.errors import BulkError, SettingsError, TooEarlyError

BUILD: Final = "build"  # the task
FINISH: Final = "finish"
PHASES: Final = (BACKFILL, SWEEP, FINISH)
# Their segments fit into what a step of the state machine can return.
SOURCES_AT_ONCE: Final = 30
POLL_SECONDS: Final = 5.0


class Probes(Protocol):
    """Probes that show whether the totals include all rows."""

    def have_arrived(self) -> bool:
        """Return whether the totals include all rows that existed when the probes were written."""


@dataclass(frozen=True, slots=True)
class Build:
    bulk: Bulk
    probes: Callable[[], Probes]
    check_followed: Callable[[list[str]], object]  # raises a SettingsError if a stream is not read
    sleep: Callable[[float], object]

    def runs(self, model: str, phase: str, *, deadline: Deadline) -> tuple[list[str], str | None]:
        """Return the runs of a phase, and the phase after them; None if the build is complete.

        A phase without runs is skipped. If another model is deployed by now, nothing is left to do:
        that deployment has started its own build. Raises a TooEarlyError if a phase cannot begin
        yet, and a BulkError if the rows cannot be completed.
        """
        if phase not in PHASES:
            msg = f"no phase is named {phase!r}; choose one of {', '.join(PHASES)}"
            raise SettingsError(msg)
        deployed = self._builds.read().model
        if deployed not in {"", model}:
            return [], None
        self._check_model(model, deployed)
        missing = self._builds.missing()
        if missing.unbuilt or missing.stale:
            declared = (source.name for source in self.bulk.registry.sources)
            self._check_older_code([*dict.fromkeys([*declared, *missing.stale])])
        if phase == BACKFILL and missing.unbuilt:
            sources = [*missing.unbuilt[:SOURCES_AT_ONCE]]
            self._check_streams(sources)
            following = SWEEP if len(sources) == len(missing.unbuilt) else BACKFILL
            return [self.bulk.run(BACKFILL, source) for source in sources], following
        if missing.unbuilt:
            msg = f"{', '.join(missing.unbuilt)} were not backfilled: run `adminview apply`"
            raise BulkError(msg)
        if phase != FINISH and missing.stale:
            return [self._sweep([*missing.stale])], FINISH
        if missing.stale:
            msg = f"rows of {', '.join(missing.stale)} were not swept: run `adminview apply`"
            raise BulkError(msg)
        self._complete(deadline)
        return [], None

    @property
    def _builds(self) -> Builds:
        return Builds(self.bulk.progress, self.bulk.registry.description(), self.bulk.now)

    def _check_model(self, model: str, deployed: str) -> None:
        """Check that this code, and what is deployed, are of the model to build.

        During a deployment, functions are replaced one after the other.
        """
        if (self.bulk.model, deployed) != (model, model):
            msg = (
                f"model {model} cannot be built: {deployed or 'no model'} is deployed, and this "
                f"function has {self.bulk.model}"
            )
            raise TooEarlyError(msg)

    def _check_older_code(self, sources: Sequence[str]) -> None:
        """Check that no older code writes or deletes rows any more, nor a worker of bulk work."""
        progress = CompletionMarkers(self.bulk.progress, self.bulk.now)
        until = max(self._builds.read().begins, progress.busy_until(sources, self.bulk.model))
        if (wait := until - self.bulk.now()) > 0:
            msg = f"functions of the previous model may still write rows for {wait:.0f} seconds"
            raise TooEarlyError(msg)

    def _check_streams(self, sources: list[str]) -> None:
        """Check that all changes are followed."""
        try:
            self.check_followed(sources)
        except SettingsError as error:  # a new mapping takes a minute
            raise TooEarlyError(str(error)) from error

    def _sweep(self, sources: list[str]) -> str:
        known = {source.name for source in self.bulk.registry.sources}
        # One scan of the view costs less than one per source.
        subject = sources[0] if len(sources) == 1 and sources[0] in known else EVERYTHING
        return self.bulk.run(SWEEP, subject)

    def _complete(self, deadline: Deadline) -> None:
        """Record that the rows are complete; for totals, when they include all rows."""
        builds, patterns = self._builds, self.bulk.registry.patterns
        builds.complete(pattern.name for pattern in patterns if not pattern.total)
        totals = builds.pending(builds.read())
        if not totals:
            return
        probes = self.probes()
        while not probes.have_arrived():
            if deadline.remaining < POLL_SECONDS:
                msg = "the totals do not include all rows yet: see docs/runbook.md#totals-lag"
                raise TooEarlyError(msg)
            self.sleep(POLL_SECONDS)
        builds.complete(totals)
