"""Where letters go on a laptop: to a queue or, where there is none, into a file."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

from cli.private_file import open_private
from lambdas.aws.deadline import Deadline
from lambdas.aws.runtime import Clients, Mail, Post
from lambdas.aws.settings import Settings
from lambdas.pipeline.letter import Letter

LETTERS = Path("dead-letters.jsonl")  # where there is no queue
SECONDS = 30.0  # to send one of Lambda's letters


class LetterFile:
    """Letters as lines of a file, which only its owner may read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = Lock()

    def create(self) -> None:
        """Create the file, or raise an OSError if it cannot be written."""
        open_private(self._path, append=True).close()

    def send(
        self,
        letters: Sequence[Letter],
        *,
        until: Deadline,  # noqa: ARG002 - a file is quick
    ) -> tuple[list[Letter], set[str]]:
        """Write *letters* down; none comes back."""
        with self._lock, open_private(self._path, append=True) as file:
            file.writelines(letter.body + "\n" for letter in letters)
        return [], set()


def post_for(settings: Settings, clients: Clients) -> Post:
    """Send letters to the deployment's queue or, where there is none, into a file."""
    if settings.dead_letter_queue_url:
        return Mail(clients, settings.dead_letter_queue_url)
    return LetterFile(LETTERS)


def on_failure(post: Post) -> Callable[[dict[str, Any]], None]:
    """Let Lambda's own letters go the same way as ours; raise if one is not taken."""

    def send(letter: dict[str, Any]) -> None:
        condition = letter["requestContext"]["condition"]
        mail = Letter(0, None, None, condition, "Lambda gave up on a batch", json.dumps(letter))
        unsent, trouble = post.send([mail], until=Deadline.after(SECONDS))
        if unsent:
            msg = f"Lambda's letter was not taken, its records stay: {', '.join(sorted(trouble))}"
            raise RuntimeError(msg)

    return send
