"""Shorten the list of choices of a failing history, and make the choices more harmless."""

from collections.abc import Callable

Failing = Callable[[list[int]], list[int] | None]  # returns the choices that were made, if it fails


def shrink(choices: list[int], failing: Failing, *, runs: int = 600) -> list[int]:
    """Find fewer and smaller choices that also fail, in at most so many *runs*."""
    search = _Search(trimmed(choices), failing, runs)
    while search.pass_over():
        pass
    return search.best


def trimmed(choices: list[int]) -> list[int]:
    """Leave out the zeros at the end: missing choices are 0 anyway."""
    end = len(choices)
    while end and not choices[end - 1]:
        end -= 1
    return choices[:end]


class _Search:
    """The best list so far, and how many attempts are left to improve it."""

    def __init__(self, best: list[int], failing: Failing, runs: int) -> None:
        self.best = best
        self._failing = failing
        self._runs = runs

    def pass_over(self) -> bool:
        """Remove, zero, then lower choices; return whether another pass may find more."""
        before = self.best
        length = len(before)
        while length:
            for start in range(len(self.best) - length, -1, -length):
                end = start + length
                self._try(self.best[:start] + self.best[end:])
                self._try(self.best[:start] + [0] * length + self.best[end:])
            length //= 2
        for place in range(len(self.best)):
            for halve in (True, False):
                number = self.best[place] if place < len(self.best) else 0
                lower = number // 2 if halve else number - 1
                if number:
                    self._try([*self.best[:place], lower, *self.best[place + 1 :]])
        return self.best is not before and self._runs > 0

    def _try(self, candidate: list[int]) -> None:
        """Replace the best list if the candidate also fails and is better."""
        if self._runs <= 0 or _size(candidate) >= _size(self.best):
            return
        self._runs -= 1
        choices = self._failing(candidate)
        if choices is not None:
            self.best = min(trimmed(candidate), trimmed(choices), key=_size)


def _size(choices: list[int]) -> tuple[int, int, int]:
    return sum(map(bool, choices)), len(choices), sum(choices)
