"""What a migration would do, and what it did, for people and for machines."""

import json
from collections.abc import Sequence
from typing import Any

from adminview.cli.bulk.migration_preview import Preview
from adminview.cli.bulk.segment_pool import SegmentOutcome
from adminview.cli.output.bulk import DONE, FAILURES, UNFINISHED
from adminview.cli.output.printing import Cell, Console
from adminview.cli.output.tables import cell, facts, plain, table
from adminview.model.errors import RecordError, reason_of
from adminview.model.item import decode
from adminview.model.row import Attributes

WORDS = {
    "items": "looked at",
    "updated": "updated",
    "right": "have what they need, or are of another kind",
    "gone": "deleted meanwhile",
    "moved": "changed each time, and are still to be migrated",
    "failed": "failed",
}

Failure = tuple[Attributes, RecordError]


def show_outcome(
    outcome: SegmentOutcome, failing: Sequence[Failure], console: Console, *, as_json: bool
) -> None:
    """Show what came of a migration, and some of the items that failed."""
    if as_json:
        told = {
            "run": outcome.run,
            "status": status(outcome),
            "finished": outcome.finished,
            "trouble": outcome.trouble,
            "counts": dict(outcome.counts),
            "failing": [_failure(*one) for one in failing],
        }
        console.write_json(json.dumps(told, indent=2))
    else:
        _show_failing(failing, console)
        counts = {word: outcome.counts[one] for one, word in WORDS.items() if outcome.counts[one]}
        console.print(facts(outcome.run if outcome.finished else f"{outcome.run}, so far", counts))
        words = verdict(outcome)
        if outcome.finished and outcome.counts["failed"] and not failing:
            name = outcome.run.partition("/")[2]
            words += f"; `adminview migrate {name} --dry-run --all` shows which"
        console.print(words, soft_wrap=True)


def status(outcome: SegmentOutcome) -> int:
    """Say with what exit status an outcome ends."""
    if not outcome.finished:
        return UNFINISHED
    return FAILURES if outcome.counts["failed"] or outcome.counts["moved"] else DONE


def verdict(outcome: SegmentOutcome) -> str:
    """Say what an outcome means, and what to do."""
    if not outcome.finished:
        return f"{outcome.trouble}; the same command goes on"
    left = outcome.counts["failed"] + outcome.counts["moved"]
    if left:
        return f"done, but for {left} items: fix the migration or the items, and run it again"
    return "done: every item has what it needs"


def show(found: Preview, max_wcu: float | None, console: Console) -> None:
    """Show what would be set, on some items, and what all of it costs."""
    _show_failing(found.failures, console)
    if found.examples:
        shown = table(f"What {found.migration.name} would set, on some items")
        for column in ("item", "set"):
            shown.add_column(column, overflow="fold")
        for key, sets in found.examples:
            shown.add_row(_key(key), cell(_plain(sets)))
        console.print(shown)
    about = "" if found.whole else "about "
    units = found.of_all(found.source.total)
    reckoned = {
        "looked at": f"{found.sampled} of {about}{found.items} items of {found.table}",
        "would be updated": f"{about}{found.of_all(found.changing)}",
        **({"would fail": f"{about}{found.of_all(found.failing)}"} if found.failing else {}),
        "read units": f"{about}{found.read_units}",
        f"write units of {found.table}": f"{about}{units}, its own indexes included",
        "write units of the view": f"{about}{found.of_all(found.view.total)}, through the stream",
        **(
            {"takes at least": f"{units / max_wcu:.0f} s at {max_wcu:g} a second"}
            if max_wcu
            else {}
        ),
    }
    console.print(facts("Reckoned; nothing is written", reckoned))


def as_data(found: Preview) -> dict[str, Any]:
    """Show a preview as one JSON object."""
    return {
        "migration": found.migration.name,
        "table": found.table,
        "items": found.items,
        "sampled": found.sampled,
        "whole": found.whole,
        "would_update": found.of_all(found.changing),
        "would_fail": found.of_all(found.failing),
        "read_units": found.read_units,
        "write_units": found.of_all(found.source.total),
        "view_write_units": found.of_all(found.view.total),
        "examples": [{"key": key, "sets": sets} for key, sets in found.examples],
        "failing": [_failure(*one) for one in found.failures],
    }


def _show_failing(failing: Sequence[Failure], console: Console) -> None:
    if failing:
        shown = table("Some items that fail")
        for column in ("item", "why"):
            shown.add_column(column, overflow="fold")
        for key, error in failing:
            shown.add_row(_key(key), reason_of(error))
        console.print(shown)


def _failure(key: Attributes, error: RecordError) -> dict[str, Any]:
    return {"key": key, "reason": reason_of(error)}


def _key(key: Attributes) -> Cell:
    return cell(list(_plain(key).values()))


def _plain(attributes: Attributes) -> dict[str, Any]:
    return {name: plain(decode(value)) for name, value in attributes.items()}
