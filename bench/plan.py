"""The plan: which implementations are measured, on which streams, how often."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from bench.streams import NEUTRAL, ORDINARY, Load
from bench.ways import WAYS

STREAMS: Final = {"neutral": NEUTRAL, "ordinary": ORDINARY}
LATENCY: Final = 8  # milliseconds
OURS: Final = "adminview"
GROWTH: Final = "growth"
LEAN: Final = "rows that show little"
SUMMARY: Final = "pseudo_code, summaries"  # computed, not run
# The baseline is several times slower, so it gets a shorter stream.
MOST: Final = {("usual", 0): 200, ("usual", LATENCY): 100}


@dataclass(frozen=True, slots=True)
class Run:
    """One implementation on one stream."""

    way: str
    stream: str
    load: Load
    latency: int = 0


@dataclass(frozen=True, slots=True)
class Part:
    """Runs that take turns, round by round, so that noise affects all of them."""

    title: str
    runs: tuple[Run, ...]
    rounds: int
    seconds: float = 40  # no round begins later


def take_turns(
    stream: str, ways: Iterable[str] = WAYS, *, latency: int = 0, **change: int
) -> Iterator[Run]:
    load = replace(STREAMS[stream], **change)
    for way in ways:
        records = min(load.records, MOST.get((way, latency), load.records))
        yield Run(way, stream, replace(load, records=records), latency)


def whole_plan() -> Iterator[Part]:
    """Yield all that `make bench` times, the most important first."""
    for stream in STREAMS:
        yield Part(f"{stream} stream", tuple(take_turns(stream)), 5)
    late = take_turns("neutral", latency=LATENCY)
    yield Part(f"{LATENCY} ms for an answer", tuple(late), 3)
    late = take_turns("ordinary", latency=LATENCY)
    yield Part(f"{LATENCY} ms for an answer, ordinary stream", tuple(late), 3, seconds=10)
    few = [*take_turns("neutral", records=100), *take_turns("ordinary", records=100)]
    yield Part("100 records", tuple(few), 3, seconds=15)
    for rows in (1, 8):
        runs = [*take_turns("neutral", fan_out=rows)]
        runs += take_turns("neutral", ["batch_writer", OURS], latency=LATENCY, fan_out=rows)
        yield Part(f"{rows} rows for an item", tuple(runs), 3, seconds=15)
    yield Part(GROWTH, tuple(growth(10_000)), 3, seconds=30)
    peer = take_turns("neutral", ["batch_writer"], records=10_000)
    yield Part("10,000 records", tuple(peer), 1)


def lean_plan(**change: int) -> Part:
    """Return the most important runs with rows of four attributes and of three."""
    ways = ("usual", "batch_writer", OURS, "floor")
    runs = [run for stream in STREAMS for run in take_turns(stream, ways, **change)]
    return Part(LEAN, tuple(runs), 1 if change else 5, seconds=30)


def growth(records: int) -> Iterator[Run]:
    """Yield runs with ten batches, with four of 5 MB, and with one that exceeds Lambda's limit."""
    for way in (OURS, "floor"):
        for batches in (10, 4, 1):
            yield from take_turns("neutral", [way], records=records, batch=records // batches)


def quick_plan() -> Iterator[Part]:
    """Yield enough to see that everything works; the figures mean nothing."""
    for stream in STREAMS:
        yield Part(f"{stream} stream", tuple(take_turns(stream, records=20)), 1)
    late = take_turns("neutral", ["batch_writer", OURS], latency=LATENCY, records=20)
    yield Part(f"{LATENCY} ms for an answer", tuple(late), 1)
    yield Part(GROWTH, tuple(growth(100)), 1)
