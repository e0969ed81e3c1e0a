"""The outcome of each dead letter of a replay, and their summary."""

from collections import Counter
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

MOST_REASONS = 50  # in a summary


class LetterOutcome(StrEnum):
    """The outcome of a dead letter."""

    RECONCILED = "reconciled"  # the rows were wrong and are repaired: deleted
    UNCHANGED = "unchanged"  # the rows were already correct: deleted
    FAILING = "still_failing"  # replaced, with the latest error
    EXPIRED = "expired"  # the stream no longer has its records: replaced, with that error
    UNKNOWN = "not_understood"  # left in the queue
    LEFT = "left_for_later"  # out of time, or AWS refused: left in the queue


# In these cases the queue still has a dead letter.
KEPT = (LetterOutcome.FAILING, LetterOutcome.EXPIRED, LetterOutcome.UNKNOWN, LetterOutcome.LEFT)


@dataclass(slots=True)
class Summary:
    """The result of a replay."""

    outcomes: Counter[LetterOutcome] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)  # why dead letters remain
    items: int = 0
    rows_put: int = 0
    rows_deleted: int = 0
    oldest_seconds: float = 0.0  # since the oldest change whose dead letter remains
    complete: bool = True  # False: out of time, there may be more

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {
            "outcomes": {outcome.value: self.outcomes[outcome] for outcome in LetterOutcome},
            "reasons": dict(self.reasons.most_common(MOST_REASONS)),
        }
