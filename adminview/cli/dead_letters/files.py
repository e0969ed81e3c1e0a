"""Files of dead letters: the audit file, and the file that replaces a queue locally."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from getpass import getuser
from json import dumps
from pathlib import Path
from threading import Lock

from adminview.aws.clients import Clients
from adminview.aws.dead_letter_consumer import Message
from adminview.aws.dead_letter_producer import DeadLetterSink, LazyDeadLetterProducer
from adminview.aws.deadline import Deadline
from adminview.aws.settings import Settings
from adminview.cli.private_file import open_private
from adminview.model.dead_letter import OutgoingLetter

LETTERS = Path("dead-letters.jsonl")  # where there is no queue


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
    """An append-only file of irreversible actions."""

    path: Path

    def write(self, action: str, reason: str, messages: Iterable[Message]) -> None:
        """Append a line per dead letter, and flush them to disk before returning."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        with open_private(self.path, append=True) as file:
            for message in messages:
                line = {
                    "at": now,
                    "by": _user_name(),
                    "action": action,
                    "reason": reason,
                    "id": message.id,
                    "letter": message.body,
                }
                file.write(dumps(line) + "\n")
            file.flush()
            os.fsync(file.fileno())


def _user_name() -> str:
    try:
        return getuser()
    except (KeyError, OSError):  # in a container, a user may have only a number
        return f"uid {os.getuid()}"
