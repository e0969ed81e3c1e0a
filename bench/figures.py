"""Ratios of the measurements, and the goals they meet. A figure that was not measured is None."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from adminview.cli.costing.baseline import BASELINE_FIGURES, FIGURES
from bench.plan import BASELINE, GROWTH, LATENCY, LEAN, OURS, STREAMS, SUMMARY, UNTRACED
from bench.query.model import BOTO3, OVER_BOTO3

Results: TypeAlias = Mapping[str, Any]
Figure: TypeAlias = float | None


def timed(results: Results, contender: str, figure: str = "processor", **conditions: Any) -> Figure:
    """Return the median per 1,000 records of the first run that matches."""
    defaults = {"stream": "neutral", "latency": 0, "fan_out": 3}
    conditions = {"contender": contender, **defaults, **conditions}
    for run in results.get("timed", ()):
        if all(run[name] == value for name, value in conditions.items()):
            median: float = run[figure]["median"]
            return median
    return None


def counted(results: Results, stream: str, contender: str, figure: str) -> Figure:
    """Return what one contender sent, per 1,000 records."""
    count: Figure = results.get("counted", {}).get(stream, {}).get(contender, {}).get(figure)
    return count


def cold_start(results: Results, contender: str, figure: str = "processor") -> Figure:
    """Return the median time of a new process for its first event."""
    spreads = results.get("cold_start", {}).get(contender, {})
    median: Figure = spreads.get(figure, {}).get("median")
    return median


def ratio(dividend: Figure, divisor: Figure) -> Figure:
    """Return the quotient; None if a figure was not measured or *divisor* is zero."""
    return dividend / divisor if dividend is not None and divisor else None


def growth(results: Results, contender: str = OURS, batches: int = 4) -> Figure:
    """Return the time of *batches* large batches, relative to ten batches of the same records."""
    runs = [run for run in results.get("timed", ()) if run["part"] == GROWTH]
    if not runs:
        return None
    records = runs[0]["records"]
    large, small = (
        timed(results, contender, part=GROWTH, batch=records // number) for number in (batches, 10)
    )
    return ratio(large, small)


def row_growth(results: Results) -> Figure:
    """Return the time per row of items with eight rows, relative to items with three."""
    eight, three = timed(results, OURS, fan_out=8), timed(results, OURS)
    return ratio(ratio(eight, 8), ratio(three, 3))


def per_record_and_row(results: Results) -> tuple[float, float] | None:
    """Split our processor seconds for a record into those per record and those per row."""
    one_row, eight_rows = timed(results, OURS, fan_out=1), timed(results, OURS, fan_out=8)
    if one_row is None or eight_rows is None:
        return None
    per_row = (eight_rows - one_row) / 7 / 1000
    return one_row / 1000 - per_row, per_row


def stale_estimates(results: Results) -> Iterator[str]:
    """Yield each estimate of `adminview cost` that is more than 10 % off the measurement."""
    runs = [(BASELINE, 3, BASELINE_FIGURES), *((OURS, rows, FIGURES) for rows in (1, 3, 8))]
    for contender, rows, figures in runs:
        measured = timed(results, contender, fan_out=rows)
        estimate = 1000 * (figures.per_record + rows * figures.per_row)
        if measured and abs(estimate - measured) > measured / 10:
            yield (
                f"{contender}, {rows} rows: adminview/cli/costing/baseline.py estimates "
                f"{estimate:.3f} s of a core for 1,000 records, this run measured {measured:.3f} s"
            )


@dataclass(frozen=True, slots=True)
class Goal:
    """A measured ratio or size, and its limits."""

    name: str
    text: str
    figure: Figure
    at_least: Figure = None
    at_most: Figure = None

    @property
    def met(self) -> bool | None:
        """Return whether the limits are kept; None without a measurement or limits."""
        if self.figure is None or self.at_least is self.at_most is None:
            return None
        return (self.at_least is None or self.figure >= self.at_least) and (
            self.at_most is None or self.figure <= self.at_most
        )


def goals(results: Results) -> list[Goal]:
    """Return all figures with their limits."""

    def speedup(contender: str, stream: str) -> Figure:
        return _speedup(results, contender, stream=stream)

    def units(stream: str) -> Figure:
        return _units(results, stream, "pseudo_code")

    def delayed(contender: str) -> Figure:
        return timed(results, contender, "seconds", latency=LATENCY)

    times = "times less processor time than"
    return [
        Goal(
            "neutral/batch_writer", f"{times} batch_writer", speedup("batch_writer", "neutral"), 8
        ),
        Goal("neutral/powertools", f"{times} the baseline", speedup(BASELINE, "neutral"), 40),
        Goal(
            "neutral/floor",
            "times the floor's processor time",
            ratio(timed(results, OURS), timed(results, "floor")),
            at_most=2.6,
        ),
        Goal(
            "ordinary/batch_writer",
            f"{times} batch_writer",
            speedup("batch_writer", "ordinary"),
            10,
        ),
        Goal("ordinary/powertools", f"{times} the baseline", speedup(BASELINE, "ordinary"), 50),
        Goal(
            f"{LATENCY} ms/batch_writer",
            "times batch_writer's records per second",
            ratio(delayed("batch_writer"), delayed(OURS)),
            12,
        ),
        Goal(
            "cold start",
            "of the baseline's processor time",
            ratio(cold_start(results, OURS), cold_start(results, BASELINE)),
            at_most=0.4,
        ),
        Goal("neutral/units", "of the pseudo-code's write units", units("neutral"), at_most=1),
        Goal("ordinary/units", "of the pseudo-code's write units", units("ordinary"), at_most=0.7),
        Goal("10,000 records", "time of 4 batches, times that of 10", growth(results), at_most=1.1),
        Goal(
            "one batch",
            "time of 10,000 records in one, times that of 10",
            growth(results, batches=1),
            at_most=1.1,
        ),
        Goal("8 rows", "time per row, times that of 3 rows", row_growth(results), at_most=1.1),
        Goal("6 MB batch", "MB of memory", results.get("memory", {}).get(OURS), at_most=120),
        *_query_goals(results),
        *_without_limits(results),
    ]


def _speedup(results: Results, contender: str, **conditions: Any) -> Figure:
    """Return the processor time of another contender relative to ours."""
    return ratio(timed(results, contender, **conditions), timed(results, OURS, **conditions))


def _units(results: Results, stream: str, contender: str, ours: str = "units") -> Figure:
    """Return our write units relative to those of another contender."""
    return ratio(counted(results, stream, OURS, ours), counted(results, stream, contender, "units"))


def _without_limits(results: Results) -> Iterator[Goal]:
    """Yield the figures that have no limit."""
    for stream in STREAMS:
        figure = _speedup(results, "pynamodb", stream=stream)
        yield Goal(f"{stream}/pynamodb", "times less processor time than PynamoDB", figure)
        for contender in ("batch_writer", BASELINE):
            figure = _speedup(results, contender, stream=stream, part=LEAN)
            yield Goal(f"lean {stream}/{contender}", f"times less processor time, {LEAN}", figure)
    for stream in STREAMS:
        summary = "of the pseudo-code's, if its copies were summaries"
        yield Goal(f"{stream}/summary units", summary, _units(results, stream, SUMMARY))
        blind = "of blind puts of the same rows"
        yield Goal(f"{stream}/blind units", blind, _units(results, stream, BASELINE))
        without_owner = _units(results, stream, BASELINE, "units without owner")
        yield Goal(
            f"{stream}/units without owner", "the same, without the owner index", without_owner
        )
    untraced = ratio(cold_start(results, OURS), cold_start(results, UNTRACED))
    yield Goal(f"cold start/{UNTRACED}", "of the baseline's without tracing", untraced)


def _query_goals(results: Results) -> Iterator[Goal]:
    """Compare queries with those of a boto3 client, in processor time and in seconds.

    The 99th percentile has no goal: on a shared machine, other processes determine it.
    """
    for name, by_client in results.get("query", {}).items():
        for client, suffix in ((OURS, ""), (OVER_BOTO3, " over boto3")):
            for measure, unit in (("processor", "processor time"), ("p50", "seconds")):
                figure = ratio(by_client[client][measure], by_client[BOTO3][measure])
                text = f"times a boto3 client's {unit}"
                yield Goal(f"{name}{suffix}/{measure}", text, figure, at_most=1.15)


def ratios(results: Results) -> str:
    """Return all figures in one line."""
    figures = [
        f"{goal.name} {goal.figure:.2f}" for goal in goals(results) if goal.figure is not None
    ]
    return f"ratios: {', '.join(figures) or 'nothing was measured'}"
