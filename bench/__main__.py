"""`python -m bench`: compare AdminView's sync with other implementations, in one run.

It takes about four minutes. If you stop it, it prints what was measured until then. The figures
that docs/scale.md uses are in the table "AdminView, per 1,000 records".

Results go to build/bench, which git ignores. With --keep they replace the tracked results in
bench/results and the summary in docs/scale.md; `make bench KEEP=1` updates the rest of that page.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final, TypeAlias

from bench import bundle
from bench.asking import measure as asking
from bench.bulk import measure as bulk
from bench.crew import crew
from bench.endpoint import Endpoint, endpoint
from bench.figures import goals, ratios, stale_estimates
from bench.measure import Progress, count, machine, start_cold, time_part, weigh
from bench.picture import picture
from bench.plan import OURS, lean_plan, quick_plan, whole_plan
from bench.report import report, with_headline
from bench.streams import Load
from bench.totals import measure as totals
from bench.ways import WAYS
from bench.ways.rows import IS_LEAN, LEAN, SETTING

ENOUGH: Final = 150  # seconds: what is not timed by then is timed only once, to end in five minutes
STOPPED: Final = 130  # as a shell tells it
ROOT: Final = Path(__file__).parents[1]
RESULTS: Final = ROOT / "build" / "bench"
KEPT: Final = ROOT / "bench" / "results"  # tracked: docs/scale.md quotes it

Measure: TypeAlias = Callable[[Endpoint, bool], dict[str, Any]]
Lines: TypeAlias = Callable[[dict[str, Any]], Iterable[str]]
# What is measured besides the sync: its name, how it is measured (quickly or not), how it is told.
MORE: Final[tuple[tuple[str, Measure, Lines], ...]] = (
    ("asking", lambda there, quick: asking.measure(there, 2 if quick else 150), asking.lines),
    ("the bundle", lambda there, quick: bundle.measure(there, 1 if quick else 9), bundle.lines),
    (
        "totals",
        lambda there, quick: totals.measure(there, *((40, 1) if quick else ())),
        totals.lines,
    ),
    ("whole tables", lambda _, quick: bulk.measure(40 if quick else 1500), bulk.lines),
)


def measure(there: Endpoint, found: dict[str, Any], *, quick: bool) -> None:
    """Measure everything, part by part."""
    progress = Progress()
    report_step = progress.report_step
    with crew(there, WAYS) as workers:
        report_step("counting what each way sends")
        count(there, workers, 20 if quick else 1000, found)
        for part in quick_plan() if quick else whole_plan():
            report_step(f"{part.title}, {part.rounds} rounds")
            time_part(there, workers, part, found, late=lambda: progress.seconds > ENOUGH)
    lean = lean_plan(records=20) if quick else lean_plan()
    with crew(there, {run.way: run for run in lean.runs}, **{SETTING: LEAN}) as workers:
        report_step(f"{lean.title}, {lean.rounds} rounds")
        there.answer_after(0)
        for run in () if quick else lean.runs:
            workers[run.way].run(run.load)  # to warm up
        time_part(there, workers, lean, found, late=lambda: False)
    report_step("cold starts")
    start_cold(there, ["usual", OURS] if quick else [*WAYS, "untraced"], 1 if quick else 5, found)
    if not quick:
        report_step("the memory of a batch of 6 MB")
        quicker = [way for way in WAYS if way != "usual"]  # it would take long
        weigh(there, quicker, Load(10_000, batch=10_000), found)
    for name, one, _ in MORE:
        report_step(name)
        found[name] = one(there, quick)
    found["seconds"] = round(progress.seconds)


def lines_of(found: dict[str, Any]) -> Iterator[str]:
    """Tell everything; the ratios come last."""
    *lines, last = report(found)
    yield from lines
    for name, _, told in MORE:
        if name in found:
            yield from (*told(found[name]), "")
    yield last


def write(found: dict[str, Any], folder: Path) -> None:
    """Write the results as data and as a picture."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "latest.json").write_text(json.dumps(found, indent=1) + "\n")
    (folder / "latest.svg").write_text(picture(found))


def keep(found: dict[str, Any], root: Path) -> None:
    """Replace the tracked results and the summary in docs/scale.md."""
    write(found, root / KEPT.relative_to(ROOT))
    page = root / "docs" / "scale.md"
    page.write_text(with_headline(page.read_text(), found))


def main() -> None:
    """Measure, print, and write the results."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument("--quick", action="store_true", help="try everything, and measure nothing")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the results")
    parser.add_argument(
        "--keep", action="store_true", help="also replace bench/results and its figures in docs/"
    )
    options = parser.parse_args()
    if options.keep and options.quick:
        parser.error("--quick measures nothing that could be kept")
    if IS_LEAN:
        parser.error(
            f"unset {SETTING}: rows that show little are measured anyway, beside the others"
        )
    found: dict[str, Any] = {"machine": machine()}
    stopped = False
    try:
        with endpoint() as there:
            measure(there, found, quick=options.quick)
    except KeyboardInterrupt:
        stopped = True
        sys.stderr.write("stopped; this was measured until then, and is not written:\n")
    found["ratios"] = ratios(found)
    found["quick"] = options.quick
    found["goals"] = {goal.name: {"figure": goal.figure, "met": goal.met} for goal in goals(found)}
    if not stopped:
        write(found, options.out)
        if options.keep:
            keep(found, ROOT)
            sys.stderr.writelines(f"{line}\n" for line in stale_estimates(found))
    told = [json.dumps(found, indent=1)] if options.json else lines_of(found)
    sys.stdout.write("\n".join(told) + "\n")
    if stopped:
        sys.exit(STOPPED)


if __name__ == "__main__":
    main()
