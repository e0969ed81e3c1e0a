"""Run histories for a given time, on all cores: ``python -m tests.simulator.soak --help``."""

import os
import secrets
import signal
import sys
from argparse import ArgumentParser
from collections import Counter
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from time import monotonic

from tests.simulator.faults import Fault
from tests.simulator.history import explain, play

BLOCK = 100  # histories between two checks of the clock
PROGRESS_SECONDS = 10.0


@dataclass(slots=True)
class Sum:
    """The counts of all histories, and the first that failed."""

    histories: int = 0
    calls: int = 0
    faults: Counter[Fault] = field(default_factory=Counter)
    failure: str | None = None

    def add(self, other: "Sum") -> None:
        """Add the counts of another sum."""
        self.histories += other.histories
        self.calls += other.calls
        self.faults += other.faults
        self.failure = self.failure or other.failure

    def __str__(self) -> str:
        """Return the counts in one line."""
        return (
            f"{self.histories:,} histories, {self.calls:,} calls, "
            f"{self.faults.total():,} faults survived"
        )


def play_block(first: int) -> Sum:
    """Run the histories of some seeds, up to the first that breaks a law."""
    block = Sum()
    for seed in range(first, first + BLOCK):
        result = play(seed)
        if result.failure:
            block.failure = explain(seed, result)
            break
        block.histories += 1
        block.calls += result.calls
        block.faults += result.faults
    return block


def soak(seconds: float, seed: int, total: Sum) -> None:
    """Run until the time is over or a law is broken; add to *total*."""
    start = monotonic()
    reported_at = start
    with ProcessPoolExecutor(initializer=_leave_interrupts_to_the_parent) as pool:
        running: set[Future[Sum]] = set()
        while running or monotonic() < start + seconds:
            while (
                monotonic() < start + seconds
                and not total.failure
                and len(running) < 2 * (os.cpu_count() or 1)
            ):
                running.add(pool.submit(play_block, seed))
                seed += BLOCK
            if not running:
                return
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for block in done:
                total.add(block.result())
            if monotonic() > reported_at + PROGRESS_SECONDS:
                reported_at = monotonic()
                _send(f"{reported_at - start:6.0f} s  {total}")


def main(arguments: list[str] | None = None) -> int:
    """Run the soak test; return 1 if a law was broken, else 0."""
    parser = ArgumentParser(prog="soak", description="Run random histories and check the laws.")
    parser.add_argument("--minutes", type=float, default=5, help="duration (default: 5)")
    parser.add_argument("--seed", type=int, help="first seed (default: random)")
    options = parser.parse_args(arguments)
    seed = secrets.randbelow(10**9) if options.seed is None else options.seed
    _send(f"from seed {seed} on, for {options.minutes:g} minutes")
    total = Sum()
    try:
        soak(options.minutes * 60, seed, total)
    except KeyboardInterrupt:
        _send("interrupted")
    for kind, count in total.faults.most_common():
        _send(f"{count:10,}  {kind}")
    _send(str(total))
    if total.failure:
        _send(total.failure)
    return int(total.failure is not None)


def _leave_interrupts_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _send(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
