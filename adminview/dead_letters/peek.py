"""Look through the dead-letter queue without changing it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from adminview.aws.dead_letter_consumer import DeadLetterConsumer, Message
from adminview.aws.deadline import Deadline
from adminview.dead_letters.letter_filter import LetterFilter
from adminview.dead_letters.resolve import LetterResolver, ResolvedLetter
from adminview.model.errors import ServiceError, UnknownLetterError

PUT_BACK_SECONDS = 30
HIDE_SECONDS = 120  # SQS has no way to look at letters but to take them up for a while


@dataclass(slots=True)
class PeekResult:
    """Letters that were looked at: those that are meant, those that nobody understands."""

    meant: list[ResolvedLetter] = field(default_factory=list)
    unknown: list[tuple[Message, str]] = field(default_factory=list)
    whole: bool = True  # False: there may be more

    def __len__(self) -> int:
        return len(self.meant) + len(self.unknown)


@contextmanager
def browse(  # noqa: PLR0913 - all but two are keywords
    mailbox: DeadLetterConsumer,
    errands: LetterResolver,
    *,
    choice: LetterFilter,
    now: Callable[[], float],
    until: Deadline,
    limit: int | None = None,
) -> Iterator[PeekResult]:
    """Take letters up, sort them, and afterwards put those back that are still there."""
    taken: dict[str, Message] = {}
    pile = PeekResult()
    try:
        while fresh := [one for one in _take(mailbox, until) if one.id not in taken]:
            taken |= {message.id: message for message in fresh}
            for message in fresh:
                _sort(pile, message, errands, choice, now())
            if limit is not None and len(pile) >= limit:
                pile.whole = False
                break
        pile.whole = pile.whole and not until.passed
        yield pile
    finally:
        later = Deadline.after(PUT_BACK_SECONDS, until.clock)
        mailbox.put_back([*taken.values()], until=later)


def _take(mailbox: DeadLetterConsumer, until: Deadline) -> list[Message]:
    try:
        return mailbox.take(until=until, hide_seconds=HIDE_SECONDS)
    except ServiceError:
        if until.passed:
            return []  # what was taken so far is shown
        raise


def _sort(
    pile: PeekResult, message: Message, errands: LetterResolver, choice: LetterFilter, now: float
) -> None:
    try:
        errand = errands.understand(message)
    except UnknownLetterError as error:
        if choice.takes_unknown(message):
            pile.unknown.append((message, str(error)))
        return
    if choice.takes(errand, now):
        pile.meant.append(errand)
