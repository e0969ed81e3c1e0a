"""Measure by the plan. Results are stored at once, so that an interrupted run keeps them."""

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

from bench.crew import Took, Worker, run_fresh
from bench.endpoint import Endpoint
from bench.plan import STREAMS, SUMMARY, Part, Run
from bench.streams import Load, largest_batch
from bench.units import replay, table_before
from bench.ways import pseudo_code
from bench.ways.rows import wire_rows_of

STAMPED: Final = {"plain", "adminview", "floor"}  # the ways whose rows say where they come from
OTHER_ROWS: Final = {"pseudo_code": pseudo_code.rows_of}
OWNER: Final = "Owner"


@dataclass(slots=True)
class Progress:
    """Reports progress on standard error."""

    began: float = field(default_factory=monotonic)
    write: Callable[[str], Any] = sys.stderr.write

    @property
    def seconds(self) -> float:
        return monotonic() - self.began

    def report_step(self, what: str) -> None:
        """Say what begins."""
        self.write(f"[{self.seconds:4.0f} s] {what}\n")


def machine() -> dict[str, Any]:
    """Return the date and the machine of the measurement."""
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def count(
    there: Endpoint, workers: Mapping[str, Worker], records: int, found: dict[str, Any]
) -> None:
    """Count what each implementation sends, per 1,000 records. This also warms them up."""
    there.answer_after(0)
    for stream, load in STREAMS.items():
        counted = found.setdefault("counted", {}).setdefault(stream, {})
        wanted = Load(**{**asdict(load), "records": records})
        for way, worker in workers.items():
            there.take()
            there.keep()
            worker.run(wanted)
            bodies, sent = there.bodies(), there.take()
            rows_of = OTHER_ROWS.get(way, wire_rows_of)
            before = table_before(wanted, stamped=way in STAMPED, rows_of=rows_of)
            units = replay(bodies, before)
            of_owner = units.indexes.get(OWNER, 0)
            raw = {**sent, "units": units.total, "units without owner": units.total - of_owner}
            counted[way] = {name: value * 1000 / records for name, value in raw.items()}
        counted[SUMMARY] = {"units": _summary_units(wanted) * 1000 / records}


def _summary_units(load: Load) -> int:
    """Return the write units of the pseudo-code's rows if they were summaries."""
    rows_of = partial(pseudo_code.rows_of, summary=True)
    records = [record for event in load.batches() for record in event["Records"]]
    requests = [
        request
        for record in records
        for request in pseudo_code.process_record(record, summary=True)
    ]
    before = table_before(load, stamped=False, rows_of=rows_of)
    return replay([{"RequestItems": {"": requests}}], before).total


def time_part(
    there: Endpoint,
    workers: Mapping[str, Worker],
    part: Part,
    found: dict[str, Any],
    *,
    late: Callable[[], bool],
) -> None:
    """Let the runs of one part take turns, for fewer rounds if time runs out."""
    began = monotonic()
    samples: dict[Run, list[Took]] = {run: [] for run in part.runs}
    try:
        for turn in range(part.rounds):
            if turn and (late() or monotonic() - began > part.seconds):
                break
            for run in part.runs:
                there.answer_after(run.latency)
                there.take()
                took = {**workers[run.way].run(run.load), "calls": there.take()["calls"]}
                per_thousand = 1000 / run.load.records
                samples[run].append({name: one * per_thousand for name, one in took.items()})
    finally:
        timed = found.setdefault("timed", [])
        timed += [summary(part, run, took) for run, took in samples.items() if took]


def summary(part: Part, run: Run, took: list[Took]) -> dict[str, Any]:
    """Describe one run, and what it took per 1,000 records."""
    what = {"part": part.title, "way": run.way, "stream": run.stream, "latency": run.latency}
    load = {name: getattr(run.load, name) for name in ("records", "fan_out", "batch")}
    what |= {"rounds": len(took), **load}
    return {**what, **{name: spread([one[name] for one in took]) for name in took[0]}}


def spread(values: list[float]) -> dict[str, float]:
    """Return the median, the least and the most."""
    return {"median": median(values), "least": min(values), "most": max(values)}


def start_cold(there: Endpoint, ways: Iterable[str], rounds: int, found: dict[str, Any]) -> None:
    """Time the first event of new processes."""
    there.answer_after(0)
    event = json.dumps(next(Load(1).batches()))
    samples: dict[str, list[Took]] = {}
    for _ in range(rounds):
        for way in ways:
            samples.setdefault(way, []).append(run_fresh(there, way, event))
    found["cold"] = {
        way: {name: spread([one[name] for one in took]) for name in took[0]}
        for way, took in samples.items()
    }


def weigh(there: Endpoint, ways: Iterable[str], load: Load, found: dict[str, Any]) -> None:
    """Measure the memory that the largest batch takes."""
    there.answer_after(0)
    event = largest_batch(load)
    weighed = found.setdefault("memory", {})
    for way in ways:
        weighed[way] = run_fresh(there, way, event)["megabytes"]
