"""Dead letters, as people read them."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from json import loads
from typing import Any

from rich.markup import escape
from rich.table import Table

from cli.show import facts, table
from lambdas.aws.mailbox import Waiting
from lambdas.repair.replay.browse import Pile
from lambdas.repair.replay.errands import Errand
from lambdas.repair.replay.letters import BatchLetter
from lambdas.repair.replay.preview import Previewed

ID_LENGTH = 8  # enough to tell letters apart
COLUMNS = ("id", "source", "item", "error", "changed", "tries")


def table_of(pile: Pile, now: float) -> Table:
    """Show letters, a line each."""
    shown = table("Dead letters")
    for column in COLUMNS:
        shown.add_column(column, overflow="fold")
    for errand in pile.meant:
        letter = errand.letter
        shown.add_row(
            errand.message.id[:ID_LENGTH],
            errand.source,
            escape(item_of(errand)),
            escape(f"{letter.error}: {letter.reason}"),
            "" if letter.at is None else f"{timedelta(seconds=int(now - letter.at))} ago",
            str(letter.attempts),
        )
    for message, why in pile.unknown:
        shown.add_row(message.id[:ID_LENGTH], "?", "?", escape(f"not understood: {why}"), "", "")
    return shown


def item_of(errand: Errand) -> str:
    """Say what a letter is about."""
    letter = errand.letter
    if isinstance(letter, BatchLetter):
        return f"{letter.count} records of {letter.begin} to {letter.end}"
    return errand.about


def footer(pile: Pile, waiting: Waiting) -> str:
    """Say how many letters were not shown."""
    more = "" if pile.whole else ", and there may be more (--limit)"
    resting = waiting.resting
    rest = f"; about {resting} rest until they may be tried again" if resting else ""
    return f"{len(pile)} letters{more}{rest}"


def plain(pile: Pile) -> Iterator[dict[str, Any]]:
    """Give letters to machines."""
    for errand in pile.meant:
        message, letter = errand.message, errand.letter
        yield {
            "id": message.id,
            "source": errand.source,
            "item": item_of(errand),
            "error": letter.error,
            "reason": letter.reason,
            "at": letter.at,
            "attempts": letter.attempts,
            "letter": letter.facts,
        }
    for message, why in pile.unknown:
        yield {"id": message.id, "notUnderstood": why}


def letter(body: str) -> Table:
    """Show one letter whole."""
    try:
        whole = loads(body)
    except (ValueError, RecursionError):
        whole = {"text": body}
    return facts("A dead letter", whole if isinstance(whole, Mapping) else {"text": body})


def summary(told: Mapping[str, Any]) -> Table:
    """Show what a replay came to."""
    counts = {f"letters {fate}": count for fate, count in told["fates"].items() if count}
    work = {
        "items reconciled": told["items"],
        "rows put, deleted": f"{told['rows_put']}, {told['rows_deleted']}",
    }
    reasons = "\n".join(f"{count}: {reason}" for reason, count in told["reasons"].items())
    why = {"left because": reasons} if reasons else {}
    if not told["complete"]:
        why["not complete"] = "there may be more letters: run it again"
    return facts("Replayed", (counts or {"letters": "none was ready"}) | work | why)


def previewed(one: Previewed) -> Table:
    """Show what would be done for one item."""
    told = one.as_dict()
    would = {
        "letters": one.letters,
        "would put": [" ".join(key) for key in told["put"]] or "nothing",
        "would delete": [" ".join(key) for key in told["delete"]] or "nothing",
    }
    return facts(one.about, would if not one.problem else {"would fail": one.problem})
