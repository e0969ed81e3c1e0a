"""Dead letters as JSON data. Pure: anything may be in the queue, so every text is bounded."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

from adminview.aws.dead_letter_consumer import Message, Waiting
from adminview.dead_letters.groups import UNREADABLE_GROUP, LetterGroup
from adminview.dead_letters.letter_filter import UNREADABLE
from adminview.dead_letters.peek import PeekResult
from adminview.dead_letters.resolve import ResolvedLetter
from adminview.http_api.operations.moments import moment
from adminview.model.attribute import PK, SK
from adminview.model.dead_letter import AnyLetter, BatchLetter, InDoubtLetter, ItemOrigin, Origin

TEXT_LIMIT: Final = 2_000  # characters of an error's text
BODY_LIMIT: Final = 64 * 1024  # characters of a message
MOST_REASONS: Final = 5  # per group


def letters_of(peeked: PeekResult) -> list[dict[str, Any]]:
    """Return all dead letters of a listing, the oldest change first."""
    letters = [*map(_letter, peeked.matched), *(_unreadable(*pair) for pair in peeked.unknown)]
    return sorted(letters, key=lambda letter: letter["changed"] or letter["sent"] or "")


def groups_of(peeked: PeekResult) -> list[dict[str, Any]]:
    """Return the groups of a listing, the largest first."""
    groups: dict[LetterGroup, list[dict[str, Any]]] = defaultdict(list)
    for resolved in peeked.matched:
        groups[LetterGroup.of(resolved)].append(_letter(resolved))
    for message, why in peeked.unknown:
        groups[UNREADABLE_GROUP].append(_unreadable(message, why))
    counted = sorted(groups.items(), key=lambda pair: -len(pair[1]))
    return [_group(group, letters) for group, letters in counted]


def details(resolved: ResolvedLetter) -> dict[str, Any]:
    """Return everything in a dead letter."""
    letter = resolved.letter
    origin = letter if isinstance(letter, Origin) else None
    attempts = letter.attempts
    first = letter.error
    return {
        **_letter(resolved),
        "rows": [
            {PK.name: pk, SK.name: sk}
            for pk, sk in sorted({row for target in resolved.targets for row in target.rows})
        ],
        "model": origin.model if origin else None,
        "sequence": origin.sequence if origin else None,
        "event": letter.event if isinstance(letter, ItemOrigin) else None,
        "table": letter.table,
        "firstError": {"kind": short(first.kind), "reason": short(first.reason)},
        "lastAttempt": {
            "kind": short(attempts.error.kind),
            "reason": short(attempts.error.reason),
            "at": attempts.at and short(attempts.at),
            "count": attempts.count,
        }
        if attempts
        else None,
        **_body(resolved.message),
    }


def unreadable_details(message: Message, why: str) -> dict[str, Any]:
    """Return what is known of a message that cannot be read."""
    return {
        **_unreadable(message, why),
        "rows": [],
        **dict.fromkeys(("model", "sequence", "event", "table", "firstError", "lastAttempt")),
        **_body(message),
    }


def queue_counts(waiting: Waiting) -> dict[str, int]:
    return {"ready": waiting.ready, "received": waiting.taken, "delayed": waiting.delayed}


def short(text: str) -> str:
    """Return a text of bounded length."""
    return text if len(text) <= TEXT_LIMIT else f"{text[:TEXT_LIMIT]}…"


def _letter(resolved: ResolvedLetter) -> dict[str, Any]:
    letter, error = resolved.letter, resolved.letter.latest_error
    return {
        "id": resolved.message.id,
        "source": resolved.source,
        "view": LetterGroup.of(resolved).view,
        "error": LetterGroup.of(resolved).error,
        "reason": short(error.reason),
        "items": [target.owner for target in resolved.targets] or [_records(letter)],
        "changed": moment(letter.at),
        "sent": moment(resolved.message.sent),
        "received": resolved.message.received,
        "attempts": letter.failed_replays,
        "kind": _kind(letter),
    }


def _unreadable(message: Message, why: str) -> dict[str, Any]:
    return {
        "id": message.id,
        "source": None,
        "view": None,
        "error": UNREADABLE,
        "reason": short(why),
        "items": [],
        "changed": None,
        "sent": moment(message.sent),
        "received": message.received,
        "attempts": 0,
        "kind": "unreadable",
    }


def _group(group: LetterGroup, letters: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    times = sorted(time for letter in letters if (time := letter["changed"] or letter["sent"]))
    reasons = Counter(letter["reason"] for letter in letters).most_common(MOST_REASONS)
    return {
        "source": group.source,
        "view": group.view,
        "error": group.error,
        "count": len(letters),
        "oldest": times[0] if times else None,
        "newest": times[-1] if times else None,
        "attempts": max(letter["attempts"] for letter in letters),
        "reasons": [{"reason": reason, "count": count} for reason, count in reasons],
        "readable": group is not UNREADABLE_GROUP,
    }


def _kind(letter: AnyLetter) -> str:
    if isinstance(letter, BatchLetter):
        return "batch"
    return "in-doubt" if isinstance(letter, InDoubtLetter) else "record"


def _records(letter: AnyLetter) -> str:
    assert isinstance(letter, BatchLetter)
    return short(f"{letter.count} records of {letter.begin} to {letter.end}")


def _body(message: Message) -> dict[str, Any]:
    return {"text": message.body[:BODY_LIMIT], "truncated": len(message.body) > BODY_LIMIT}
