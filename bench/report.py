"""The measurements as tables."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bench.contenders import CONTENDERS
from bench.figures import (
    Figure,
    Results,
    cold_start,
    counted,
    goals,
    growth,
    per_record_and_row,
    ratio,
    ratios,
    timed,
)
from bench.plan import LATENCY, OURS, STREAMS, UNTRACED

NOT_MEASURED = "-"
HEADLINE = """\
Measured on {date_and_machine}. All figures are ratios within one run of `make bench`.

| AdminView compared with | every change in every row | repeated changes, some in no row |
| --- | --- | --- |
| Powertools batch + `put_item`: processor time | {neutral/powertools:.0f} times less \
| {ordinary/powertools:.0f} times less |
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
| the same, without the owner index: write units | {neutral/units without owner:.2f} \
| {ordinary/units without owner:.2f} |

| AdminView compared with | |
| --- | --- |
| the baseline's cold start: processor time | {cold start:.0%} |
| the same without tracing: processor time | {cold start/powertools_untraced:.0%} |
| one page read by a boto3 client: processor time | {one-partition/processor:.0%} |
| a batch of 6 MB: memory | {6 MB batch:.0f} MB |"""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Align columns: the first to the left, the others to the right."""
    lines = [head, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return [
        "  ".join(
            text.rjust(width) if column else text.ljust(width)
            for column, (text, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]


def number(figure: Figure, digits: int = 0) -> str:
    """Format a figure, or return a dash for None."""
    return NOT_MEASURED if figure is None else f"{figure:,.{digits}f}"


def describe_machine(machine: Mapping[str, Any]) -> str:
    return f"{machine['cores']} cores, {machine['system']}, Python {machine['python']}"


def headline(results: Results) -> str:
    """Return the ratios as Markdown tables, for docs/scale.md."""
    figure = {goal.name: goal.figure or 0.0 for goal in goals(results)}
    machine = results["machine"]
    date_and_machine = f"{machine['date']} ({describe_machine(machine)})"
    return HEADLINE.format_map({"date_and_machine": date_and_machine, "latency": LATENCY, **figure})


def with_headline(page: str, results: Results) -> str:
    """Return the text of docs/scale.md with new ratios between their marks."""
    before, mark, rest = page.partition("<!-- bench -->\n")
    _, end, after = rest.partition("\n<!-- end -->")
    assert mark, "docs/scale.md has no mark where the figures start"
    assert end, "docs/scale.md has no mark where the figures end"
    return before + mark + headline(results) + end + after


def report(results: Results) -> list[str]:
    """Return the lines of the report."""
    machine = results["machine"]
    lines = [
        f"Measured on {machine['date']}: {describe_machine(machine)}.",
        "Medians; in brackets the minimum and maximum, then the rounds and the records per round.",
        "",
        *(f"  {contender:<15} {text}" for contender, text in CONTENDERS.items()),
    ]
    for stream in STREAMS:
        lines += ["", *_stream(results, stream)]
    lines += ["", *_cold_starts(results), "", *_growth(results), "", *_goals(results), ""]
    if results.get("quick"):
        lines.append("This was a quick run: the figures mean nothing.")
    return [*lines, ratios(results)]


def _stream(results: Results, stream: str) -> list[str]:
    head = ["records/s", f"at {LATENCY} ms", "CPU s/1,000", "spread", "calls", "units", "kB sent"]
    rows = []
    for contender in CONTENDERS:
        delayed = timed(results, contender, "seconds", stream=stream, latency=LATENCY)
        sent = counted(results, stream, contender, "bytes")
        rows.append(
            [
                contender,
                number(ratio(1000, timed(results, contender, "seconds", stream=stream))),
                number(ratio(1000, delayed)),
                number(timed(results, contender, stream=stream), 3),
                _spread(results, contender, stream),
                number(counted(results, stream, contender, "calls")),
                number(counted(results, stream, contender, "units")),
                number(ratio(sent, 1000)),
            ]
        )
    return table([f"{stream} stream, per 1,000 records", *head], rows)


def _spread(results: Results, contender: str, stream: str) -> str:
    """Return the range of the processor time of the first matching run, and its rounds."""
    for run in results.get("timed", ()):
        if (run["contender"], run["stream"]) == (contender, stream):
            processor: dict[str, Any] = run["processor"]
            rounds, records = run["rounds"], run["records"]
            return f"[{processor['min']:.3f} {processor['max']:.3f}] {rounds} x {records:,}"
    return NOT_MEASURED


def _cold_starts(results: Results) -> list[str]:
    head = ["import to first write", "seconds", "CPU s", "MB for a 6 MB batch"]
    rows = [
        [
            contender,
            number(cold_start(results, contender, "seconds"), 3),
            number(cold_start(results, contender), 3),
            number(results.get("memory", {}).get(contender)),
        ]
        for contender in (*CONTENDERS, UNTRACED)
    ]
    return [*table(head, rows), f"{UNTRACED}: the baseline without the Tracer and its SDK"]


def _growth(results: Results) -> list[str]:
    """Return the figures that docs/scale.md uses, by size."""
    times = ["CPU s", "seconds", f"at {LATENCY} ms"]
    head = ["AdminView, per 1,000 records", *times, "calls", "us per row"]
    rows = []
    for name, rows_per_item, conditions in (
        ("1 row per item", 1, {"fan_out": 1}),
        ("3 rows", 3, {}),
        ("8 rows", 8, {"fan_out": 8}),
        ("3 rows, ordinary", 3, {"stream": "ordinary"}),
        ("3 rows, 100 records", 3, {"part": "100 records"}),
    ):
        without_delay: dict[str, Any] = dict(conditions)
        processor = timed(results, OURS, **without_delay)
        figures = [
            number(processor, 3),
            number(timed(results, OURS, "seconds", **without_delay), 3),
            number(timed(results, OURS, "seconds", latency=LATENCY, **without_delay), 3),
            number(timed(results, OURS, "calls", **without_delay)),
            number(ratio(processor, rows_per_item / 1000)),
        ]
        rows.append([name, *figures])
    lines = table(head, rows)
    if split := per_record_and_row(results):
        record, row = (f"{1000 * seconds:.3f} ms" for seconds in split)
        lines.append(f"That is {record} of a core per record, and {row} per row.")
    four, single = (number(growth(results, "floor", batches), 2) for batches in (4, 1))
    lines.append(
        f"The floor: 4 batches take {four} times the time of 10, one batch {single} times."
    )
    return lines


def _goals(results: Results) -> list[str]:
    verdicts = {True: "met", False: "MISSED", None: "not measured"}
    rows = []
    for goal in goals(results):
        limits = [("at least", goal.at_least), ("at most", goal.at_most)]
        limit = "".join(f"{label} {bound:g}" for label, bound in limits if bound is not None)
        verdict = verdicts[goal.met] if limit or goal.figure is None else ""
        rows.append([f"{goal.name}: {goal.text}", number(goal.figure, 2), limit, verdict])
    return table(["goal", "measured", "limit", ""], rows)
