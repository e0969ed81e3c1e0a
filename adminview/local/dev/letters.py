"""Dead letters of a local engine: sent with a short delay, and one per item and error.

The sinks keep the contract of `DeadLetterSink.send`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from adminview.aws.dead_letter_consumer import DeadLetterConsumer, Message
from adminview.aws.dead_letter_producer import DeadLetterSink
from adminview.aws.deadline import Deadline
from adminview.local.dev.printer import BatchPrinter
from adminview.model.dead_letter import OutgoingLetter, RecordLetter, from_json
from adminview.model.errors import UnknownLetterError

DELAY_SECONDS = 5  # at most: indexes of local engines do not lag, and calls end soon
HIDE_SECONDS = 30  # while the queue is read


@dataclass(frozen=True, slots=True)
class PromptSink:
    """Sends dead letters that become visible within seconds."""

    sink: DeadLetterSink

    def send(
        self, letters: Sequence[OutgoingLetter], *, deadline: Deadline
    ) -> tuple[list[OutgoingLetter], set[str]]:
        prompt = [
            replace(letter, delay_seconds=min(letter.delay_seconds or 0, DELAY_SECONDS))
            for letter in letters
        ]
        unsent, codes = self.sink.send(prompt, deadline=deadline)
        refused = {id(letter) for letter in unsent}
        pairs = zip(letters, prompt, strict=True)
        return [letter for letter, sent in pairs if id(sent) in refused], codes


@dataclass(frozen=True, slots=True)
class FirstLetterSink:
    """Sends dead letters of items that have none with the same error in the queue yet.

    Each rebuild finds the same bad items again.
    """

    sink: DeadLetterSink
    consumer: DeadLetterConsumer

    def send(
        self, letters: Sequence[OutgoingLetter], *, deadline: Deadline
    ) -> tuple[list[OutgoingLetter], set[str]]:
        known = self._causes(deadline) if letters else set()
        return self.sink.send(
            [letter for letter in letters if _cause(letter.body) not in known], deadline=deadline
        )

    def _causes(self, deadline: Deadline) -> set[tuple[str, str]]:
        """Return the items and errors of the dead letters in the queue."""
        taken: dict[str, Message] = {}
        try:
            while fresh := self._take_fresh(taken, deadline):
                taken |= {message.id: message for message in fresh}
        finally:
            self.consumer.put_back([*taken.values()], deadline=deadline)
        return {cause for message in taken.values() if (cause := _cause(message.body))}

    def _take_fresh(self, taken: dict[str, Message], deadline: Deadline) -> list[Message]:
        messages = self.consumer.take(deadline=deadline, hide_seconds=HIDE_SECONDS)
        return [message for message in messages if message.id not in taken]


@dataclass(frozen=True, slots=True)
class PrintedSink:
    """Prints dead letters before it sends them."""

    sink: DeadLetterSink
    printer: BatchPrinter

    def send(
        self, letters: Sequence[OutgoingLetter], *, deadline: Deadline
    ) -> tuple[list[OutgoingLetter], set[str]]:
        self.printer.dead_lettered(letters)
        return self.sink.send(letters, deadline=deadline)


def _cause(body: str) -> tuple[str, str] | None:
    """Return the item and the error of a dead letter; None if it has no item, or several."""
    try:
        letter = from_json(body)
    except UnknownLetterError:
        return None
    if not isinstance(letter, RecordLetter) or letter.owner is None:
        return None
    return letter.owner, letter.error.reason
