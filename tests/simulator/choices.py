"""All random choices of a history, as a list of numbers that can be stored, repeated and shrunk."""

from collections.abc import Sequence
from random import Random
from typing import TypeVar

Option = TypeVar("Option")


class Choices:
    """Numbers from a seed or from a list. 0 is the most harmless choice, and the default."""

    def __init__(self, seed: int | None = None, recorded: Sequence[int] = ()) -> None:
        self._random = None if seed is None else Random(seed)  # noqa: S311 - no secret
        self._recorded = recorded
        self.drawn: list[int] = []

    def below(self, end: int) -> int:
        """Choose a number from 0 up to, and not including, *end*."""
        if end <= 1:
            return 0
        if self._random:
            number = int(self._random.random() * end)
        else:
            place = len(self.drawn)
            number = min(self._recorded[place], end - 1) if place < len(self._recorded) else 0
        self.drawn.append(number)
        return number

    def happens(self, percent: int) -> bool:
        """Return whether an event with this probability happens."""
        return percent > 0 and self.below(100) >= 100 - percent

    def pick(self, options: Sequence[Option]) -> Option:
        """Choose an option; the first is the most harmless."""
        return options[self.below(len(options))]
