"""One line that says what a silent command is doing, and for how long."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, RLock, Thread
from time import monotonic
from typing import Final, TextIO

SILENCE: Final = 1.0  # seconds without output after which the line appears
EVERY: Final = 0.25  # seconds between two looks at the clock
WORKING: Final = "working"
NARROWEST: Final = 20  # columns of a terminal; a narrower one gets no line


@dataclass(slots=True)
class Activity:
    """The line of one command. It appears only at a terminal, after a second without output.

    Every output is printed within `paused`, which erases the line first. It uses no escape
    sequences, so any terminal can display it.
    """

    clock: Callable[[], float] = monotonic
    _terminal: TextIO | None = None
    _width: Callable[[], int] = field(default=lambda: 80)
    _text: str = WORKING
    _since: float = 0.0  # of the last output, or of another text
    _shown: int = 0  # characters of the line that is displayed
    _lock: RLock = field(default_factory=RLock)

    @contextmanager
    def running(self, terminal: TextIO | None, width: Callable[[], int]) -> Iterator[None]:
        """Display the line on *terminal* while a command runs; None for no terminal."""
        if terminal is None:
            yield
            return
        self._terminal, self._width = terminal, width
        self.doing(WORKING)
        ended = Event()
        thread = Thread(target=self._run, args=(ended,), daemon=True, name="activity")
        thread.start()
        try:
            yield
        finally:
            ended.set()
            self.end()
            thread.join()

    def doing(self, text: str) -> None:
        """Say what the command is doing from now on; "" for nothing, while it waits."""
        with self._lock:
            self._write("")
            self._text, self._since = text, self.clock()

    def counting(self, text: str) -> None:
        """Say how far it is, without printing. The clock starts only if nothing was in progress."""
        with self._lock:
            if not self._text:
                self._since = self.clock()
            self._text = text

    def end(self) -> None:
        """Display nothing more: the command ends, or waits for somebody."""
        with self.paused():
            self._terminal = None

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Erase the line, and let only this thread print meanwhile."""
        with self._lock:
            self._write("")
            try:
                yield
            finally:
                self._since = self.clock()

    def tick(self) -> None:
        """Display the line if there was no output for a while."""
        with self._lock:
            seconds = self.clock() - self._since
            if self._text and seconds >= SILENCE and (width := self._width()) >= NARROWEST:
                clock = f" {int(seconds)} s"
                self._write(f"{self._text[: width - len(clock) - 2]}…{clock}")

    def _run(self, ended: Event) -> None:
        while not ended.wait(EVERY):
            self.tick()

    def _write(self, line: str) -> None:
        """Replace the line that is displayed."""
        if self._terminal is not None and (line or self._shown):
            blank = " " * max(0, self._shown - len(line))
            back = "\r" if not line or blank else ""
            self._terminal.write(f"\r{line}{blank}{back}")
            self._terminal.flush()
        self._shown = len(line)
