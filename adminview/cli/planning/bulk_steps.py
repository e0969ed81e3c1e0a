"""The bulk work of a plan, done from this machine."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from adminview.bulk.runs import BACKFILL, EVERYTHING, SWEEP, Bulk
from adminview.cli.bulk.segment_pool import SegmentOutcome
from adminview.cli.deployment.completions import Progress
from adminview.cli.planning.steps import DeployCode


@dataclass(frozen=True, slots=True)
class BulkBuilder:
    """Backfills and sweeps, and what the progress table is told of them."""

    connect: Callable[[], Bulk]  # each time: what is deployed changes under way
    progress: Progress
    model: str  # that is declared
    go: Callable[[Bulk, str], SegmentOutcome]
    check: Callable[[Sequence[str]], None] = lambda _: None  # that streams are followed

    def invalidate(self, step: DeployCode) -> None:
        """Note before other code is deployed which sources it makes unbuilt."""
        self.progress.invalidate(step.unbuilt, step.leftovers, step.attributes, model=self.model)

    def backfill(self, source: str) -> str:
        """Derive all rows of a source anew; say why it did not end, if it did not."""
        bulk = self.connect()
        self.check([source])
        return self.go(bulk, bulk.run(BACKFILL, source)).trouble

    def sweep(self, sources: Sequence[str]) -> str:
        """Remove the rows that nothing derives any more; say why it did not end."""
        bulk = self.connect()
        known = {source.name for source in bulk.registry.sources}
        # One look at the whole view costs less than two at parts of it.
        subject = sources[0] if len(sources) == 1 and sources[0] in known else EVERYTHING
        return self.go(bulk, bulk.run(SWEEP, subject)).trouble
