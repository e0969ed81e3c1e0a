"""Select dead letters."""

from dataclasses import dataclass
from typing import Final

from adminview.aws.dead_letter_consumer import Message
from adminview.dead_letters.resolve import ResolvedLetter
from adminview.model.errors import UnknownLetterError

UNREADABLE: Final = UnknownLetterError.__name__  # the error of messages that cannot be read


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterFilter:
    """A dead-letter filter. Unset fields match everything."""

    id: str | None = None  # or a prefix
    source: str | None = None
    error: str | None = None
    key: str | None = None  # the owner, or one value of the item's key
    older_than: float | None = None  # seconds since the change, or since it was sent
    newer_than: float | None = None

    def matches(self, resolved: ResolvedLetter, now: float) -> bool:
        return (
            self._matches_message(resolved.message, resolved.letter.latest_error.kind)
            and self._matches_age(now - resolved.since)
            and self.source in (None, resolved.source)
            and (self.key is None or self.key in _names(resolved))
        )

    def matches_unresolved(self, message: Message, now: float) -> bool:
        """Match a message that could not be read. Its age is the time since it was sent."""
        return (
            self._matches_message(message, UNREADABLE)
            and self._matches_age(now - message.sent)
            and self.source is None
            and self.key is None
        )

    def _matches_message(self, message: Message, error: str) -> bool:
        return (self.id is None or message.id.startswith(self.id)) and self.error in (None, error)

    def _matches_age(self, age: float) -> bool:
        return (self.older_than is None or age > self.older_than) and (
            self.newer_than is None or age < self.newer_than
        )


def _names(resolved: ResolvedLetter) -> set[str]:
    """Return the owners and key values of the items."""
    keys = [value for target in resolved.targets for value in target.key.values()]
    values = {value for typed in keys for value in typed.values()}
    return {*(target.owner for target in resolved.targets), *values}
