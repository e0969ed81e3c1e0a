"""Compare what AdminView and the baseline use for the same workload."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from adminview.cli.costing.baseline import ADMINVIEW, BASELINE
from adminview.cli.costing.load import SourceLoad
from adminview.cli.costing.observed import Observed, SourceCounts
from adminview.cli.costing.usage import TABLE, Usage
from adminview.cli.costing.work import LOG_BYTES, Work, busy_functions
from adminview.model import Registry
from adminview.model.errors import SettingsError
from adminview.model.row import OWNER_INDEX
from adminview.totals.units import TOTALS_TABLE

ALL: Final = "all sources"
AT_LEAST: Final = (
    "the baseline is assumed to write as many rows for each record as AdminView wrote for a record "
    "that changed a row, which is a lower bound"
)


@dataclass(frozen=True, slots=True)
class CostComparison:
    """What AdminView and the baseline use for the same changes."""

    name: str
    changes: float  # a second
    ours: Usage
    baseline: Usage
    load: Mapping[str, Any]  # described or measured
    notes: tuple[str, ...]  # the assumptions


def compare_load(load: SourceLoad, registry: Registry) -> CostComparison:
    """Estimate both from a description of the workload."""
    ours, baseline = (Work.of(load, registry, method).usage for method in (ADMINVIEW, BASELINE))
    return CostComparison(load.source, load.changes, ours, baseline, load.data(), load.assumed)


def compare_observed(observed: Observed) -> CostComparison:
    """Take AdminView's usage as measured, and estimate the baseline's for the same records.

    Raises SettingsError if no record was counted.
    """
    counts = [source for source in observed.sources.values() if source]
    records = sum(source.records for source in counts) / observed.seconds
    if not records:
        msg = (
            f"no records were counted in the last {observed.seconds / 3600:.0f} hours: read more "
            "with --hours, or describe the load with --load"
        )
        raise SettingsError(msg)
    rows = sum(source.rows for source in counts) / observed.seconds
    unskipped = sum(map(_unskipped, counts)) / observed.seconds
    ours = _measured(observed, records, rows)
    without_totals = _measured(replace(observed, totals=None), records, rows)
    busy = busy_functions(records, unskipped, BASELINE, observed.memory_mb)
    baseline = Usage(
        {
            name: units * unskipped / rows if name == TABLE and rows else units
            for name, units in without_totals.units.items()
            if name != OWNER_INDEX.name
        },
        busy * observed.memory_mb / 1024,
        without_totals.invocations,
        without_totals.log_bytes,
        without_totals.stored_bytes - observed.index_bytes.get(OWNER_INDEX.name, 0.0),
        without_totals.recoverable_bytes,
        BASELINE.metrics,
    )
    load = {
        name: _facts(source, observed.seconds)
        for name, source in observed.sources.items()
        if source
    }
    return CostComparison(ALL, records, ours, baseline, load, (*_notes(observed), AT_LEAST))


def _unskipped(source: SourceCounts) -> float:
    """Estimate the rows written if unchanged records were not skipped."""
    if not source.written:
        return source.rows
    return source.rows * (1 + source.unchanged / source.written)


def _measured(observed: Observed, records: float, rows: float) -> Usage:
    """Return the measured usage per second; what has no metric is estimated (see `_notes`)."""
    invocations, busy, logs = (
        None if total is None else total / observed.seconds
        for total in (observed.invocations, observed.function_seconds, observed.log_bytes)
    )
    if invocations is None:
        invocations = min(records, float(len(observed.sources)))
    if busy is None:
        busy = busy_functions(records, rows, ADMINVIEW, observed.memory_mb)
    units = {name: (total or 0.0) / observed.seconds for name, total in observed.units.items()}
    if observed.units[TABLE] is None:
        units[TABLE] = rows
    memory_seconds = busy * observed.memory_mb / 1024
    if logs is None:
        logs = invocations * LOG_BYTES
    stored = observed.table_bytes + sum(observed.index_bytes.values())
    if totals := observed.totals:
        units[TOTALS_TABLE] = totals.units / observed.seconds
        memory_seconds += totals.function_seconds / observed.seconds * totals.memory_mb / 1024
        invocations += totals.invocations / observed.seconds
        logs += totals.invocations / observed.seconds * LOG_BYTES
        stored += totals.table_bytes
    return Usage(
        units,
        memory_seconds,
        invocations,
        logs,
        stored,
        observed.table_bytes if observed.recoverable else 0.0,
        ADMINVIEW.metrics * len(observed.sources),
    )


def _notes(observed: Observed) -> Iterator[str]:
    """Yield which metrics are missing, and what is assumed instead."""
    if missing := [name for name, source in observed.sources.items() if source is None]:
        yield f"no metrics of {', '.join(missing)}: assumed no records"
    if observed.units[TABLE] is None:
        yield "no ConsumedWriteCapacityUnits of the table: assumed 1 per row"
    if observed.function_seconds is None:
        yield "no Duration of the sync function: estimated from the benchmark"
    if observed.invocations is None:
        yield "no Invocations of the sync function: assumed 1 per second and source"
    if observed.log_bytes is None:
        yield "no IncomingBytes of the sync function's log: assumed 2 KB per invocation"
    if not observed.recoverable:
        yield "point-in-time recovery is off"


def _facts(source: SourceCounts, seconds: float) -> dict[str, float]:
    processed = source.written + source.unchanged
    return {
        "changesPerSecond": source.records / seconds,
        "unchanged": source.unchanged / processed if processed else 0.0,
        "rowsPerWritten": source.rows / source.written if source.written else 0.0,
    }
