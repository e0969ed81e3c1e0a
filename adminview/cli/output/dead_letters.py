"""Dead letters, as people read them."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from json import loads
from typing import Any

from adminview.aws.dead_letter_consumer import Waiting
from adminview.cli.output.printing import TextTable
from adminview.cli.output.tables import facts, table
from adminview.dead_letters.peek import PeekResult
from adminview.dead_letters.preview import ItemPreview
from adminview.dead_letters.resolve import ResolvedLetter
from adminview.model.dead_letter import BatchLetter
from adminview.model.delivery import NEXT_TRY_SECONDS
from adminview.model.stream import FAR_FUTURE

ID_LENGTH = 8  # enough to tell letters apart
COLUMNS = {"id": 2, "item": 4, "error": 6, "changed": 3, "tries": 1}  # and how wide


def table_of(peeked: PeekResult, now: float) -> TextTable:
    """Show letters, a line each."""
    shown = table("Dead letters")
    for column, ratio in COLUMNS.items():
        shown.add_column(column, overflow="fold", ratio=ratio)
    for resolved in peeked.matched:
        letter = resolved.letter
        shown.add_row(
            resolved.message.id[:ID_LENGTH],
            item_of(resolved),
            f"{letter.latest_error.kind}: {letter.latest_error.reason}",
            "" if letter.at is None else f"{timedelta(seconds=int(now - letter.at))} ago",
            str(letter.failed_replays),
        )
    for message, why in peeked.unknown:
        shown.add_row(message.id[:ID_LENGTH], "?", f"not understood: {why}", "", "")
    return shown


def item_of(resolved: ResolvedLetter) -> str:
    """Say what a letter is about."""
    letter = resolved.letter
    if isinstance(letter, BatchLetter):
        return f"{letter.count} records of {letter.begin} to {letter.end}"
    return resolved.about


def footer(peeked: PeekResult, waiting: Waiting) -> str:
    """Say how many letters were not shown."""
    more = "" if peeked.complete else ", and there may be more (--limit)"
    return f"{many(len(peeked))}{more}{resting(waiting)}"


def many(count: int) -> str:
    """Count letters in words."""
    return f"{count} letter{'' if count == 1 else 's'}"


def resting(waiting: Waiting) -> str:
    """Say how many letters nobody can see now, and for how long."""
    minutes = NEXT_TRY_SECONDS // 60
    count = waiting.resting
    return f"; about {count} rest for up to {minutes} minutes after a try" if count else ""


def plain(peeked: PeekResult) -> Iterator[dict[str, Any]]:
    """Give letters to machines."""
    for resolved in peeked.matched:
        message, letter = resolved.message, resolved.letter
        yield {
            "id": message.id,
            "source": resolved.source,
            "item": item_of(resolved),
            "error": letter.latest_error.kind,
            "reason": letter.latest_error.reason,
            "at": letter.at,
            "attempts": letter.failed_replays,
            "letter": whole(message.body),
        }
    for message, why in peeked.unknown:
        yield {"id": message.id, "not_understood": why}


def whole(body: str) -> dict[str, Any]:
    """Read all that a message says, be it a letter or not."""
    try:
        said = loads(body)
    except (ValueError, RecursionError):
        said = None
    return said if isinstance(said, dict) else {"text": body}


def letter(body: str) -> TextTable:
    """Show one letter whole."""
    said = whole(body)
    if isinstance(said.get("at"), int | float) and 0 <= said["at"] < FAR_FUTURE:
        said["at"] = f"{datetime.fromtimestamp(said['at'], UTC):%FT%TZ}"
    return facts("A dead letter", {name: value or "none" for name, value in said.items()})


def summary(told: Mapping[str, Any]) -> TextTable:
    """Show what a replay came to."""
    counts = {
        f"letters {outcome.replace('_', ' ')}": count
        for outcome, count in told["outcomes"].items()
        if count
    }
    work = {
        "items looked at": told["items"],
        "rows put, deleted": f"{told['rows_put']}, {told['rows_deleted']}",
    }
    reasons = "; ".join(f"{count}: {reason}" for reason, count in told["reasons"].items())
    why = {"left because": reasons} if reasons else {}
    if not told["complete"]:
        why["not complete"] = "there may be more letters: run it again"
    return facts("Replayed", (counts or {"letters": "none was ready"}) | work | why)


def previewed(one: ItemPreview) -> TextTable:
    """Show what would be done for one item."""
    told = one.as_dict()
    would = {
        "would put": [" ".join(key) for key in told["put"]] or "nothing",
        "would delete": [" ".join(key) for key in told["delete"]] or "nothing",
    }
    about = {"item": one.about, "letters": one.letters}
    return facts("A dry run", about | ({"would fail": one.problem} if one.problem else would))
