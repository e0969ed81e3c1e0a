"""Files with keys of customers: dead letters without a queue, and the audit of repairs.

Only their owner may read them.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from getpass import getuser
from itertools import islice
from json import dumps, loads
from pathlib import Path
from stat import S_IMODE, S_ISREG
from threading import Lock
from typing import Any, Final, TextIO

from adminview.aws.clients import Clients
from adminview.aws.dead_letter_consumer import Message
from adminview.aws.dead_letter_producer import DeadLetterSink, LazyDeadLetterProducer
from adminview.aws.deadline import Deadline
from adminview.aws.settings import Settings
from adminview.model.dead_letter import OutgoingLetter

LETTERS = Path("dead-letters.jsonl")  # where there is no queue
AUDIT = Path("adminview-audit.jsonl")
OWNER_ONLY: Final = 0o600
OTHERS: Final = 0o077  # permissions of the group and everyone else
READ_BYTES: Final = 4 * 1024 * 1024  # of the end of an audit file


def open_private(path: Path) -> TextIO:
    """Open a text file to append to it. A new file has mode 0600 from the start.

    An existing file that we own is narrowed to mode 0600.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, OWNER_ONLY)
    try:
        stat = os.fstat(descriptor)
        # Not a device or pipe such as /dev/stdout, nor a file that another user shares with us.
        ours = S_ISREG(stat.st_mode) and stat.st_uid == os.geteuid()
        if ours and S_IMODE(stat.st_mode) & OTHERS:
            os.fchmod(descriptor, OWNER_ONLY)
        return os.fdopen(descriptor, "a", encoding="utf-8")
    except BaseException:
        os.close(descriptor)
        raise


class LetterFile:
    """Dead letters as lines of a file that only its owner may read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = Lock()

    def send(
        self,
        letters: Sequence[OutgoingLetter],
        *,
        deadline: Deadline,  # noqa: ARG002 - a file is quick
    ) -> tuple[list[OutgoingLetter], set[str]]:
        """Append all *letters*. Returns no unsent ones."""
        with self._lock, open_private(self._path) as file:
            file.writelines(letter.body + "\n" for letter in letters)
        return [], set()


def dead_letter_sink(settings: Settings, clients: Clients) -> DeadLetterSink:
    """Return the deployment's queue or, if it has none, a local file."""
    if settings.dead_letter_queue_url:
        return LazyDeadLetterProducer(clients, settings.dead_letter_queue_url)
    return LetterFile(LETTERS)


@dataclass(frozen=True, slots=True)
class Audit:
    """An append-only file of repairs by hand."""

    path: Path

    @property
    def name(self) -> str:
        return str(self.path)

    def write(self, action: str, reason: str, messages: Iterable[Message]) -> None:
        """Append a line per dead letter, and flush them to disk before returning."""
        letters = ({"id": message.id, "letter": message.body} for message in messages)
        self._append(action, reason, letters)

    def note(self, action: str, reason: str, **facts: str) -> None:
        """Append one line with other facts, and flush it to disk before returning."""
        self._append(action, reason, [facts])

    def read(self, limit: int) -> list[dict[str, Any]]:
        """Return the latest entries, the newest first. Lines that are not JSON are left out."""
        try:
            with self.path.open("rb") as file:
                file.seek(0, os.SEEK_END)
                file.seek(max(0, file.tell() - READ_BYTES))
                lines = file.read().splitlines()
        except FileNotFoundError:
            return []
        entries = (_entry(line) for line in reversed(lines))
        return [*islice((entry for entry in entries if entry is not None), limit)]

    def _append(self, action: str, reason: str, entries: Iterable[dict[str, str]]) -> None:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        with open_private(self.path) as file:
            for entry in entries:
                line = {"at": now, "by": user_name(), "action": action, "reason": reason, **entry}
                file.write(dumps(line) + "\n")
            file.flush()
            os.fsync(file.fileno())


def _entry(line: bytes) -> dict[str, Any] | None:
    try:
        entry = loads(line)
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None


def user_name() -> str:
    """Return the name of the user who runs this command."""
    try:
        return getuser()
    except (KeyError, OSError):  # in a container, a user may have only a number
        return f"uid {os.getuid()}"
