"""Rebuild rows with the deployed backfill and sweep."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from sys import maxsize

from adminview.aws.deadline import Deadline
from adminview.bulk.runs import BACKFILL, SWEEP, Bulk
from adminview.bulk.segment import SegmentState

SEGMENTS = 1  # local tables are small
PATIENCE_SECONDS = 60.0
FOREVER_SECONDS = 24 * 60 * 60.0
LABELS = {"items": "item", "rows": "row written", "deleted": "row deleted", "failed": "item failed"}


def rebuild(
    bulk: Bulk,
    sources: Iterable[str],
    stopped: Callable[[], bool],
    doing: Callable[[str], None],
) -> Iterator[str]:
    """Backfill *sources*, then sweep; yield a line about each run that did something.

    *doing* gets what is in progress, and how far it is after each page. Raises a BulkError or a
    ServiceError if a run cannot continue.
    """
    for source in sources:
        if not stopped():
            doing(title := f"rebuilding {source}")
            counts = _execute(bulk, bulk.run(BACKFILL, source), stopped, _counting(title, doing))
            yield f"rebuilt {source}: {describe(counts)}"
    if not stopped():
        doing(title := "sweeping")
        swept = _execute(bulk, bulk.run(SWEEP), stopped, _counting(title, doing))
        if kept := swept["unjudged"]:
            yield f"kept the rows of {count(kept, 'item')} whose view fails"
        if swept["deleted"]:
            yield f"removed {count(swept['deleted'], 'row')} that no view derives any more"


def describe(counts: Counter[str]) -> str:
    """Describe the counts of a backfill, such as "3 items, 1 row written"."""
    named = [count(counts[name], label) for name, label in LABELS.items() if counts[name]]
    return ", ".join(named) or "no items"


def count(number: int, label: str) -> str:
    """Return a number with its noun, the first word of *label*, in singular or plural."""
    noun, _, rest = label.partition(" ")
    return f"{number} {noun}{'' if number == 1 else 's'} {rest}".rstrip()


def _counting(title: str, doing: Callable[[str], None]) -> Callable[[SegmentState], None]:
    return lambda state: doing(f"{title}: {describe(state.counts)}")


def _execute(
    bulk: Bulk, run: str, stopped: Callable[[], bool], watch: Callable[[SegmentState], None]
) -> Counter[str]:
    """Start a run over, and return its counts."""
    segments = bulk.begin(run, SEGMENTS, deadline=_soon(), restart=True)
    worker = replace(bulk.worker(run), tolerated=maxsize, stopped=stopped, watch=watch)
    counts: Counter[str] = Counter()
    for segment in segments:
        counts += worker.work(segment, end=Deadline.after(FOREVER_SECONDS)).counts
    bulk.finish(run, deadline=_soon())
    return counts


def _soon() -> Deadline:
    return Deadline.after(PATIENCE_SECONDS)
