"""The counts of a batch."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from adminview.sync.plan import RecordOutcome


@dataclass(frozen=True, slots=True)
class BatchCounts:
    """The outcomes of a batch's records, and the rows that were written.

    records = written + unchanged + no_view + dead_lettered + redelivered
    """

    source: str = ""
    records: int = 0
    written: int = 0
    unchanged: int = 0
    no_view: int = 0
    dead_lettered: int = 0
    redelivered: int = 0  # left in the stream
    rows_put: int = 0
    rows_deleted: int = 0
    letters: int = 0
    in_doubt: int = 0  # calls that ended without a response
    lag_seconds: float | None = None  # between the newest change and its rows

    @classmethod
    def of(
        cls, outcomes: Sequence[RecordOutcome], checkpoint: int, *, records: int, **more: Any
    ) -> "BatchCounts":
        """Count the records before *checkpoint* by their outcome, and the others as redelivered."""
        done = outcomes[:checkpoint]
        return cls(
            records=records,
            written=done.count(RecordOutcome.WRITTEN),
            unchanged=done.count(RecordOutcome.UNCHANGED),
            no_view=done.count(RecordOutcome.NO_VIEW),
            dead_lettered=done.count(RecordOutcome.DEAD_LETTERED),
            redelivered=records - checkpoint,
            **more,
        )

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def counts(self) -> dict[str, int]:
        """Return the counts by metric name."""
        return {
            "".join(word.capitalize() for word in name.split("_")): value
            for name, value in asdict(self).items()
            if isinstance(value, int)
        }
