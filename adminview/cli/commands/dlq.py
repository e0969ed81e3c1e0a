"""`adminview dlq`: look through dead letters, replay them, discard them."""

import os
from json import dumps
from pathlib import Path
from time import time
from typing import Annotated

import typer

from adminview.aws.deadline import Deadline
from adminview.cli.dead_letters.audit import Audit
from adminview.cli.dead_letters.commands import (
    SECONDS,
    check_found,
    choose,
    discard_pile,
    look_through,
    replay_all,
    replayer_for,
    report_replayed,
    show_preview,
)
from adminview.cli.deployment.deployment import Deployment
from adminview.cli.deployment.find import invoke, replay_function_name
from adminview.cli.options import Error, Json, Key, NewerThan, OlderThan, Prefix, Source, Stage
from adminview.cli.output import dead_letters as letters
from adminview.cli.output.printing import Console, echo, print_json
from adminview.dead_letters.letter_filter import LetterFilter
from adminview.model.errors import QuestionError

app = typer.Typer(
    help="Look through dead letters; replay or discard them. "
    "One that was just sent or tried rests for some minutes, and nobody sees it.",
    no_args_is_help=True,
)

Id = Annotated[str, typer.Argument(metavar="ID", help="The letter's id, or its beginning.")]
OneId = Annotated[
    str | None, typer.Argument(metavar="[ID]", help="One letter's id, or its beginning.")
]


@app.command("list")
def list_(  # noqa: PLR0913 - the command's options
    *,
    source: Source = None,
    error: Error = None,
    key: Key = None,
    older_than: OlderThan = None,
    newer_than: NewerThan = None,
    limit: Annotated[int, typer.Option(help="Stop at about so many.", min=1)] = 100,
    json: Json = False,
    stage: Stage = None,
    prefix: Prefix = "",
) -> None:
    """List dead letters."""
    letter_filter = choose(
        source=source, error=error, key=key, older_than=older_than, newer_than=newer_than
    )
    replayer = replayer_for(Deployment.from_options(stage, prefix, os.environ))
    with look_through(replayer, letter_filter, limit) as peeked:
        if json:
            print_json(dumps([*letters.plain(peeked)]))
        else:
            Console().print(letters.table_of(peeked, time()))
    if not json:
        waiting = replayer.consumer.count(deadline=Deadline.after(SECONDS))
        echo(letters.footer(peeked, waiting))


@app.command()
def show(id_: Id, *, json: Json = False, stage: Stage = None, prefix: Prefix = "") -> None:
    """Show one letter whole."""
    with look_through(
        replayer_for(Deployment.from_options(stage, prefix, os.environ)), LetterFilter(id=id_)
    ) as peeked:
        bodies = [resolved.message.body for resolved in peeked.matched]
        bodies += [message.body for message, _ in peeked.unknown]
        check_found(bodies, id_)
        for body in bodies:
            if json:
                print_json(dumps(letters.whole(body)))
            else:
                Console().print(letters.letter(body))


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
            "--dry-run", help="Say what would be written and deleted (--json: a line each)."
        ),
    ] = False,
    deployed: Annotated[
        bool, typer.Option("--deployed", help="Let the deployed function do it.")
    ] = False,
    json: Json = False,
    stage: Stage = None,
    prefix: Prefix = "",
) -> None:
    """Reconcile what letters name with the sources; 1 if letters are left. Can be stopped."""
    letter_filter = choose(
        id=id_,
        source=source,
        error=error,
        key=key,
        older_than=older_than,
        newer_than=newer_than,
    )
    if deployed and dry_run:
        msg = "--deployed and --dry-run exclude each other: the dry run happens here"
        raise QuestionError(msg)
    deployment = Deployment.from_options(stage, prefix, os.environ)
    if deployed:
        summary = invoke(replay_function_name(deployment), letter_filter)
    elif dry_run:
        show_preview(replayer_for(deployment, writes=True), letter_filter, json=json)
        return
    else:
        summary = replay_all(replayer_for(deployment, writes=True), letter_filter)
    report_replayed(summary, deployment, json=json)


@app.command()
def discard(  # noqa: PLR0913 - the command's options
    id_: OneId = None,
    *,
    reason: Annotated[str, typer.Option(help="Why; it is written down.")],
    source: Source = None,
    error: Error = None,
    key: Key = None,
    older_than: OlderThan = None,
    newer_than: NewerThan = None,
    everything: Annotated[bool, typer.Option("--all", help="All letters there are.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    audit: Annotated[
        Path, typer.Option(help="Where discarded letters are written down, a line each.")
    ] = Path("adminview-audit.jsonl"),
    stage: Stage = None,
    prefix: Prefix = "",
) -> None:
    """Delete letters for good, after asking; what they said is written to the audit file first."""
    letter_filter = choose(
        id=id_,
        source=source,
        error=error,
        key=key,
        older_than=older_than,
        newer_than=newer_than,
    )
    if letter_filter == LetterFilter() and not everything:
        msg = "say which letters: by their id, source, error, key or age, or --all; see --help"
        raise QuestionError(msg)
    replayer = replayer_for(Deployment.from_options(stage, prefix, os.environ))
    with look_through(replayer, letter_filter) as peeked:
        count = discard_pile(replayer, peeked, Audit(audit), reason, yes=yes)
    rest = letters.resting(replayer.consumer.count(deadline=Deadline.after(SECONDS)))
    echo(f"{letters.many(count)} discarded{f'; see {audit}' if count else ''}{rest}")
