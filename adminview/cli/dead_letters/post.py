"""Where dead letters go locally: to a queue or, where there is none, into a file."""

from collections.abc import Sequence
from pathlib import Path
from threading import Lock

from adminview.aws.clients import Clients
from adminview.aws.dead_letter_producer import DeadLetterSink, LazyDeadLetterProducer
from adminview.aws.deadline import Deadline
from adminview.aws.settings import Settings
from adminview.cli.private_file import open_private
from adminview.model.dead_letter import OutgoingLetter

LETTERS = Path("dead-letters.jsonl")  # where there is no queue


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
        letters: Sequence[OutgoingLetter],
        *,
        deadline: Deadline,  # noqa: ARG002 - a file is quick
    ) -> tuple[list[OutgoingLetter], set[str]]:
        """Write *letters* down; none comes back."""
        with self._lock, open_private(self._path, append=True) as file:
            file.writelines(letter.body + "\n" for letter in letters)
        return [], set()


def post_for(settings: Settings, clients: Clients) -> DeadLetterSink:
    """Send letters to the deployment's queue or, where there is none, into a file."""
    if settings.dead_letter_queue_url:
        return LazyDeadLetterProducer(clients, settings.dead_letter_queue_url)
    return LetterFile(LETTERS)
