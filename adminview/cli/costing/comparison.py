"""One load, and what it takes in our way and in the usual one."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from adminview.cli.costing.baseline import OURS, USUAL
from adminview.cli.costing.load import SourceLoad
from adminview.cli.costing.observed import Counted, Observed
from adminview.cli.costing.usage import TABLE, Usage
from adminview.cli.costing.work import LOG_BYTES, Work, functions_at_work
from adminview.model import Registry
from adminview.model.errors import SettingsError
from adminview.model.row import OWNER_INDEX

ALL: Final = "all sources"
AT_LEAST: Final = (
    "the usual way is taken to write as many rows for each record as ours did for one that showed, "
    "which is the least it could do"
)


@dataclass(frozen=True, slots=True)
class Compared:
    """What two ways use for the same changes."""

    name: str
    changes: float  # a second
    ours: Usage
    usual: Usage
    load: Mapping[str, Any]  # as it was told, or counted
    notes: tuple[str, ...]  # what was assumed


def compare_load(load: SourceLoad, registry: Registry) -> Compared:
    """Reckon what a load takes."""
    ours, usual = (Work.of(load, registry, way).usage for way in (OURS, USUAL))
    return Compared(load.source, load.changes, ours, usual, load.data(), load.assumed)


def compare_observed(found: Observed) -> Compared:
    """Take ours as it was counted, and reckon what the usual way would have taken for it."""
    counted = [one for one in found.sources.values() if one]
    records = sum(one.records for one in counted) / found.seconds
    if not records:
        msg = (
            f"no record of any source was counted in {found.seconds / 3600:.0f} hours: look at "
            "more with --hours, or describe the load with --load"
        )
        raise SettingsError(msg)
    rows = sum(one.rows for one in counted) / found.seconds
    unskipped = sum(map(_unskipped, counted)) / found.seconds
    ours = _ours(found, records, rows)
    busy = functions_at_work(records, unskipped, USUAL, found.memory_mb)
    usual = Usage(
        {
            name: units * unskipped / rows if name == TABLE and rows else units
            for name, units in ours.units.items()
            if name != OWNER_INDEX.name
        },
        busy * found.memory_mb / 1024,
        ours.invocations,
        ours.log_bytes,
        ours.stored_bytes - found.index_bytes.get(OWNER_INDEX.name, 0.0),
        ours.recoverable_bytes,
        USUAL.metrics,
    )
    load = {name: _facts(one, found.seconds) for name, one in found.sources.items() if one}
    return Compared(ALL, records, ours, usual, load, (*_notes(found), AT_LEAST))


def _unskipped(one: Counted) -> float:
    """Count the rows that would have been written for all records, also for those unchanged."""
    return one.rows * (1 + one.unchanged / one.written) if one.written else one.rows


def _ours(found: Observed, records: float, rows: float) -> Usage:
    """Take what was counted, a second; what was not is reckoned, and `_notes` says so."""
    invocations, busy, logs = (
        None if one is None else one / found.seconds
        for one in (found.invocations, found.function_seconds, found.log_bytes)
    )
    if invocations is None:
        invocations = min(records, float(len(found.sources)))
    if busy is None:
        busy = functions_at_work(records, rows, OURS, found.memory_mb)
    units = {name: (counted or 0.0) / found.seconds for name, counted in found.units.items()}
    if found.units[TABLE] is None:
        units[TABLE] = rows
    return Usage(
        units,
        busy * found.memory_mb / 1024,
        invocations,
        invocations * LOG_BYTES if logs is None else logs,
        found.table_bytes + sum(found.index_bytes.values()),
        found.table_bytes if found.recoverable else 0.0,
        OURS.metrics * len(found.sources),
    )


def _notes(found: Observed) -> Iterator[str]:
    """Say which metrics were not there, and what was taken instead."""
    if silent := [name for name, one in found.sources.items() if one is None]:
        yield f"no metrics of {', '.join(silent)}: taken for no records"
    if found.units[TABLE] is None:
        yield "no ConsumedWriteCapacityUnits of the table: taken for one of each row"
    if found.function_seconds is None:
        yield "no Duration of the sync function: reckoned from what was measured elsewhere"
    if found.invocations is None:
        yield "no Invocations of the sync function: taken for one a second and source"
    if found.log_bytes is None:
        yield "no IncomingBytes of the sync function's log: taken for 2 KB an invocation"
    if not found.recoverable:
        yield "recovery to any second is off"


def _facts(one: Counted, seconds: float) -> dict[str, float]:
    """Say what was counted as a load is told."""
    seen = one.written + one.unchanged
    return {
        "changesPerSecond": one.records / seconds,
        "unchanged": one.unchanged / seen if seen else 0.0,
        "rowsPerWritten": one.rows / one.written if one.written else 0.0,
    }
