"""Ratios of the measurements, and the goals they meet. A figure that was not measured is None."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from adminview.cli.costing.baseline import BASELINE_FIGURES, FIGURES
from bench.asking.model import BY_HAND, OVER_BOTO3
from bench.plan import GROWTH, LATENCY, LEAN, OURS, STREAMS, SUMMARY

Results: TypeAlias = Mapping[str, Any]
Figure: TypeAlias = float | None


def timed(results: Results, way: str, what: str = "processor", **where: Any) -> Figure:
    """Return the median per 1,000 records of the first run that matches."""
    wanted = {"way": way, "stream": "neutral", "latency": 0, "fan_out": 3, **where}
    for run in results.get("timed", ()):
        if all(run[name] == value for name, value in wanted.items()):
            median: float = run[what]["median"]
            return median
    return None


def counted(results: Results, stream: str, way: str, what: str) -> Figure:
    """Return what one implementation sent, per 1,000 records."""
    figure: Figure = results.get("counted", {}).get(stream, {}).get(way, {}).get(what)
    return figure


def cold(results: Results, way: str, what: str = "processor") -> Figure:
    """Return the time of a new process for its first event."""
    figure: Figure = results.get("cold", {}).get(way, {}).get(what, {}).get("median")
    return figure


def ratio(above: Figure, below: Figure) -> Figure:
    """Return the quotient; None if a figure was not measured or *below* is zero."""
    return above / below if above is not None and below else None


def growth(results: Results, way: str = OURS, batches: int = 4) -> Figure:
    """Return the time of a few large batches, relative to ten batches of the same records."""
    runs = [run for run in results.get("timed", ()) if run["part"] == GROWTH]
    if not runs:
        return None
    records = runs[0]["records"]
    large, small = (
        timed(results, way, part=GROWTH, batch=records // number) for number in (batches, 10)
    )
    return ratio(large, small)


def row_growth(results: Results) -> Figure:
    """Return the time per row of items with eight rows, relative to items with three."""
    eight, three = timed(results, OURS, fan_out=8), timed(results, OURS)
    return ratio(ratio(eight, 8), ratio(three, 3))


def per_record_and_row(results: Results) -> tuple[float, float] | None:
    """Split our processor seconds for a record into those per record and those per row."""
    one, eight = timed(results, OURS, fan_out=1), timed(results, OURS, fan_out=8)
    if one is None or eight is None:
        return None
    row = (eight - one) / 7 / 1000
    return one / 1000 - row, row


def stale_estimates(results: Results) -> Iterator[str]:
    """Yield each estimate of `adminview cost` that is more than 10 % off the measurement."""
    runs = [("usual", 3, BASELINE_FIGURES), *((OURS, rows, FIGURES) for rows in (1, 3, 8))]
    for way, rows, figures in runs:
        measured = timed(results, way, fan_out=rows)
        estimate = 1000 * (figures.per_record + rows * figures.per_row)
        if measured and abs(estimate - measured) > measured / 10:
            yield (
                f"{way}, {rows} rows: adminview/cli/costing/baseline.py estimates {estimate:.3f} s "
                "of a core "
                f"for 1,000 records, this run measured {measured:.3f} s"
            )


@dataclass(frozen=True, slots=True)
class Goal:
    """A measured ratio or size, and its limits."""

    name: str
    text: str
    figure: Figure
    least: Figure = None
    most: Figure = None

    @property
    def met(self) -> bool | None:
        """Return whether the limits are kept; None without a measurement or limits."""
        if self.figure is None or self.least is self.most is None:
            return None
        return (self.least is None or self.figure >= self.least) and (
            self.most is None or self.figure <= self.most
        )


def goals(results: Results) -> list[Goal]:
    """Return all figures with their limits."""

    def less(way: str, stream: str) -> Figure:
        return ratio(timed(results, way, stream=stream), timed(results, OURS, stream=stream))

    def units(stream: str) -> Figure:
        return _units(results, stream, "pseudo_code")

    def late(way: str) -> Figure:
        return timed(results, way, "seconds", latency=LATENCY)

    times = "times less processor time than"
    return [
        Goal("neutral/batch_writer", f"{times} batch_writer", less("batch_writer", "neutral"), 8),
        Goal("neutral/usual", f"{times} the baseline", less("usual", "neutral"), 40),
        Goal(
            "neutral/floor",
            "times the floor's processor time",
            ratio(timed(results, OURS), timed(results, "floor")),
            most=2.6,
        ),
        Goal(
            "ordinary/batch_writer", f"{times} batch_writer", less("batch_writer", "ordinary"), 10
        ),
        Goal("ordinary/usual", f"{times} the baseline", less("usual", "ordinary"), 50),
        Goal(
            f"{LATENCY} ms/batch_writer",
            "times batch_writer's records a second",
            ratio(late("batch_writer"), late(OURS)),
            12,
        ),
        Goal(
            "cold start",
            "of the baseline's, in processor time",
            ratio(cold(results, OURS), cold(results, "usual")),
            most=0.4,
        ),
        Goal("neutral/units", "of the pseudo-code's write units", units("neutral"), most=1),
        Goal("ordinary/units", "of the pseudo-code's write units", units("ordinary"), most=0.7),
        Goal("10,000 records", "in 4 batches, times those in 10", growth(results), most=1.1),
        Goal("one batch", "of all 10,000, times those in 10", growth(results, batches=1), most=1.1),
        Goal("8 rows", "times what a row of 3 takes", row_growth(results), most=1.1),
        Goal("6 MB batch", "MB of memory", results.get("memory", {}).get(OURS), most=120),
        *_query_goals(results),
        *_without_limits(results),
    ]


def _units(results: Results, stream: str, way: str, ours: str = "units") -> Figure:
    """Return our write units relative to those of another implementation."""
    return ratio(counted(results, stream, OURS, ours), counted(results, stream, way, "units"))


def _without_limits(results: Results) -> Iterator[Goal]:
    """Yield the figures without limits, also those that a limit would fail."""
    for stream in STREAMS:
        figure = ratio(
            timed(results, "pynamodb", stream=stream), timed(results, OURS, stream=stream)
        )
        yield Goal(f"{stream}/pynamodb", "times less processor time than PynamoDB", figure)
        where = {"stream": stream, "part": LEAN}
        for way in ("batch_writer", "usual"):
            figure = ratio(timed(results, way, **where), timed(results, OURS, **where))
            yield Goal(f"lean {stream}/{way}", f"times less, {LEAN}", figure)
    for stream in STREAMS:
        summary = "of the pseudo-code's, were its copies summaries"
        yield Goal(f"{stream}/summary units", summary, _units(results, stream, SUMMARY))
        blind = "of blind puts of the same rows"
        yield Goal(f"{stream}/blind units", blind, _units(results, stream, "usual"))
        bare = _units(results, stream, "usual", "units without owner")
        yield Goal(f"{stream}/own units", "the same without the owner index", bare)
    untraced = ratio(cold(results, OURS), cold(results, "untraced"))
    yield Goal("cold start/untraced", "of the baseline's, were it not traced", untraced)


def _query_goals(results: Results) -> Iterator[Goal]:
    """Compare queries with those of a boto3 client, in processor time and in seconds.

    Not the 99th percentile: on a shared machine, other processes cause it.
    """
    for name, ways in results.get("asking", {}).items():
        for way, where in ((OURS, ""), (OVER_BOTO3, " over boto3")):
            for what, unit in (("processor", "processor time"), ("p50", "seconds")):
                figure = ratio(ways[way][what], ways[BY_HAND][what])
                text = f"times a boto3 client's {unit}"
                yield Goal(f"{name}{where}/{what}", text, figure, most=1.15)


def ratios(results: Results) -> str:
    """Return all figures in one line."""
    figures = [
        f"{goal.name} {goal.figure:.2f}" for goal in goals(results) if goal.figure is not None
    ]
    return f"ratios: {', '.join(figures) or 'nothing was measured'}"
