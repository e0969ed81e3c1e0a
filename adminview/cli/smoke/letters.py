"""The dead letters about a scratch item."""

from collections.abc import Callable
from dataclasses import dataclass
from time import time
from typing import Any, Final

from adminview.aws.deadline import Deadline
from adminview.dead_letters.letter_filter import LetterFilter
from adminview.dead_letters.peek import browse
from adminview.dead_letters.replay import Replayer

BROWSE_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class LetterQueue:
    """The dead-letter queue, and the deployed replay function."""

    replayer: Replayer
    replay: Callable[[LetterFilter], dict[str, Any]]

    def errors_of(self, owner: str) -> list[str]:
        """Return the errors of the visible dead letters about an item."""
        with browse(
            self.replayer.consumer,
            self.replayer.resolver,
            letter_filter=LetterFilter(key=owner),
            now=time,
            deadline=Deadline.after(BROWSE_SECONDS),
        ) as peeked:
            return [resolved.letter.latest_error.kind for resolved in peeked.matched]
