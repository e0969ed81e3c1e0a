"""The measurements as tables."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bench.figures import (
    Figure,
    Results,
    cold,
    counted,
    goals,
    growth,
    per_record_and_row,
    ratio,
    ratios,
    timed,
)
from bench.plan import LATENCY, OURS, STREAMS
from bench.ways import WAYS

NOTHING = "-"
HEADLINE = """\
Measured on {on}. All figures are ratios within one run of `make bench`.

| AdminView compared with | every change in every row | repeated changes, some in no row |
| --- | --- | --- |
| Powertools batch + `put_item`: processor time | {neutral/usual:.0f} times less \
| {ordinary/usual:.0f} times less |
| `batch_writer`: processor time | {neutral/batch_writer:.1f} times less \
| {ordinary/batch_writer:.1f} times less |
| `batch_writer`, rows of four attributes: processor time \
| {lean neutral/batch_writer:.1f} times less \
| {lean ordinary/batch_writer:.1f} times less |
| `batch_writer`, {latency} ms per call: records per second \
| {8 ms/batch_writer:.0f} times more | |
| a bare socket: processor time | {neutral/floor:.1f} times more | |
| a sync that copies each order twice: write units | {neutral/units:.2f} | {ordinary/units:.2f} |
| the same, if the copies are summaries: write units | {neutral/summary units:.2f} \
| {ordinary/summary units:.2f} |
| blind puts of the same rows: write units | {neutral/blind units:.2f} \
| {ordinary/blind units:.2f} |
| the same, without the owner index: write units | {neutral/own units:.2f} \
| {ordinary/own units:.2f} |

| AdminView compared with | |
| --- | --- |
| the baseline's cold start: processor time | {cold start:.0%} |
| the same without tracing: processor time | {cold start/untraced:.0%} |
| one page read by a boto3 client: processor time | {one-partition/processor:.0%} |
| a batch of 6 MB: memory | {6 MB batch:.0f} MB |"""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Align columns: the first to the left, the others to the right."""
    lines = [head, *rows]
    widths = [max(len(line[place]) for line in lines) for place in range(len(head))]
    return [
        "  ".join(
            text.rjust(width) if place else text.ljust(width)
            for place, (text, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]


def number(figure: Figure, digits: int = 0) -> str:
    """Format a figure, or return a dash for None."""
    return NOTHING if figure is None else f"{figure:,.{digits}f}"


def described(about: Mapping[str, Any]) -> str:
    """Return the machine in words."""
    return f"{about['cores']} cores, {about['system']}, Python {about['python']}"


def headline(results: Results) -> str:
    """Write the ratios as Markdown tables, for docs/scale.md."""
    figure = {goal.name: goal.figure or 0.0 for goal in goals(results)}
    about = results["machine"]
    on = f"{about['date']} ({described(about)})"
    return HEADLINE.format_map({"on": on, "latency": LATENCY, **figure})


def with_headline(page: str, results: Results) -> str:
    """Put the ratios into the text of docs/scale.md, between their marks."""
    before, mark, rest = page.partition("<!-- bench -->\n")
    _, end, after = rest.partition("\n<!-- end -->")
    assert mark, "the page has no mark for the figures"
    assert end, "the page has no end of the figures"
    return before + mark + headline(results) + end + after


def report(results: Results) -> list[str]:
    """Return the lines of the report."""
    about = results["machine"]
    lines = [
        f"Measured on {about['date']}: {described(about)}.",
        "Medians; in brackets the least and the most of all rounds, and how many records each had.",
        "",
        *(f"  {way:<12} {text}" for way, text in WAYS.items()),
    ]
    for stream in STREAMS:
        lines += ["", *_stream(results, stream)]
    lines += ["", *_starts(results), "", *_growth(results), "", *_goals(results), ""]
    if results.get("quick"):
        lines.append("This was a quick run: the figures mean nothing.")
    return [*lines, ratios(results)]


def _stream(results: Results, stream: str) -> list[str]:
    head = ["records/s", f"at {LATENCY} ms", "CPU s/1,000", "spread", "calls", "units", "kB sent"]
    rows = []
    for way in WAYS:
        late = timed(results, way, "seconds", stream=stream, latency=LATENCY)
        sent = counted(results, stream, way, "bytes")
        rows.append(
            [
                way,
                number(ratio(1000, timed(results, way, "seconds", stream=stream))),
                number(ratio(1000, late)),
                number(timed(results, way, stream=stream), 3),
                _spread(results, way, stream),
                number(counted(results, stream, way, "calls")),
                number(counted(results, stream, way, "units")),
                number(ratio(sent, 1000)),
            ]
        )
    return table([f"{stream} stream, per 1,000 records", *head], rows)


def _spread(results: Results, way: str, stream: str) -> str:
    """Return the range of the processor time of the first such run, and its rounds."""
    for run in results.get("timed", ()):
        if (run["way"], run["stream"]) == (way, stream):
            took: dict[str, Any] = run["processor"]
            rounds, records = run["rounds"], run["records"]
            return f"[{took['least']:.3f} {took['most']:.3f}] {rounds} x {records:,}"
    return NOTHING


def _starts(results: Results) -> list[str]:
    head = ["import to first write", "seconds", "CPU s", "MB for a 6 MB batch"]
    rows = [
        [
            way,
            number(cold(results, way, "seconds"), 3),
            number(cold(results, way), 3),
            number(results.get("memory", {}).get(way)),
        ]
        for way in (*WAYS, "untraced")
    ]
    return [*table(head, rows), "untraced: the baseline without the Tracer and its SDK"]


def _growth(results: Results) -> list[str]:
    """Return the figures that docs/scale.md uses, by size."""
    times = ["CPU s", "seconds", f"at {LATENCY} ms"]
    head = ["AdminView, per 1,000 records", *times, "calls", "us per row"]
    rows = []
    for name, rows_of_item, where in (
        ("1 row of an item", 1, {"fan_out": 1}),
        ("3 rows", 3, {}),
        ("8 rows", 8, {"fan_out": 8}),
        ("3 rows, ordinary", 3, {"stream": "ordinary"}),
        ("3 rows, 100 records", 3, {"part": "100 records"}),
    ):
        at_once: dict[str, Any] = dict(where)
        took = timed(results, OURS, **at_once)
        figures = [
            number(took, 3),
            number(timed(results, OURS, "seconds", **at_once), 3),
            number(timed(results, OURS, "seconds", latency=LATENCY, **at_once), 3),
            number(timed(results, OURS, "calls", **at_once)),
            number(ratio(took, rows_of_item / 1000)),
        ]
        rows.append([name, *figures])
    lines = table(head, rows)
    if split := per_record_and_row(results):
        record, row = (f"{1000 * seconds:.3f} ms" for seconds in split)
        lines.append(f"That is {record} of a core for a record, and {row} for each of its rows.")
    four, one = (number(growth(results, "floor", batches), 2) for batches in (4, 1))
    lines.append(f"The floor's own growth: {four} in 4 batches, {one} in one, times those in 10.")
    return lines


def _goals(results: Results) -> list[str]:
    words = {True: "met", False: "MISSED", None: "not measured"}
    rows = []
    for goal in goals(results):
        limits = [("at least", goal.least), ("at most", goal.most)]
        limit = "".join(f"{what} {bound:g}" for what, bound in limits if bound is not None)
        verdict = words[goal.met] if limit or goal.figure is None else ""
        rows.append([f"{goal.name}: {goal.text}", number(goal.figure, 2), limit, verdict])
    return table(["goal", "measured", "limit", ""], rows)
