"""Previews and outcomes of migrations, as text and as JSON."""

import json
from collections.abc import Sequence
from typing import Any

from adminview.cli.bulk.migration_preview import Preview
from adminview.cli.bulk.segment_pool import SegmentOutcome
from adminview.cli.output.bulk import DONE, FAILURES, UNFINISHED, outcome_data
from adminview.cli.output.printing import Cell, Console, TextTable
from adminview.cli.output.tables import cell, facts, plain
from adminview.model.errors import RecordError, reason_of
from adminview.model.item import decode
from adminview.model.row import Attributes

LABELS = {
    "items": "scanned",
    "updated": "updated",
    "right": "complete already, or not selected by the filter",
    "gone": "deleted during the run",
    "moved": "not migrated, because they kept changing",
    "failed": "failed",
}

Failure = tuple[Attributes, RecordError]


def show_outcome(
    outcome: SegmentOutcome, failing: Sequence[Failure], console: Console, *, as_json: bool
) -> None:
    """Print the outcome of a migration and some of the failing items."""
    if as_json:
        failures = [_failure(*failure) for failure in failing]
        data = outcome_data(outcome) | {"status": status(outcome), "failing": failures}
        console.write_json(json.dumps(data, indent=2))
    else:
        _show_failing(failing, console)
        counts = {
            label: outcome.counts[name] for name, label in LABELS.items() if outcome.counts[name]
        }
        console.print(facts(outcome.run if outcome.finished else f"{outcome.run}, so far", counts))
        conclusion = verdict(outcome)
        if outcome.finished and outcome.counts["failed"] and not failing:
            name = outcome.run.partition("/")[2]
            conclusion += f"; `adminview migrate {name} --dry-run --all` shows which"
        console.print(conclusion, soft_wrap=True)


def status(outcome: SegmentOutcome) -> int:
    if not outcome.finished:
        return UNFINISHED
    return FAILURES if outcome.counts["failed"] or outcome.counts["moved"] else DONE


def verdict(outcome: SegmentOutcome) -> str:
    if not outcome.finished:
        return f"{outcome.trouble}; the same command resumes it"
    left = outcome.counts["failed"] + outcome.counts["moved"]
    if left:
        return f"done, except for {left} items: fix the migration or the items, and run it again"
    return "done: every item is complete"


def show(preview: Preview, max_wcu: float | None, console: Console) -> None:
    """Print example updates and the estimated cost of the migration."""
    _show_failing(preview.failures, console)
    if preview.examples:
        title = f"Attributes that {preview.migration.name} would set on some items"
        examples = TextTable(title, "item", "set")
        for key, sets in preview.examples:
            examples.add_row(_key(key), cell(_plain(sets)))
        console.print(examples)
    about = "" if preview.whole else "about "
    units = preview.of_all(preview.source.total)
    view_units = preview.of_all(preview.view.total)
    estimate = {
        "sampled": f"{preview.sampled} of {about}{preview.items} items of {preview.table}",
        "would be updated": f"{about}{preview.of_all(preview.changing)}",
        **({"would fail": f"{about}{preview.of_all(preview.failing)}"} if preview.failing else {}),
        "read units": f"{about}{preview.read_units}",
        f"write units of {preview.table}": f"{about}{units}, including its indexes",
        "write units of the view": f"{about}{view_units}, through the stream",
        **(
            {"takes at least": f"{units / max_wcu:.0f} s at {max_wcu:g} units per second"}
            if max_wcu
            else {}
        ),
    }
    console.print(facts("Estimate; nothing is written", estimate))


def as_data(preview: Preview) -> dict[str, Any]:
    return {
        "migration": preview.migration.name,
        "table": preview.table,
        "items": preview.items,
        "sampled": preview.sampled,
        "whole": preview.whole,
        "would_update": preview.of_all(preview.changing),
        "would_fail": preview.of_all(preview.failing),
        "read_units": preview.read_units,
        "write_units": preview.of_all(preview.source.total),
        "view_write_units": preview.of_all(preview.view.total),
        "examples": [{"key": key, "sets": sets} for key, sets in preview.examples],
        "failing": [_failure(*failure) for failure in preview.failures],
    }


def _show_failing(failing: Sequence[Failure], console: Console) -> None:
    if failing:
        failures = TextTable("Some items that fail", "item", "why")
        for key, error in failing:
            failures.add_row(_key(key), reason_of(error))
        console.print(failures)


def _failure(key: Attributes, error: RecordError) -> dict[str, Any]:
    return {"key": key, "reason": reason_of(error)}


def _key(key: Attributes) -> Cell:
    return cell(list(_plain(key).values()))


def _plain(attributes: Attributes) -> dict[str, Any]:
    return {name: plain(decode(value)) for name, value in attributes.items()}
