"""The plan: which contenders are measured, on which streams, how often."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from bench.contenders import CONTENDERS
from bench.streams import NEUTRAL, ORDINARY, Load

STREAMS: Final = {"neutral": NEUTRAL, "ordinary": ORDINARY}
LATENCY: Final = 8  # milliseconds
OURS: Final = "adminview"
BASELINE: Final = "powertools"
UNTRACED: Final = "powertools_untraced"
GROWTH: Final = "growth"
LEAN: Final = "lean rows"
SUMMARY: Final = "pseudo_code, summaries"  # computed, not run
# The baseline is several times slower, so it gets a shorter stream.
MAX_RECORDS: Final = {(BASELINE, 0): 200, (BASELINE, LATENCY): 100}


@dataclass(frozen=True, slots=True)
class Run:
    """One contender on one stream."""

    contender: str
    stream: str
    load: Load
    latency: int = 0


@dataclass(frozen=True, slots=True)
class Part:
    """Runs that alternate, round by round, so that noise affects all of them."""

    title: str
    runs: tuple[Run, ...]
    rounds: int
    seconds: float = 40  # no round starts later


def runs_of(
    stream: str, contenders: Iterable[str] = CONTENDERS, *, latency: int = 0, **changes: int
) -> Iterator[Run]:
    """Yield a run of each contender on a stream, whose load differs by *changes*."""
    load = replace(STREAMS[stream], **changes)
    for contender in contenders:
        records = min(load.records, MAX_RECORDS.get((contender, latency), load.records))
        yield Run(contender, stream, replace(load, records=records), latency)


def whole_plan() -> Iterator[Part]:
    """Yield all parts that `make bench` times, the most important first."""
    for stream in STREAMS:
        yield Part(f"{stream} stream", tuple(runs_of(stream)), 5)
    delayed = runs_of("neutral", latency=LATENCY)
    yield Part(f"{LATENCY} ms per call", tuple(delayed), 3)
    delayed = runs_of("ordinary", latency=LATENCY)
    yield Part(f"{LATENCY} ms per call, ordinary stream", tuple(delayed), 3, seconds=10)
    short = [*runs_of("neutral", records=100), *runs_of("ordinary", records=100)]
    yield Part("100 records", tuple(short), 3, seconds=15)
    for rows in (1, 8):
        runs = [*runs_of("neutral", fan_out=rows)]
        runs += runs_of("neutral", ["batch_writer", OURS], latency=LATENCY, fan_out=rows)
        yield Part(f"{rows} rows per item", tuple(runs), 3, seconds=15)
    yield Part(GROWTH, tuple(growth(10_000)), 3, seconds=30)
    batch_writer = runs_of("neutral", ["batch_writer"], records=10_000)
    yield Part("10,000 records", tuple(batch_writer), 1)


def lean_plan(**changes: int) -> Part:
    """Return the most important runs, with rows of only four attributes and of three."""
    contenders = (BASELINE, "batch_writer", OURS, "floor")
    runs = [run for stream in STREAMS for run in runs_of(stream, contenders, **changes)]
    return Part(LEAN, tuple(runs), 1 if changes else 5, seconds=30)


def growth(records: int) -> Iterator[Run]:
    """Yield runs with ten batches, with four of 5 MB, and with one that exceeds Lambda's limit."""
    for contender in (OURS, "floor"):
        for batches in (10, 4, 1):
            yield from runs_of("neutral", [contender], records=records, batch=records // batches)


def quick_plan() -> Iterator[Part]:
    """Yield just enough runs to check that everything works; their figures mean nothing."""
    for stream in STREAMS:
        yield Part(f"{stream} stream", tuple(runs_of(stream, records=20)), 1)
    delayed = runs_of("neutral", ["batch_writer", OURS], latency=LATENCY, records=20)
    yield Part(f"{LATENCY} ms per call", tuple(delayed), 1)
    yield Part(GROWTH, tuple(growth(100)), 1)
