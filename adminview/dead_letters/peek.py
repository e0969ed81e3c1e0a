"""Browse the dead-letter queue without changing it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from adminview.aws.dead_letter_consumer import DeadLetterConsumer, Message
from adminview.aws.deadline import Deadline
from adminview.dead_letters.letter_filter import LetterFilter
from adminview.dead_letters.resolve import LetterResolver, ResolvedLetter
from adminview.model.errors import ServiceError, UnknownLetterError

PUT_BACK_SECONDS = 30
HIDE_SECONDS = 120  # SQS can show a message only by receiving it, which hides it


@dataclass(slots=True)
class PeekResult:
    """The dead letters that match, and those that could not be resolved, with the reason."""

    matched: list[ResolvedLetter] = field(default_factory=list)
    unknown: list[tuple[Message, str]] = field(default_factory=list)
    complete: bool = True  # False: there may be more

    def __len__(self) -> int:
        return len(self.matched) + len(self.unknown)


@contextmanager
def browse(  # noqa: PLR0913 - all but two are keywords
    consumer: DeadLetterConsumer,
    resolver: LetterResolver,
    *,
    letter_filter: LetterFilter,
    now: Callable[[], float],
    deadline: Deadline,
    limit: int | None = None,
) -> Iterator[PeekResult]:
    """Receive dead letters and yield those that match; on exit, make them visible again."""
    taken: dict[str, Message] = {}
    peeked = PeekResult()
    try:
        while fresh := [m for m in _take(consumer, deadline) if m.id not in taken]:
            taken |= {message.id: message for message in fresh}
            for message in fresh:
                _sort(peeked, message, resolver, letter_filter, now())
            if limit is not None and len(peeked) >= limit:
                peeked.complete = False
                break
        peeked.complete = peeked.complete and not deadline.passed
        yield peeked
    finally:
        later = Deadline.after(PUT_BACK_SECONDS, deadline.clock)
        consumer.put_back([*taken.values()], deadline=later)


def _take(consumer: DeadLetterConsumer, deadline: Deadline) -> list[Message]:
    try:
        return consumer.take(deadline=deadline, hide_seconds=HIDE_SECONDS)
    except ServiceError:
        if deadline.passed:
            return []  # show what was received so far
        raise


def _sort(
    peeked: PeekResult,
    message: Message,
    resolver: LetterResolver,
    letter_filter: LetterFilter,
    now: float,
) -> None:
    try:
        resolved = resolver.resolve(message)
    except UnknownLetterError as error:
        if letter_filter.matches_unresolved(message, now):
            peeked.unknown.append((message, str(error)))
        return
    if letter_filter.matches(resolved, now):
        peeked.matched.append(resolved)
