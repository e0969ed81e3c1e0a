"""Which dead letters are invisible, and until when, as far as that can be known.

SQS only counts invisible messages. This process knows the ones that its own replays sent again.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final

from adminview.http_api.operations.moments import moment

MOST_REMEMBERED: Final = 1000
NOTE: Final = (
    "SQS counts invisible dead letters but does not list them; listed are those that this console "
    "has replayed"
)


@dataclass(frozen=True, slots=True)
class HiddenLetter:
    """A dead letter that a replay sent again."""

    item: str
    source: str | None
    error: str
    until: float


@dataclass(slots=True)
class HiddenLetters:
    """The dead letters that this process has sent again and that are still invisible."""

    hidden_seconds: Callable[[], float]  # how long a message that is received now is invisible
    _known: dict[str, HiddenLetter] = field(default_factory=dict)  # by item
    _lock: Lock = field(default_factory=Lock)

    def add(self, letter: HiddenLetter) -> None:
        with self._lock:
            self._known[letter.item] = letter
            while len(self._known) > MOST_REMEMBERED:
                del self._known[next(iter(self._known))]

    def describe(self, count: int, now: float) -> dict[str, Any]:
        """Return how many are invisible, when all are visible again, and the known ones.

        That time is the latest possible one if none is received meanwhile.
        """
        with self._lock:
            self._known = {
                item: letter for item, letter in self._known.items() if letter.until > now
            }
            known = sorted(self._known.values(), key=lambda letter: letter.until)
        latest = max([now + self.hidden_seconds(), *(letter.until for letter in known)])
        return {
            "count": count,
            "latest": moment(latest) if count else None,
            "note": NOTE,
            "known": [
                {
                    "item": letter.item,
                    "source": letter.source,
                    "error": letter.error,
                    "until": moment(letter.until),
                }
                for letter in known
            ],
        }
