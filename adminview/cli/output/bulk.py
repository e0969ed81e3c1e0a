"""Progress and outcomes of bulk runs, as text and as JSON."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from time import monotonic
from typing import Any, NoReturn

import typer
from rich.progress import BarColumn, Progress

from adminview.cli.bulk.segment_pool import SegmentOutcome, Watch
from adminview.cli.output.printing import Console, printable, progress_text
from adminview.cli.output.tables import facts

DONE, FAILURES, UNFINISHED = 0, 1, 2  # exit statuses
EVERY_SECONDS = 10.0  # between two lines of progress without a terminal

LABELS = {
    "items": "scanned",
    "rows": "rows written",
    "right": "rows already correct",
    "deleted": "rows deleted",
    "changed": "items changed during the run",
    "failed": "items failed",
    "unjudged": "items whose views raise; their rows are kept",
}
PROGRESS_LABELS = {
    "rows": "rows",
    "updated": "updated",
    "deleted": "rows deleted",
    "failed": "failed",
}


def status(outcome: SegmentOutcome) -> int:
    if not outcome.finished:
        return UNFINISHED
    return FAILURES if outcome.counts["failed"] or outcome.counts["unjudged"] else DONE


def outcome_data(outcome: SegmentOutcome) -> dict[str, Any]:
    return {
        "run": outcome.run,
        "status": status(outcome),
        "finished": outcome.finished,
        "trouble": outcome.trouble,
        "counts": dict(outcome.counts),
    }


def show(outcome: SegmentOutcome, console: Console, letters: str = "adminview dlq list") -> None:
    """Print the counts and a verdict. *letters* names where dead letters can be read."""
    counts = {label: outcome.counts[name] for name, label in LABELS.items() if outcome.counts[name]}
    console.print(facts(outcome.run if outcome.finished else f"{outcome.run}, so far", counts))
    if not outcome.finished:
        verdict = f"{outcome.trouble}; the same command (without --restart) resumes it"
    elif outcome.counts["failed"]:
        verdict = f"done, except for the items that failed: {letters} shows why"
    elif outcome.counts["unjudged"]:
        verdict = "done, except for items whose views raise: fix the views, backfill, sweep again"
    else:
        verdict = "done"
    console.print(verdict, soft_wrap=True)


def report(
    outcomes: Sequence[SegmentOutcome], *, as_json: bool, letters: str = "adminview dlq list"
) -> NoReturn:
    """Print outcomes, and exit with the highest of their statuses."""
    console = Console()
    if as_json:
        console.write_json(json.dumps([*map(outcome_data, outcomes)], indent=2))
    else:
        for outcome in outcomes:
            show(outcome, console, letters)
    raise typer.Exit(max(map(status, outcomes), default=DONE))


@contextmanager
def progress(title: str, expected: int | None) -> Iterator[Watch]:
    """Display progress on standard error: a bar on a terminal, otherwise a line every 10 s."""
    console = Console(stderr=True)
    rate = ProgressRate(expected or None)
    if not console.at_terminal:
        yield lines(title, rate, console.print)
        return
    names = ("{task.description}", "{task.fields[text]}")
    columns = (progress_text(names[0]), BarColumn(), progress_text(names[1]))
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(printable(title), total=rate.expected, text="")

        def watch(counts: Counter[str]) -> None:
            items = counts["items"]
            total = rate.expected and max(rate.expected, items)
            bar.update(task, completed=items, total=total, text=rate.text(counts))

        yield watch


@dataclass(slots=True)
class ProgressRate:
    """The rate since this command started, without earlier progress of the same run."""

    expected: int | None
    clock: Callable[[], float] = monotonic
    _began: tuple[float, int] | None = None

    def text(self, counts: Counter[str]) -> str:
        """Return the progress, the rate and the estimated time left."""
        items, now = counts["items"], self.clock()
        if self._began is None:
            self._began = (now, items)
        at, first = self._began
        rate = (items - first) / (now - at) if now > at else 0.0
        done = [
            f"{counts[name]} {label}" for name, label in PROGRESS_LABELS.items() if counts[name]
        ]
        of = f" of about {self.expected}" if self.expected else ""
        parts = [f"{items}{of} items", *done, f"{rate:.0f} items/s"]
        if self.expected and rate:
            left = max(0, self.expected - items) / rate
            parts.append(f"{timedelta(seconds=round(left))} left")
        return ", ".join(parts)


def lines(title: str, rate: ProgressRate, notify: Callable[[str], None]) -> Watch:
    """Return a watch that prints a line at most every ten seconds."""
    printed_at = rate.clock()

    def watch(counts: Counter[str]) -> None:
        nonlocal printed_at
        text, now = rate.text(counts), rate.clock()
        if now - printed_at >= EVERY_SECONDS:
            printed_at = now
            notify(f"{title}: {text}")

    return watch
