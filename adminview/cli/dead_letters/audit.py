"""What people did that cannot be undone, a line each."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from getpass import getuser
from json import dumps
from pathlib import Path

from adminview.aws.dead_letter_consumer import Message
from adminview.cli.private_file import open_private


@dataclass(frozen=True, slots=True)
class Audit:
    """A file that is only ever added to."""

    path: Path

    def write(self, action: str, reason: str, messages: Iterable[Message]) -> None:
        """Write down what is about to be done to letters, and make sure that it stays."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        with open_private(self.path, append=True) as file:
            for message in messages:
                line = {
                    "at": now,
                    "by": _who(),
                    "action": action,
                    "reason": reason,
                    "id": message.id,
                    "letter": message.body,
                }
                file.write(dumps(line) + "\n")
            file.flush()
            os.fsync(file.fileno())


def _who() -> str:
    """Name who does it; in a container that may be a number alone."""
    try:
        return getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"
