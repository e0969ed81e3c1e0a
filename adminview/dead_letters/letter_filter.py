"""Select dead letters."""

from dataclasses import dataclass

from adminview.aws.dead_letter_consumer import Message
from adminview.dead_letters.resolve import ResolvedLetter


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterFilter:
    """A dead-letter filter. Unset fields match everything."""

    id: str | None = None  # or a prefix
    source: str | None = None
    error: str | None = None
    key: str | None = None  # the owner, or one value of the item's key
    older_than: float | None = None  # seconds since the change
    newer_than: float | None = None

    def matches(self, resolved: ResolvedLetter, now: float) -> bool:
        letter = resolved.letter
        age = now - resolved.since
        return (
            (self.id is None or resolved.message.id.startswith(self.id))
            and self.source in (None, resolved.source)
            and self.error in (None, letter.latest_error.kind)
            and (self.key is None or self.key in _names(resolved))
            and (self.older_than is None or age > self.older_than)
            and (self.newer_than is None or age < self.newer_than)
        )

    def matches_unresolved(self, message: Message) -> bool:
        """Match a dead letter that could not be resolved: only by its id."""
        named = LetterFilter(id=self.id)
        return self == named and (self.id is None or message.id.startswith(self.id))


def _names(resolved: ResolvedLetter) -> set[str]:
    """Return the owners and key values of the items."""
    keys = [value for target in resolved.targets for value in target.key.values()]
    values = {value for typed in keys for value in typed.values()}
    return {*(target.owner for target in resolved.targets), *values}
