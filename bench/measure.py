"""Measure according to the plan. An interrupted run keeps the results that it has."""

import json
import os
import platform
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import partial
from statistics import median
from time import monotonic
from typing import Any, Final

from bench.contenders import pseudo_code
from bench.contenders.rows import derive_raw_rows
from bench.plan import STREAMS, SUMMARY, Part, Run
from bench.streams import Load, largest_batch
from bench.stub_client import StubClient
from bench.units import replay, table_before
from bench.worker_processes import Timing, WorkerProcess, run_cold_start

# The contenders that write provenance attributes.
WITH_PROVENANCE: Final = {"adminview_boto3", "adminview", "floor"}
OWN_ROWS: Final = {"pseudo_code": pseudo_code.derive_rows}
OWNER_INDEX: Final = "Owner"


@dataclass(slots=True)
class Progress:
    """Reports progress on standard error."""

    started: float = field(default_factory=monotonic)
    write: Callable[[str], Any] = sys.stderr.write

    @property
    def seconds(self) -> float:
        return monotonic() - self.started

    def report_step(self, title: str) -> None:
        """Print the title of the step that starts, and the seconds so far."""
        self.write(f"[{self.seconds:4.0f} s] {title}\n")


def machine() -> dict[str, Any]:
    """Return the date and the machine of the measurement."""
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def count(
    stub: StubClient, workers: Mapping[str, WorkerProcess], records: int, results: dict[str, Any]
) -> None:
    """Count what each contender sends, per 1,000 records. This also warms them up."""
    stub.set_latency(0)
    for stream, load in STREAMS.items():
        counted = results.setdefault("counted", {}).setdefault(stream, {})
        counted_load = Load(**{**asdict(load), "records": records})
        for contender, worker in workers.items():
            stub.take_counts()
            stub.record_bodies()
            worker.run(counted_load)
            bodies, sent = stub.take_bodies(), stub.take_counts()
            before = table_before(
                counted_load,
                with_provenance=contender in WITH_PROVENANCE,
                derive_rows=OWN_ROWS.get(contender, derive_raw_rows),
            )
            units = replay(bodies, before)
            without_owner = units.total - units.indexes.get(OWNER_INDEX, 0)
            totals = {**sent, "units": units.total, "units without owner": without_owner}
            counted[contender] = {name: total * 1000 / records for name, total in totals.items()}
        counted[SUMMARY] = {"units": _summary_units(counted_load) * 1000 / records}


def _summary_units(load: Load) -> int:
    """Return the write units that the pseudo-code would need if its rows were summaries."""
    derive_rows = partial(pseudo_code.derive_rows, summary=True)
    records = [record for event in load.batches() for record in event["Records"]]
    requests = [
        request
        for record in records
        for request in pseudo_code.process_record(record, summary=True)
    ]
    before = table_before(load, with_provenance=False, derive_rows=derive_rows)
    return replay([{"RequestItems": {"": requests}}], before).total


def time_runs(
    stub: StubClient,
    workers: Mapping[str, WorkerProcess],
    part: Part,
    results: dict[str, Any],
    *,
    is_late: Callable[[], bool],
) -> None:
    """Alternate the runs of one part, for fewer rounds if time runs out."""
    started = monotonic()
    samples: dict[Run, list[Timing]] = {run: [] for run in part.runs}
    try:
        for round_number in range(part.rounds):
            if round_number and (is_late() or monotonic() - started > part.seconds):
                break
            for run in part.runs:
                stub.set_latency(run.latency)
                stub.take_counts()
                timing = workers[run.contender].run(run.load)
                sample = {**timing, "calls": stub.take_counts()["calls"]}
                per_thousand = 1000 / run.load.records
                samples[run].append({name: value * per_thousand for name, value in sample.items()})
    finally:
        timed = results.setdefault("timed", [])
        timed += [summary(part, run, timings) for run, timings in samples.items() if timings]


def summary(part: Part, run: Run, timings: list[Timing]) -> dict[str, Any]:
    """Return the description of one run and the spread of its timings per 1,000 records."""
    return {
        "part": part.title,
        "contender": run.contender,
        "stream": run.stream,
        "latency": run.latency,
        "rounds": len(timings),
        **{name: getattr(run.load, name) for name in ("records", "fan_out", "batch")},
        **spreads(timings),
    }


def spreads(timings: list[Timing]) -> dict[str, dict[str, float]]:
    """Return the spread of each figure."""
    return {name: spread([timing[name] for timing in timings]) for name in timings[0]}


def spread(values: list[float]) -> dict[str, float]:
    """Return the median, the minimum and the maximum."""
    return {"median": median(values), "min": min(values), "max": max(values)}


def time_cold_starts(
    stub: StubClient, contenders: Iterable[str], rounds: int, results: dict[str, Any]
) -> None:
    """Time the first event of new processes."""
    stub.set_latency(0)
    event = json.dumps(next(Load(1).batches()))
    samples: dict[str, list[Timing]] = {}
    for _ in range(rounds):
        for contender in contenders:
            samples.setdefault(contender, []).append(run_cold_start(stub, contender, event))
    results["cold_start"] = {contender: spreads(timings) for contender, timings in samples.items()}


def measure_memory(
    stub: StubClient, contenders: Iterable[str], load: Load, results: dict[str, Any]
) -> None:
    """Measure the peak memory of each contender for the largest batch."""
    stub.set_latency(0)
    event = largest_batch(load)
    memory = results.setdefault("memory", {})
    for contender in contenders:
        memory[contender] = run_cold_start(stub, contender, event)["megabytes"]
