"""`python -m bench`: compare AdminView's sync with other implementations, in one run.

A run takes about four minutes. If you stop it, it prints what it has measured so far. The figures
that docs/scale.md uses are in the table "AdminView, per 1,000 records".

Results go to build/bench, which git ignores. With --keep they replace the tracked results in
bench/results and the summary in docs/scale.md; `make bench KEEP=1` updates the rest of that page.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench import bundle
from bench.bulk import measure as bulk
from bench.chart import bar_chart
from bench.contenders import CONTENDERS
from bench.contenders.rows import LEAN, LEAN_ROWS, ROWS_VARIABLE
from bench.figures import goals, ratios, stale_estimates
from bench.measure import Progress, count, machine, measure_memory, time_cold_starts, time_runs
from bench.plan import BASELINE, OURS, UNTRACED, lean_plan, quick_plan, whole_plan
from bench.query import measure as query
from bench.report import report, with_headline
from bench.streams import Load
from bench.stub_client import StubClient, running_stub
from bench.totals import measure as totals
from bench.worker_processes import start_workers

ONE_ROUND_AFTER: Final = 150  # seconds; later parts get one round, to end within five minutes
INTERRUPTED: Final = 130  # the exit status that shells report for SIGINT
ROOT: Final = Path(__file__).parents[1]
RESULTS: Final = ROOT / "build" / "bench"
KEPT: Final = ROOT / "bench" / "results"  # tracked: docs/scale.md quotes it


@dataclass(frozen=True, slots=True)
class Extra:
    """A measurement besides the sync: its key in the results, its function and its report."""

    key: str
    title: str
    measure: Callable[[StubClient, bool], dict[str, Any]]
    lines: Callable[[dict[str, Any]], Iterable[str]]


EXTRAS: Final = (
    Extra(
        "query",
        "queries",
        lambda stub, quick: query.measure(stub, 2 if quick else 150),
        query.lines,
    ),
    Extra(
        "bundle",
        "the cold start of the bundle",
        lambda stub, quick: bundle.measure(stub, 1 if quick else 9),
        bundle.lines,
    ),
    Extra(
        "totals",
        "totals",
        lambda stub, quick: totals.measure(stub, *((40, 1) if quick else ())),
        totals.lines,
    ),
    Extra(
        "bulk",
        "backfill and verification",
        lambda _, quick: bulk.measure(40 if quick else 1500),
        bulk.lines,
    ),
)


def measure(stub: StubClient, results: dict[str, Any], *, quick: bool) -> None:
    """Measure everything, part by part, and store each figure in *results*."""
    progress = Progress()
    report_step = progress.report_step
    with start_workers(stub, CONTENDERS) as workers:
        report_step("counting what each contender sends")
        count(stub, workers, 20 if quick else 1000, results)
        for part in quick_plan() if quick else whole_plan():
            report_step(f"{part.title}, {part.rounds} rounds")
            time_runs(
                stub, workers, part, results, is_late=lambda: progress.seconds > ONE_ROUND_AFTER
            )
    lean = lean_plan(records=20) if quick else lean_plan()
    lean_contenders = {run.contender: run for run in lean.runs}
    with start_workers(stub, lean_contenders, **{ROWS_VARIABLE: LEAN}) as workers:
        report_step(f"{lean.title}, {lean.rounds} rounds")
        stub.set_latency(0)
        for run in () if quick else lean.runs:
            workers[run.contender].run(run.load)  # to warm up
        time_runs(stub, workers, lean, results, is_late=lambda: False)
    report_step("cold starts")
    started = [BASELINE, OURS] if quick else [*CONTENDERS, UNTRACED]
    time_cold_starts(stub, started, 1 if quick else 5, results)
    if not quick:
        report_step("the memory of a batch of 6 MB")
        fast = [name for name in CONTENDERS if name != BASELINE]  # the baseline takes too long
        measure_memory(stub, fast, Load(10_000, batch=10_000), results)
    for extra in EXTRAS:
        report_step(extra.title)
        results[extra.key] = extra.measure(stub, quick)
    results["seconds"] = round(progress.seconds)


def report_lines(results: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of the whole report; the ratios come last."""
    *lines, last = report(results)
    yield from lines
    for extra in EXTRAS:
        if extra.key in results:
            yield from (*extra.lines(results[extra.key]), "")
    yield last


def write(results: dict[str, Any], folder: Path) -> None:
    """Write the results as JSON and as a chart."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "latest.json").write_text(json.dumps(results, indent=1) + "\n")
    (folder / "latest.svg").write_text(bar_chart(results))


def keep(results: dict[str, Any], root: Path) -> None:
    """Replace the tracked results and the summary in docs/scale.md."""
    write(results, root / KEPT.relative_to(ROOT))
    page = root / "docs" / "scale.md"
    page.write_text(with_headline(page.read_text(), results))


def main() -> None:
    """Measure, print, and write the results."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument(
        "--quick", action="store_true", help="only check that everything runs; measures nothing"
    )
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the results")
    parser.add_argument(
        "--keep", action="store_true", help="also replace bench/results and its figures in docs/"
    )
    options = parser.parse_args()
    if options.keep and options.quick:
        parser.error("--quick measures nothing that could be kept")
    if LEAN_ROWS:
        parser.error(f"unset {ROWS_VARIABLE}: a run measures lean rows as well as full ones")
    results: dict[str, Any] = {"machine": machine()}
    interrupted = False
    try:
        with running_stub() as stub:
            measure(stub, results, quick=options.quick)
    except KeyboardInterrupt:
        interrupted = True
        sys.stderr.write("interrupted; the results so far, which are not written to files:\n")
    results["ratios"] = ratios(results)
    results["quick"] = options.quick
    results["goals"] = {
        goal.name: {"figure": goal.figure, "met": goal.met} for goal in goals(results)
    }
    if not interrupted:
        write(results, options.out)
        if options.keep:
            keep(results, ROOT)
            sys.stderr.writelines(f"{line}\n" for line in stale_estimates(results))
    lines = [json.dumps(results, indent=1)] if options.json else report_lines(results)
    sys.stdout.write("\n".join(lines) + "\n")
    if interrupted:
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
