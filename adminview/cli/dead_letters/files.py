"""Files of dead letters: the audit file, and the file that replaces a queue locally."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from getpass import getuser
from itertools import islice
from json import dumps, loads
from pathlib import Path
from threading import Lock
from typing import Any, Final

from adminview.aws.clients import Clients
from adminview.aws.dead_letter_consumer import Message
from adminview.aws.dead_letter_producer import DeadLetterSink, LazyDeadLetterProducer
from adminview.aws.deadline import Deadline
from adminview.aws.settings import Settings
from adminview.cli.private_file import open_private
from adminview.model.dead_letter import OutgoingLetter

LETTERS = Path("dead-letters.jsonl")  # where there is no queue
AUDIT = Path("adminview-audit.jsonl")
READ_BYTES: Final = 4 * 1024 * 1024  # of the end of an audit file


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
        with self._lock, open_private(self._path, append=True) as file:
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
        with open_private(self.path, append=True) as file:
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
