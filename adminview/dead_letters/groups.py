"""Group dead letters by source, view and error, and select some of them or whole groups."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from adminview.aws.dead_letter_consumer import Message
from adminview.dead_letters.letter_filter import UNREADABLE, LetterFilter
from adminview.dead_letters.peek import PeekResult
from adminview.dead_letters.resolve import ResolvedLetter

# As `sync.redact` names the place of an error. A view is a Python function.
VIEW: Final = re.compile(r"\bview '(\w{1,200})'")


@dataclass(frozen=True, slots=True)
class LetterGroup:
    """What dead letters have in common; None if it is unknown."""

    source: str | None
    view: str | None
    error: str

    @classmethod
    def of(cls, resolved: ResolvedLetter) -> "LetterGroup":
        error = resolved.letter.latest_error
        return cls(resolved.source, view_of(error.reason), error.kind[:LONGEST_KIND])


LONGEST_KIND: Final = 200  # characters; a message may contain any text
UNREADABLE_GROUP: Final = LetterGroup(None, None, UNREADABLE)


def view_of(reason: str) -> str | None:
    """Return the view that an error's text names; None if it names none."""
    match = VIEW.search(reason)
    return match[1] if match else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection(LetterFilter):
    """Dead letters by id, or one group; unset fields match everything."""

    ids: frozenset[str] | None = None
    group: LetterGroup | None = None

    def matches(self, resolved: ResolvedLetter, now: float) -> bool:
        # Not super(): a dataclass with slots is another class than the one that methods know.
        return (
            LetterFilter.matches(self, resolved, now)
            and (self.ids is None or resolved.message.id in self.ids)
            and self.group in (None, LetterGroup.of(resolved))
        )

    def matches_unresolved(self, message: Message, now: float) -> bool:
        """Match a message that cannot be read; all such messages are one group."""
        return (
            LetterFilter.matches_unresolved(self, message, now)
            and (self.ids is None or message.id in self.ids)
            and self.group in (None, UNREADABLE_GROUP)
        )


def messages_of(peeked: PeekResult) -> Iterator[Message]:
    """Yield all messages of a result, readable or not."""
    yield from (resolved.message for resolved in peeked.matched)
    yield from (message for message, _ in peeked.unknown)
