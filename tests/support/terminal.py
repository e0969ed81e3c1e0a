"""A command at a pseudo-terminal, as somebody runs it: Ctrl-C is a key."""

import errno
import os
import pty
import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest

from adminview.cli.output.printing import Console
from tests.support.background import ROOT, Background

CTRL_C = "\x03"
# A new session has no terminal; this makes standard input its own, and becomes the command.
ATTACH = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    "os.execv(sys.executable, [sys.executable, '-m', 'adminview.cli.main', *sys.argv[1:]])"
)


def at_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands that run in this process print as if to a terminal."""
    monkeypatch.setattr(Console, "at_terminal", True)
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich's own bars print only to a terminal, too


class Terminal(Background):
    """`adminview` with some arguments, at a terminal of its own."""

    def __init__(self, *words: str, environment: dict[str, str], folder: Path) -> None:
        self.lines = []
        self._terminal, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-c", ATTACH, *words],
            env=environment | {"PYTHONPATH": str(ROOT), "TERM": "dumb"},
            cwd=folder,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            text=True,
            start_new_session=True,
        )
        os.close(theirs)
        self.reader = Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        while True:
            try:
                text = os.read(self._terminal, 4096)
            except OSError as error:
                assert error.errno == errno.EIO  # noqa: PT017 - the other end is closed
                break
            if not text:
                break
            self.lines.append(text.decode(errors="replace").replace("\r\n", "\n"))
        os.close(self._terminal)

    def type(self, keys: str) -> None:
        os.write(self._terminal, keys.encode())
