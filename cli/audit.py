"""What people did that cannot be undone, a line each."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from getpass import getuser
from json import dumps
from pathlib import Path

from lambdas.aws.mailbox import Message

OWNER_ONLY = 0o600  # letters hold keys


@dataclass(frozen=True, slots=True)
class Audit:
    """A file that is only ever added to."""

    path: Path

    def write(self, action: str, reason: str, messages: Iterable[Message]) -> None:
        """Write down what is about to be done to letters, and make sure that it stays."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, OWNER_ONLY)
        os.fchmod(descriptor, OWNER_ONLY)  # it may have been there before
        with os.fdopen(descriptor, "a", encoding="utf-8") as file:
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
