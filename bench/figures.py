"""What the measurements say: ratios, and which goals they meet. A figure not measured is None."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from adminview.cli.costing.baseline import BASELINE_FIGURES, FIGURES
from bench.asking.model import BY_HAND, OVER_BOTO3
from bench.plan import GROWTH, LATENCY, LEAN, OURS, STREAMS, SUMMARY

Found: TypeAlias = Mapping[str, Any]
Figure: TypeAlias = float | None


def timed(found: Found, way: str, what: str = "processor", **where: Any) -> Figure:
    """Give the median of one run, per 1,000 records: the first that is as described."""
    wanted = {"way": way, "stream": "neutral", "latency": 0, "fan_out": 3, **where}
    for one in found.get("timed", ()):
        if all(one[name] == value for name, value in wanted.items()):
            median: float = one[what]["median"]
            return median
    return None


def counted(found: Found, stream: str, way: str, what: str) -> Figure:
    """Give what one way sent, per 1,000 records."""
    one: Figure = found.get("counted", {}).get(stream, {}).get(way, {}).get(what)
    return one


def cold(found: Found, way: str, what: str = "processor") -> Figure:
    """Give what a fresh process took for its first event."""
    one: Figure = found.get("cold", {}).get(way, {}).get(what, {}).get("median")
    return one


def ratio(above: Figure, below: Figure) -> Figure:
    """Divide what was measured."""
    return above / below if above is not None and below else None


def growth(found: Found, way: str = OURS, batches: int = 4) -> Figure:
    """Compare a few large batches with ten of the same records."""
    runs = [one for one in found.get("timed", ()) if one["part"] == GROWTH]
    if not runs:
        return None
    records = runs[0]["records"]
    large, small = (
        timed(found, way, part=GROWTH, batch=records // number) for number in (batches, 10)
    )
    return ratio(large, small)


def row_growth(found: Found) -> Figure:
    """Compare what a row costs where an item has eight with what it costs where it has three."""
    eight, three = timed(found, OURS, fan_out=8), timed(found, OURS)
    return ratio(ratio(eight, 8), ratio(three, 3))


def per_record_and_row(found: Found) -> tuple[float, float] | None:
    """Split our processor seconds of a record into its own and those of each row."""
    one, eight = timed(found, OURS, fan_out=1), timed(found, OURS, fan_out=8)
    if one is None or eight is None:
        return None
    row = (eight - one) / 7 / 1000
    return one / 1000 - row, row


def stale_estimates(found: Found) -> Iterator[str]:
    """Name each estimate of `adminview cost` that is more than a tenth off the measurement."""
    runs = [("usual", 3, BASELINE_FIGURES), *((OURS, rows, FIGURES) for rows in (1, 3, 8))]
    for way, rows, figures in runs:
        measured = timed(found, way, fan_out=rows)
        estimate = 1000 * (figures.per_record + rows * figures.per_row)
        if measured and abs(estimate - measured) > measured / 10:
            yield (
                f"{way}, {rows} rows: adminview/cli/costing/baseline.py estimates {estimate:.3f} s "
                "of a core "
                f"for 1,000 records, this run measured {measured:.3f} s"
            )


@dataclass(frozen=True, slots=True)
class Goal:
    """What was promised, as a ratio or in megabytes, and what it came to."""

    name: str
    text: str
    figure: Figure
    least: Figure = None
    most: Figure = None

    @property
    def met(self) -> bool | None:
        """Whether it was kept; None if it was not measured, or nothing was promised."""
        if self.figure is None or self.least is self.most is None:
            return None
        return (self.least is None or self.figure >= self.least) and (
            self.most is None or self.figure <= self.most
        )


def goals(found: Found) -> list[Goal]:
    """Hold what was found against what was promised."""

    def less(way: str, stream: str) -> Figure:
        return ratio(timed(found, way, stream=stream), timed(found, OURS, stream=stream))

    def units(stream: str) -> Figure:
        return _units(found, stream, "pseudo_code")

    def late(way: str) -> Figure:
        return timed(found, way, "seconds", latency=LATENCY)

    times = "times less processor time than"
    return [
        Goal("neutral/batch_writer", f"{times} batch_writer", less("batch_writer", "neutral"), 8),
        Goal("neutral/usual", f"{times} the usual", less("usual", "neutral"), 40),
        Goal(
            "neutral/floor",
            "times the floor's processor time",
            ratio(timed(found, OURS), timed(found, "floor")),
            most=2.6,
        ),
        Goal(
            "ordinary/batch_writer", f"{times} batch_writer", less("batch_writer", "ordinary"), 10
        ),
        Goal("ordinary/usual", f"{times} the usual", less("usual", "ordinary"), 50),
        Goal(
            f"{LATENCY} ms/batch_writer",
            "times batch_writer's records a second",
            ratio(late("batch_writer"), late(OURS)),
            12,
        ),
        Goal(
            "cold start",
            "of the usual's, in processor time",
            ratio(cold(found, OURS), cold(found, "usual")),
            most=0.4,
        ),
        Goal("neutral/units", "of the pseudo-code's write units", units("neutral"), most=1),
        Goal("ordinary/units", "of the pseudo-code's write units", units("ordinary"), most=0.7),
        Goal("10,000 records", "in 4 batches, times those in 10", growth(found), most=1.1),
        Goal("one batch", "of all 10,000, times those in 10", growth(found, batches=1), most=1.1),
        Goal("8 rows", "times what a row of 3 takes", row_growth(found), most=1.1),
        Goal("6 MB batch", "MB of memory", found.get("memory", {}).get(OURS), most=120),
        *_asking(found),
        *_told(found),
    ]


def _units(found: Found, stream: str, way: str, ours: str = "units") -> Figure:
    """Compare our write units with those of another way."""
    return ratio(counted(found, stream, OURS, ours), counted(found, stream, way, "units"))


def _told(found: Found) -> Iterator[Goal]:
    """Tell what nothing was promised of, and what a promise would have been missed by."""
    for stream in STREAMS:
        figure = ratio(timed(found, "pynamodb", stream=stream), timed(found, OURS, stream=stream))
        yield Goal(f"{stream}/pynamodb", "times less processor time than PynamoDB", figure)
        where = {"stream": stream, "part": LEAN}
        for way in ("batch_writer", "usual"):
            figure = ratio(timed(found, way, **where), timed(found, OURS, **where))
            yield Goal(f"lean {stream}/{way}", f"times less, {LEAN}", figure)
    for stream in STREAMS:
        summary = "of the pseudo-code's, were its copies summaries"
        yield Goal(f"{stream}/summary units", summary, _units(found, stream, SUMMARY))
        blind = "of blind puts of the same rows"
        yield Goal(f"{stream}/blind units", blind, _units(found, stream, "usual"))
        bare = _units(found, stream, "usual", "units without owner")
        yield Goal(f"{stream}/own units", "the same without the owner index", bare)
    untraced = ratio(cold(found, OURS), cold(found, "untraced"))
    yield Goal("cold start/untraced", "of the usual's, were it not traced", untraced)


def _asking(found: Found) -> Iterator[Goal]:
    """Hold an asking against the same by hand, in both kinds of time.

    Not at the worst of a hundred: on a shared machine that is its neighbours'.
    """
    for name, ways in found.get("asking", {}).items():
        for way, where in ((OURS, ""), (OVER_BOTO3, " over boto3")):
            for what, told in (("processor", "processor time"), ("p50", "seconds")):
                figure = ratio(ways[way][what], ways[BY_HAND][what])
                text = f"times a boto3 client's {told}"
                yield Goal(f"{name}{where}/{what}", text, figure, most=1.15)


def ratios(found: Found) -> str:
    """Say all of it in one line."""
    told = [f"{goal.name} {goal.figure:.2f}" for goal in goals(found) if goal.figure is not None]
    return f"ratios: {', '.join(told) or 'nothing was measured'}"
