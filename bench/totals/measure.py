"""Measure the totals function and its alternatives, and say which limits it keeps."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Final, TypeAlias

from bench.measure import machine
from bench.report import NOT_MEASURED, describe_machine, number, table
from bench.stub_client import StubClient
from bench.totals import worker
from bench.totals.contenders import ADD, OURS, TRANSACTION
from bench.totals.counts import FEW, POSITIONS, count
from bench.worker_processes import run_module

MODULE: Final = "bench.totals.worker"
RECORDS: Final = 1000  # of a batch, as Lambda delivers them
MICROSECONDS: Final = 1_000_000

Results: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Limit:
    """A ratio that was measured, and the most that it may be."""

    name: str
    figure: float
    most: float

    @property
    def met(self) -> bool:
        return self.figure <= self.most


def measure(stub: StubClient, records: int = RECORDS, rounds: int = 9) -> Results:
    """Count calls and write units, and time each contender so many rounds."""
    stub.set_latency(0)
    with TemporaryDirectory() as folder:
        file = Path(folder, "seconds.json")
        run_module(stub, [MODULE, str(records), str(rounds), str(file)])
        seconds = json.loads(file.read_text())
    results: Results = {
        "machine": machine(),
        "records": records,
        "counted": count(records),
        "seconds": {name: median(samples) for name, samples in seconds.items()},
    }
    return {**results, "limits": [asdict(limit) for limit in limits(results)]}


def limits(results: Results) -> Iterator[Limit]:
    """Yield each ratio with its limit."""
    records, seconds = results["records"], results["seconds"]
    few = min(FEW, records)
    calls = counted(results, OURS, few, POSITIONS[0])["calls"]
    yield Limit(f"calls for a batch in {few} groups", calls, few)
    for positions in POSITIONS:
        units = counted(results, OURS, few, positions)["units"]
        for other, most in ((ADD, 1 / 20), (TRANSACTION, 1 / 80)):
            share = units / counted(results, other, few)["units"]
            yield Limit(f"{few} groups, {plural(positions)}: units of one {other}", share, most)
        many = counted(results, OURS, records, positions)["units"]
        share = many / counted(results, ADD, records)["units"]
        yield Limit(f"{records:,} groups, {plural(positions)}: units of one {ADD}", share, 1)
    for positions in POSITIONS:
        ours = seconds[worker.few_groups(positions)]
        for rows in worker.SYNC_ROWS:
            sync = f"processor time of the sync, {plural(rows, 'row')}"
            share = ours / seconds[worker.sync_of(rows)]
            yield Limit(f"{few} groups, {plural(positions)}: {sync}", share, 1)
    linear = seconds[worker.ONE_BATCH] / seconds[worker.TEN_BATCHES]
    yield Limit(f"{worker.GROWTH * records:,} records in one batch, times ten batches", linear, 1.1)


def plural(count: int, what: str = "position") -> str:
    return f"{count} {what}{'s' if count > 1 else ''}"


def counted(
    results: Results, contender: str, groups: int, positions: int = 0, *, ranked: bool = False
) -> dict[str, int]:
    """Return what was counted of one run."""
    wanted = {"contender": contender, "groups": groups, "positions": positions, "ranked": ranked}
    (measured,) = (run for run in results["counted"] if wanted.items() <= run.items())
    counts: dict[str, int] = measured
    return counts


def lines(results: Results) -> list[str]:
    """Return the lines of the report."""
    records, seconds = results["records"], results["seconds"]
    head = [f"totals, {records:,} row changes", "calls", "units", "units, ranked", "CPU us/record"]
    rows: list[list[str]] = []
    for groups, name in ((min(FEW, records), worker.few_groups), (records, worker.many_groups)):
        for positions in POSITIONS:
            counts = _counts(results, OURS, groups, positions)
            title = f"{groups:,} groups, {plural(positions)}"
            rows.append([title, *counts, _time(seconds, name(positions))])
        for other in (ADD, TRANSACTION):
            timed = _time(seconds, other) if groups < records else NOT_MEASURED
            rows.append(
                [f"{groups:,} groups, one {other}", *_counts(results, other, groups), timed]
            )
    others = (worker.NO_GROUPS, *map(worker.sync_of, worker.SYNC_ROWS))
    rows += [[name, *(NOT_MEASURED,) * 3, _time(seconds, name)] for name in others]
    ratios = [
        [limit.name, number(limit.figure, 3), number(limit.most, 3), "yes" if limit.met else "NO"]
        for limit in limits(results)
    ]
    return [
        *table(head, rows),
        f"One {ADD} counts a redelivered record twice; one {TRANSACTION} stores a marker for each.",
        "",
        *table(["totals: ratios", "figure", "at most", "met"], ratios),
    ]


def markdown(results: Results) -> str:
    """Return the tables of docs/scale.md."""
    return "\n".join([*_units_table(results), "", *_time_table(results)])


def _units_table(results: Results) -> Iterator[str]:
    records, about = results["records"], results["machine"]
    measured = f"measured on {about['date']} ({describe_machine(about)})"
    yield f"One batch of {records:,} row changes, {measured}:"
    yield ""
    yield "| | groups | calls | write units | the same, ranked | exact after a redelivery |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for groups in (min(FEW, records), records):
        for positions in POSITIONS:
            cells = [f"{groups:,}", *_counts(results, OURS, groups, positions), "yes"]
            yield _row(f"totals function, {plural(positions)} per total", *cells)
        for other, exact in ((ADD, "no"), (TRANSACTION, "yes")):
            yield _row(f"one {other}", f"{groups:,}", *_counts(results, other, groups), exact)


def _time_table(results: Results) -> Iterator[str]:
    seconds = results["seconds"]
    timed = {
        f"totals function, {plural(positions)} per total": worker.few_groups(positions)
        for positions in POSITIONS
    }
    timed["totals function, no total changes"] = worker.NO_GROUPS
    timed |= {
        f"the sync, {plural(rows, 'row')} per item": worker.sync_of(rows)
        for rows in worker.SYNC_ROWS
    }
    timed |= {f"one {other}, boto3": other for other in (ADD, TRANSACTION)}
    yield _row(f"{min(FEW, results['records'])} groups", "processor time per record")
    yield "| --- | --- |"
    for title, name in timed.items():
        yield _row(title, f"{_time(seconds, name)} µs")


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _counts(results: Results, contender: str, groups: int, positions: int = 0) -> list[str]:
    plain = counted(results, contender, groups, positions)
    ranked = counted(results, contender, groups, positions, ranked=True)
    return [number(plain["calls"]), number(plain["units"]), number(ranked["units"])]


def _time(seconds: dict[str, float], name: str) -> str:
    return number(MICROSECONDS * seconds[name], 1)
