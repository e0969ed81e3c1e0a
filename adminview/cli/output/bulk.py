"""How far bulk work is and what it came to, for people and for machines."""

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
EVERY_SECONDS = 10.0  # a line where there is no terminal

WORDS = {
    "items": "looked at",
    "rows": "rows written",
    "right": "rows that were right before",
    "deleted": "rows deleted",
    "changed": "items that changed meanwhile",
    "failed": "items that failed",
    "unjudged": "items whose views raise, so that their rows stay",
}
DEEDS = {"rows": "rows", "updated": "updated", "deleted": "rows deleted", "failed": "failed"}


def status(outcome: SegmentOutcome) -> int:
    """Say with what exit status an outcome ends."""
    if not outcome.finished:
        return UNFINISHED
    return FAILURES if outcome.counts["failed"] or outcome.counts["unjudged"] else DONE


def as_data(outcome: SegmentOutcome) -> dict[str, Any]:
    """Show an outcome as one JSON object."""
    return {
        "run": outcome.run,
        "status": status(outcome),
        "finished": outcome.finished,
        "trouble": outcome.trouble,
        "counts": dict(outcome.counts),
    }


def show(outcome: SegmentOutcome, console: Console, letters: str = "adminview dlq list") -> None:
    """Show the counts, and in words what they mean."""
    counts = {word: outcome.counts[name] for name, word in WORDS.items() if outcome.counts[name]}
    console.print(facts(outcome.run if outcome.finished else f"{outcome.run}, so far", counts))
    if not outcome.finished:
        words = f"{outcome.trouble}; the same command (without --restart) goes on"
    elif outcome.counts["failed"]:
        words = f"done, but for the items that failed: {letters} shows why"
    elif outcome.counts["unjudged"]:
        words = "done, but for items whose views raise: fix those, backfill, and sweep again"
    else:
        words = "done"
    console.print(words, soft_wrap=True)


def report(
    outcomes: Sequence[SegmentOutcome], *, as_json: bool, letters: str = "adminview dlq list"
) -> NoReturn:
    """Show what runs came to, and exit with the status."""
    console = Console()
    if as_json:
        console.write_json(json.dumps([as_data(one) for one in outcomes], indent=2))
    else:
        for one in outcomes:
            show(one, console, letters)
    raise typer.Exit(max(map(status, outcomes), default=DONE))


@contextmanager
def progress(title: str, expected: int | None) -> Iterator[Watch]:
    """Show how far a run is: a bar on a terminal, a line now and then elsewhere."""
    console = Console(stderr=True)
    pace = ProgressRate(expected or None)
    if not console.is_terminal:
        yield lines(title, pace, console.print)
        return
    names = ("{task.description}", "{task.fields[words]}")
    columns = (progress_text(names[0]), BarColumn(), progress_text(names[1]))
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(printable(title), total=pace.expected, words="")

        def watch(counts: Counter[str]) -> None:
            items, words = counts["items"], pace.words(counts)
            total = pace.expected and max(pace.expected, items)
            bar.update(task, completed=items, total=total, words=words)

        yield watch


@dataclass(slots=True)
class ProgressRate:
    """How fast it goes; what was done before this command began is not its doing."""

    expected: int | None
    clock: Callable[[], float] = monotonic
    _began: tuple[float, int] | None = None

    def words(self, counts: Counter[str]) -> str:
        """Say how far it is, how fast, and how long it will take if that goes on."""
        items, now = counts["items"], self.clock()
        if self._began is None:
            self._began = (now, items)
        at, first = self._began
        rate = (items - first) / (now - at) if now > at else 0.0
        deeds = [f"{counts[name]} {word}" for name, word in DEEDS.items() if counts[name]]
        of = f" of about {self.expected}" if self.expected else ""
        words = [f"{items}{of} items", *deeds, f"{rate:.0f} items/s"]
        if self.expected and rate:
            left = max(0, self.expected - items) / rate
            words.append(f"{timedelta(seconds=round(left))} left")
        return ", ".join(words)


def lines(title: str, pace: ProgressRate, say: Callable[[str], None]) -> Watch:
    """Say a line now and then."""
    told = pace.clock()

    def watch(counts: Counter[str]) -> None:
        nonlocal told
        words, now = pace.words(counts), pace.clock()
        if now - told >= EVERY_SECONDS:
            told = now
            say(f"{title}: {words}")

    return watch
