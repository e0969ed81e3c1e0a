"""Checks 1, 2 and 15: items become rows or dead letters, and the owner index follows."""

from typing import Any, Final

from adminview.cli.smoke.check import (
    Cleanup,
    Seen,
    SmokeCheck,
    UnknownError,
    failed,
    passed,
    unknown,
)
from adminview.cli.smoke.run import SmokeRun
from adminview.cli.smoke.scratch import Rows, ScratchItem, changed_item, poison_item
from adminview.dead_letters.letter_filter import LetterFilter
from adminview.dead_letters.replay_summary import KEPT
from adminview.model.row import (
    DATA,
    OWNER,
    OWNER_INDEX,
    PROVENANCE,
    RECONCILED,
    key_image,
    provenance,
)
from adminview.reconcile.equality import equivalent

# The first item may meet a mapping that has just been created, and a cold start.
FIRST_SECONDS, NEXT_SECONDS = 180.0, 60.0
# A scheduled replay may receive the dead letter first: then it is invisible for six minutes.
LETTER_SECONDS: Final = 450.0
SECOND_LETTER_SECONDS: Final = 60.0
CAUGHT_UP_SECONDS: Final = 60.0  # the replay and bulk work depend on it
DOCTOR: Final = "adminview doctor names what is wrong with the stream, the mapping or the function"


def move_rows(run: SmokeRun, cleanup: Cleanup) -> Seen:
    """Put, change and delete an item of each source, and time its rows."""
    lines: list[str] = []
    unchecked: list[str] = []
    wrong: list[str] = []
    advice = ""
    for source in run.routes:
        try:
            item = run.scratch(source)
        except UnknownError as error:
            unchecked.append(str(error))
            advice = advice or error.follows
            continue
        problem, line = _move(run, cleanup, item)
        (wrong if problem else lines).append(f"{source}: {problem or line}")
    if wrong:
        return failed("; ".join([*wrong, *lines, *unchecked]), DOCTOR)
    if unchecked:
        return unknown("; ".join([*lines, *unchecked]), advice)
    return passed("; ".join(lines))


def _move(run: SmokeRun, cleanup: Cleanup, item: ScratchItem) -> tuple[str, str]:
    """Return what is wrong with the rows of one item, and how long each step took."""
    variant = changed_item(item, run.images(item.route.source.name))
    run.put(item, cleanup)
    missing, seconds = _await(run, item.rows, {}, FIRST_SECONDS)
    line = f"{len(item.rows)} rows {seconds:.1f} s after the put"
    if missing:
        return f"{missing} after the put, within {seconds:.0f} s", ""
    rows = item.rows
    if variant:
        run.change(variant)
        missing, seconds = _await(run, variant.rows, rows, NEXT_SECONDS)
        if missing:
            return f"{missing} after the change, within {seconds:.0f} s", ""
        moved = len(rows.keys() - variant.rows.keys())
        line += f", {moved} moved {seconds:.1f} s after a change"
        rows = {**rows, **variant.rows}
    else:
        line += ", no change of the sample item changes its rows"
    run.delete(item)
    missing, seconds = _await(run, {}, rows, NEXT_SECONDS)
    if missing:
        return f"{missing} after the deletion, within {seconds:.0f} s", ""
    return "", f"{line}, all gone {seconds:.1f} s after the deletion"


def _await(run: SmokeRun, rows: Rows, before: Rows, seconds: float) -> tuple[str, float]:
    """Wait until exactly *rows* exist of *rows* and *before*; return what is wrong at the end."""
    differences: list[str] = []

    def settled() -> bool:
        differences[:] = []
        absent = [key for key, row in rows.items() if not _is_row(run, key, row)]
        stale = [key for key in before if key not in rows and run.row(key)]
        if absent:
            differences.append(f"{len(absent)} of {len(rows)} rows are missing or wrong")
        if stale:
            differences.append(f"{len(stale)} rows are stale")
        return not differences

    _, passed_seconds = run.wait(settled, seconds)
    return ", ".join(differences), passed_seconds


