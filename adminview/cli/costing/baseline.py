"""The two ways to sync a view that are compared: AdminView and the baseline."""

from dataclasses import dataclass
from typing import Final

from adminview.aws.transport.http_client import MAX_CONCURRENCY
from adminview.aws.view_table import BATCH_LIMIT

METRICS: Final = 13  # per source, from the sync and the verification; a test counts them


@dataclass(frozen=True, slots=True)
class Figures:
    """Measured seconds of one core, and of waiting; docs/scale.md says how and when."""

    per_record: float = 0.0000109  # decode it and compute the diff
    per_row: float = 0.00001437  # derive it, send it and read the response
    per_call: float = 0.008  # latency of DynamoDB and the network


FIGURES: Final = Figures()
# Powertools' batch processor and data classes, and `Table.put_item` for each row: 3.3 s of a core
# for 1,000 records with three rows each, in the same run. The split between the two is rough.
BASELINE_FIGURES: Final = Figures(per_record=0.0002, per_row=0.001)


@dataclass(frozen=True, slots=True)
class SyncMethod:
    """How rows are written. Both methods get the same batches, in functions of the same memory."""

    figures: Figures
    skips: bool  # changes that no row shows, and those that a later one in the batch replaces
    rows_per_call: int
    calls_at_once: int
    owner_index: bool  # finds the rows of an item, for repairs
    metrics: int  # custom ones, per source
    totals: bool = False  # whether it keeps totals


ADMINVIEW: Final = SyncMethod(
    FIGURES,
    skips=True,
    rows_per_call=BATCH_LIMIT,
    calls_at_once=MAX_CONCURRENCY,
    owner_index=True,
    metrics=METRICS,
    totals=True,
)
# The totals function: a record takes no more than in the sync, and an update is a call of its own.
TOTALS_METHOD: Final = SyncMethod(
    FIGURES,
    skips=True,
    rows_per_call=1,
    calls_at_once=MAX_CONCURRENCY,
    owner_index=False,
    metrics=0,
)
# Powertools batch + put_item: one record at a time, one row at a time.
BASELINE: Final = SyncMethod(
    BASELINE_FIGURES, skips=False, rows_per_call=1, calls_at_once=1, owner_index=False, metrics=0
)
