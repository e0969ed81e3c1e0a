"""`adminview dlq`: list, show, replay and discard dead letters."""

from json import dumps
from pathlib import Path
from time import time
from typing import Annotated

import typer

from adminview.aws.deadline import Deadline
from adminview.cli.dead_letters import (
    SECONDS,
    browse_letters,
    check_single_match,
    discard_letters,
    hidden_seconds,
    make_filter,
    replay_all,
    replayer_for,
    report_replayed,
    show_preview,
)
from adminview.cli.deployment.deployment import Deployment
from adminview.cli.deployment.find import invoke, replay_function_name
from adminview.cli.options import (
    Error,
    Json,
    Key,
    NewerThan,
    OlderThan,
    Prefix,
    Source,
    Stage,
    Yes,
)
from adminview.cli.output import dead_letters as letters
from adminview.cli.output.printing import Console, echo, print_json
from adminview.cli.private_files import AUDIT, Audit
from adminview.dead_letters.letter_filter import LetterFilter
from adminview.model.reason import LEAST_WORDS, says_why

app = typer.Typer(
    help="List, show, replay or discard dead letters.\n\n"
    "A dead letter is invisible for 30 seconds after it was sent (for six minutes if a write of "
    "its rows may still arrive), and for six minutes after a failed replay; on a local engine, "
    "for up to 30 seconds.",
    no_args_is_help=True,
)


def _check_reason(reason: str) -> str:
    if not says_why(reason):
        msg = f"give a reason of {LEAST_WORDS} words or more"
        raise typer.BadParameter(msg)
    return reason


Reason = Annotated[
    str, typer.Option(help="Reason, recorded in the audit file.", callback=_check_reason)
]
Id = Annotated[
    str,
    typer.Argument(
        metavar="ID", help="Id of a dead letter, or its beginning. A failed replay changes the id."
    ),
]
OneId = Annotated[
    str | None, typer.Argument(metavar="[ID]", help="Id of one dead letter, or its beginning.")
]


@app.command("list")
def list_(  # noqa: PLR0913 - the command's options
    *,
    source: Source = None,
    error: Error = None,
    key: Key = None,
    older_than: OlderThan = None,
    newer_than: NewerThan = None,
    limit: Annotated[
        int, typer.Option(help="Stop after about this many dead letters.", min=1)
    ] = 100,
    json: Json = False,
    stage: Stage = None,
    prefix: Prefix = "",
) -> None:
    """List dead letters."""
    letter_filter = make_filter(
        source=source, error=error, key=key, older_than=older_than, newer_than=newer_than
    )
    replayer = replayer_for(Deployment.from_options(stage, prefix))
    with browse_letters(replayer, letter_filter, limit) as peeked:
        if json:
            print_json(dumps([*letters.letters_data(peeked)]))
        else:
            Console().print(letters.letters_table(peeked, time()))
    if not json:
        waiting = replayer.consumer.count(deadline=Deadline.after(SECONDS))
        echo(letters.footer(peeked, waiting, hidden_seconds(replayer)))


@app.command()
def show(id_: Id, *, json: Json = False, stage: Stage = None, prefix: Prefix = "") -> None:
    """Show everything in one dead letter."""
    with browse_letters(
        replayer_for(Deployment.from_options(stage, prefix)), LetterFilter(id=id_)
    ) as peeked:
        bodies = [resolved.message.body for resolved in peeked.matched]
        bodies += [message.body for message, _ in peeked.unknown]
        check_single_match(len(bodies), id_)
        for body in bodies:
            if json:
                print_json(dumps(letters.parse_body(body)))
            else:
                Console().print(letters.letter_table(body))


@app.command()
def replay(  # noqa: PLR0913 - the command's options
    id_: OneId = None,
    *,
    source: Source = None,
    error: Error = None,
    key: Key = None,
    older_than: OlderThan = None,
    newer_than: NewerThan = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Print what would be written and deleted (--json: one object per line).",
        ),
    ] = False,
    deployed: Annotated[
        bool, typer.Option("--deployed", help="Invoke the deployed replay function.")
    ] = False,
    json: Json = False,
    stage: Stage = None,
    prefix: Prefix = "",
) -> None:
    """Replay dead letters: reconcile their items with the sources.

    It can be interrupted; dead letters that were not replayed stay in the queue.

    Exit status: 0 no dead letter is left, 1 some are left or invisible.
    """
    letter_filter = make_filter(
        id=id_,
        source=source,
        error=error,
        key=key,
        older_than=older_than,
        newer_than=newer_than,
    )
    if deployed and dry_run:
        msg = "--deployed and --dry-run exclude each other: a dry run is always local"
        raise typer.BadParameter(msg)
    deployment = Deployment.from_options(stage, prefix)
    if deployed:
        summary = invoke(replay_function_name(deployment), letter_filter)
    elif dry_run:
        show_preview(replayer_for(deployment, writes=True), letter_filter, json=json)
        return
    else:
        summary = replay_all(replayer_for(deployment, writes=True), letter_filter)
    if id_ is not None and not any(summary["outcomes"].values()):
        check_single_match(0, id_)
    report_replayed(summary, deployment, json=json)


@app.command()
def discard(  # noqa: PLR0913 - the command's options
    id_: OneId = None,
    *,
    reason: Reason,
    source: Source = None,
    error: Error = None,
    key: Key = None,
    older_than: OlderThan = None,
    newer_than: NewerThan = None,
    everything: Annotated[bool, typer.Option("--all", help="All dead letters.")] = False,
    yes: Yes = False,
    audit: Annotated[
        Path,
        typer.Option(
            help="Audit file that records discarded dead letters, one per line.", dir_okay=False
        ),
    ] = AUDIT,
    stage: Stage = None,
    prefix: Prefix = "",
) -> None:
    """Delete dead letters permanently, after a confirmation.

    Their content is written to the audit file first.
    """
    letter_filter = make_filter(
        id=id_,
        source=source,
        error=error,
        key=key,
        older_than=older_than,
        newer_than=newer_than,
    )
    if letter_filter == LetterFilter() and not everything:
        msg = "select dead letters by id, --source, --error, --key or age, or give --all"
        raise typer.BadParameter(msg)
    replayer = replayer_for(Deployment.from_options(stage, prefix))
    with browse_letters(replayer, letter_filter) as peeked:
        if id_ is not None:
            check_single_match(len(peeked), id_)
        count = discard_letters(replayer, peeked, Audit(audit), reason, yes=yes)
    waiting = replayer.consumer.count(deadline=Deadline.after(SECONDS))
    invisible = letters.invisible_note(waiting, hidden_seconds(replayer))
    echo(f"{letters.count_letters(count)} discarded{f'; see {audit}' if count else ''}{invisible}")
