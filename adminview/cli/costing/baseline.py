"""Two ways to keep a view in step: ours, and the one that is usual."""

from dataclasses import dataclass
from typing import Final

from adminview.aws.transport.http_client import MAX_CONCURRENCY
from adminview.aws.view_table import BATCH_LIMIT
from adminview.cli.costing.measured import FIGURES, USUAL_FIGURES, Figures

METRICS: Final = 13  # that the sync and the verification tell of a source; a test counts them


@dataclass(frozen=True, slots=True)
class Baseline:
    """How rows are written; both ways get the same batches, in functions of the same memory."""

    figures: Figures
    skips: bool  # what no row shows, and what a later change of the same batch overrules
    rows_per_call: int
    calls_at_once: int
    owner_index: bool  # by which rows that an item has left are found and repaired
    metrics: int  # of its own, for each source


OURS: Final = Baseline(
    FIGURES,
    skips=True,
    rows_per_call=BATCH_LIMIT,
    calls_at_once=MAX_CONCURRENCY,
    owner_index=True,
    metrics=METRICS,
)
# A batch processor that goes record by record, and puts one row after another.
USUAL: Final = Baseline(
    USUAL_FIGURES, skips=False, rows_per_call=1, calls_at_once=1, owner_index=False, metrics=0
)
