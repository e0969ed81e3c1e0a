"""Dead letters and replays, as text and as JSON."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from json import loads
from typing import Any

from adminview.aws.dead_letter_consumer import Waiting
from adminview.cli.output.printing import TextTable
from adminview.cli.output.tables import facts
from adminview.dead_letters.letter_filter import UNREADABLE
from adminview.dead_letters.peek import PeekResult
from adminview.dead_letters.preview import ReplayPreview
from adminview.dead_letters.resolve import ResolvedLetter
from adminview.model.dead_letter import BatchLetter
from adminview.model.delivery import NEXT_TRY_SECONDS
from adminview.model.stream import FAR_FUTURE

ID_LENGTH = 8  # enough to be unique in practice
COLUMNS = {"id": 2, "item": 4, "error": 6, "changed": 3, "tries": 1}  # with relative widths

OUTCOMES = {"unchanged": "dead letters whose rows were already correct"}


def letters_table(peeked: PeekResult, now: float) -> TextTable:
    lines = TextTable("Dead letters")
    for column, ratio in COLUMNS.items():
        lines.add_column(column, overflow="fold", ratio=ratio)
    for resolved in peeked.matched:
        letter = resolved.letter
        lines.add_row(
            resolved.message.id[:ID_LENGTH],
            item_of(resolved),
            f"{letter.latest_error.kind}: {letter.latest_error.reason}",
            "" if letter.at is None else f"{timedelta(seconds=int(now - letter.at))} ago",
            str(letter.failed_replays),
        )
    for message, why in peeked.unknown:
        lines.add_row(message.id[:ID_LENGTH], "?", f"{UNREADABLE}: {why}", "", "")
    return lines


def item_of(resolved: ResolvedLetter) -> str:
    letter = resolved.letter
    if isinstance(letter, BatchLetter):
        return f"{letter.count} records of {letter.begin} to {letter.end}"
    return resolved.about


def footer(peeked: PeekResult, waiting: Waiting, seconds: float = NEXT_TRY_SECONDS) -> str:
    more = "" if peeked.complete else ", and there may be more (--limit)"
    return f"{count_letters(len(peeked))}{more}{invisible_note(waiting, seconds)}"


def count_letters(count: int) -> str:
    return f"{count} dead letter{'' if count == 1 else 's'}"


def invisible_note(waiting: Waiting, seconds: float = NEXT_TRY_SECONDS) -> str:
    """Return a note about invisible dead letters, beginning with a semicolon; "" if there are none.

    They are invisible for up to *seconds*.
    """
    count = waiting.invisible
    minutes, rest = divmod(int(seconds), 60)
    time = f"{rest} seconds" if rest else f"{minutes} minutes"
    verb = "is" if count == 1 else "are"
    return (
        f"; about {count_letters(count)} {verb} invisible, for up to {time} after a try"
        if count
        else ""
    )


def letters_data(peeked: PeekResult) -> Iterator[dict[str, Any]]:
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
            "letter": parse_body(message.body),
        }
    for message, why in peeked.unknown:
        yield {"id": message.id, "not_understood": why}


def parse_body(body: str) -> dict[str, Any]:
    """Parse the body of a message; {"text": body} if it is not a JSON object."""
    try:
        content = loads(body)
    except (ValueError, RecursionError):
        content = None
    return content if isinstance(content, dict) else {"text": body}


def letter_table(body: str) -> TextTable:
    content = parse_body(body)
    if isinstance(content.get("at"), int | float) and 0 <= content["at"] < FAR_FUTURE:
        content["at"] = f"{datetime.fromtimestamp(content['at'], UTC):%FT%TZ}"
    if "key" in content:
        content["key"] = _plain_key(content["key"])
    if isinstance(content.get("items"), list):
        content["items"] = [
            item | {"key": _plain_key(item["key"])}
            if isinstance(item, dict) and "key" in item
            else item
            for item in content["items"]
        ]
    return facts("Dead letter", {name: value or "none" for name, value in content.items()})


def _plain_key(key: Any) -> Any:
    """Return the values of a key without their types. Any sender may have written it."""
    if not isinstance(key, dict):
        return key
    return {
        name: next(iter(typed.values())) if isinstance(typed, dict) and typed else typed
        for name, typed in key.items()
    }


def summary(replayed: Mapping[str, Any], title: str = "Replayed") -> TextTable:
    counts = {
        OUTCOMES.get(outcome, f"dead letters {outcome.replace('_', ' ')}"): count
        for outcome, count in replayed["outcomes"].items()
        if count
    }
    work = {
        "items reconciled": replayed["items"],
        "rows put, deleted": f"{replayed['rows_put']}, {replayed['rows_deleted']}",
    }
    lines = facts(title, (counts or {"dead letters": "none was ready"}) | work)
    for position, (reason, count) in enumerate(replayed["reasons"].items()):
        lines.add_row("" if position else "left because", f"{count}: {reason}")
    if not replayed["complete"]:
        lines.add_row("not complete", "there may be more dead letters: run it again")
    return lines


def preview_table(previewed: ReplayPreview) -> TextTable:
    data = previewed.as_dict()
    would = {
        "would put": [" ".join(key) for key in data["put"]] or "nothing",
        "would delete": [" ".join(key) for key in data["delete"]] or "nothing",
    }
    about = {"item": previewed.about, "dead letters": previewed.letters}
    failure = {"would fail": previewed.problem} if previewed.problem else None
    return facts("Dry run", about | (failure or would))