def _is_row(run: SmokeRun, key: tuple[str, str], expected: Any) -> bool:
    row = run.row(key)
    return row is not None and equivalent(
        {name: value for name, value in row.items() if name not in PROVENANCE}, expected
    )


def replay_poison(run: SmokeRun, cleanup: Cleanup) -> Seen:
    """Put an item for which a view fails; correct it, and replay its dead letters."""
    item, poison = _poison(run)
    letters = run.letters
    run.put(item, cleanup, poison)
    errors, seconds = run.wait(lambda: letters.errors_of(item.owner), LETTER_SECONDS)
    if not errors:
        return failed(f"no dead letter within {seconds:.0f} s", DOCTOR)
    line = f"a dead letter ({errors[0]}) could be received {seconds:.0f} s after the put"
    run.change(item)
    missing, _ = _await(run, item.rows, {}, NEXT_SECONDS)
    if missing:
        return failed(f"{line}; {missing} after the item was corrected", DOCTOR)
    # The correction is dead-lettered too: its image before cannot be derived.
    run.wait(lambda: len(letters.errors_of(item.owner)) > 1, SECOND_LETTER_SECONDS)
    summary = letters.replay(LetterFilter(key=item.owner))
    kept = sum(summary["outcomes"].get(outcome, 0) for outcome in KEPT)
    left = letters.errors_of(item.owner)
    missing, _ = _await(run, item.rows, {}, NEXT_SECONDS)
    if kept or left or missing:
        words = f"{line}; after the replay {max(kept, len(left))} are left"
        return failed(
            "; ".join(filter(None, [words, missing])),
            "read the section on dead letters in docs/runbook.md",
        )
    replayed = sum(summary["outcomes"].values())
    return passed(f"{line}; a replay cleared {replayed} and the rows are right")


def _poison(run: SmokeRun) -> tuple[ScratchItem, Any]:
    problem = UnknownError(
        "no change of a sample item makes a view fail", "add items with more attributes"
    )
    for source in run.routes:
        try:
            item = run.scratch(source, "poison-")
        except UnknownError as error:
            problem = error
            continue
        if poison := poison_item(item):
            return item, poison
    raise problem


def follow_owner_index(run: SmokeRun, cleanup: Cleanup) -> Seen:
    """Write a row, and wait until the owner index lists it."""
    owner, key = f"smoke/{run.mark}", (f"SMOKE#{run.mark}", "OWNER")
    stamp = provenance(owner, RECONCILED, run.now(), run.model.fingerprint)
    run.put_row({**key_image(key), DATA: {"M": {}}, **stamp}, cleanup)

    def listed() -> Any:
        return run.call(
            "dynamodb",
            "Query",
            TableName=run.settings.view_table,
            IndexName=OWNER_INDEX.name,
            KeyConditionExpression="#owner = :owner",
            ExpressionAttributeNames={"#owner": OWNER},
            ExpressionAttributeValues={":owner": {"S": owner}},
        )["Items"]

    rows, seconds = run.wait(listed, CAUGHT_UP_SECONDS)
    if rows:
        return passed(f"the index listed a row {seconds:.1f} s after its write")
    advice = "report it: replay and bulk work wait too briefly for this table"
    return failed(f"the index did not list a row within {seconds:.0f} s", advice)


CHECKS: Final = (
    SmokeCheck(
        1,
        "An item that is put, changed and deleted moves its rows",
        "exactly the rows that the view files derive, within seconds of each write",
        move_rows,
        minutes=1,
        cents=0.1,
    ),
    SmokeCheck(
        2,
        "An item that cannot be synced becomes a dead letter, and a replay clears it",
        "a dead letter after about 30 s; after the item is corrected, a replay leaves none",
        replay_poison,
        minutes=2,
        cents=0.1,
    ),
    SmokeCheck(
        15,
        "The owner index lists a new row within a minute",
        "replays and bulk work find every row by its owner 60 s after it was written",
        follow_owner_index,
        minutes=0.1,
        cents=0.1,
        only_on_aws=True,
    ),
)
