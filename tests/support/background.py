"""A command that runs in the background, and what it has printed so far."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread

ROOT = Path(__file__).parents[2]
SECONDS = 60  # to wait for a line, at most


class Background:
    """`adminview` with some arguments, as a process of its own."""

    def __init__(self, *words: str, environment: dict[str, str], folder: Path = ROOT) -> None:
        self.lines: list[str] = []
        ours = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup, it would ignore hangups
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-u", "-m", "adminview.cli.main", *words],
                env=environment | {"PYTHONPATH": str(ROOT)},
                cwd=folder,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        finally:
            signal.signal(signal.SIGHUP, ours)
        self.reader = Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stdout
        with self.process.stdout as output:
            for line in output:
                self.lines.append(line)  # at once: others wait for it

    @property
    def output(self) -> str:
        return "".join(self.lines)

    def wait_for(self, text: str, after: int = 0) -> None:
        """Wait until it has printed a text, *after* so many other characters."""
        end = time.monotonic() + SECONDS
        while text not in self.output[after:]:
            assert time.monotonic() < end, f"{text!r} is not in\n{self.output[after:]}"
            time.sleep(0.05)

    def end(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        return self.finish()

    def finish(self) -> int:
        code = self.process.wait(SECONDS)
        self.reader.join(SECONDS)
        return code

    def exported(self) -> dict[str, str]:
        """Return the variables that it printed for other commands."""
        self.wait_for("\nexport ")
        (line,) = re.findall(r"^export (.*)$", self.output, re.MULTILINE)
        return dict(word.split("=", 1) for word in line.split())


def without_settings() -> dict[str, str]:
    """Return this environment without what selects an engine, a deployment or views."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("AWS_", "ADMINVIEW_"))
    }


def run_command(*words: str, environment: dict[str, str], folder: Path) -> str:
    """Run `adminview` to its end, and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "adminview.cli.main", *words],
        env=environment | {"PYTHONPATH": str(ROOT), "COLUMNS": "150", "NO_COLOR": "1"},
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
    )
    return done.stdout + done.stderr
