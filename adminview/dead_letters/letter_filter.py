"""Which letters are meant."""

from dataclasses import dataclass

from adminview.aws.dead_letter_consumer import Message
from adminview.dead_letters.resolve import ResolvedLetter


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterFilter:
    """What letters must have in common to be meant; nothing said means all of them."""

    id: str | None = None  # or its beginning
    source: str | None = None
    error: str | None = None
    key: str | None = None  # the item as its rows name it, or one value of its key
    older_than: float | None = None  # seconds since the change
    newer_than: float | None = None

    def takes(self, resolved: ResolvedLetter, now: float) -> bool:
        """Tell whether a letter is meant."""
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

    def takes_unknown(self, message: Message) -> bool:
        """Tell whether a letter is meant of which nothing is known but its id."""
        named = LetterFilter(id=self.id)
        return self == named and (self.id is None or message.id.startswith(self.id))


def _names(resolved: ResolvedLetter) -> set[str]:
    """List what an item may be called by."""
    keys = [value for target in resolved.targets for value in target.key.values()]
    values = {value for typed in keys for value in typed.values()}
    return {*(target.owner for target in resolved.targets), *values}
