"""`adminview dlq`: look through dead letters, replay them, discard them."""

import os
from contextlib import AbstractContextManager
from json import dumps
from pathlib import Path
from time import time
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress

from cli import letters
from cli.audit import Audit
from cli.deployment import (
    check_model,
    check_queue,
    deployed_function,
    find_settings,
    invoke,
    known_source,
)
from cli.options import Error, Json, Key, NewerThan, OlderThan, Prefix, Source, Stage
from cli.stopping import stoppable
from lambdas.aws.deadline import Deadline
from lambdas.aws.runtime import Clients, streams_client
from lambdas.model.errors import QuestionError
from lambdas.repair.replay.browse import Pile, browse
from lambdas.repair.replay.choice import Choice
from lambdas.repair.replay.preview import preview
from lambdas.repair.replay.replayer import KEPT, Replayer
from lambdas.repair.runtime import make_replayer
from lambdas.views import registry

app = typer.Typer(
    help="Look through dead letters, replay them, discard them.", no_args_is_help=True
)

SECONDS = 60.0  # to look through the queue, or to put letters back
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
    choice = _choice(
        source=source, error=error, key=key, older_than=older_than, newer_than=newer_than
    )
    replayer = _replayer(stage, prefix)
    with _browse(replayer, choice, limit) as pile:
        if json:
            typer.echo(dumps([*letters.plain(pile)]))
        else:
            Console().print(letters.table_of(pile, time()))
    if not json:
        waiting = replayer.mailbox.count(until=Deadline.after(SECONDS))
        typer.echo(letters.footer(pile, waiting))


@app.command()
def show(id_: Id, *, json: Json = False, stage: Stage = None, prefix: Prefix = "") -> None:
    """Show one letter whole."""
    with _browse(_replayer(stage, prefix), Choice(id=id_)) as pile:
        bodies = [errand.message.body for errand in pile.meant]
        bodies += [message.body for message, _ in pile.unknown]
        _check_found(bodies, id_)
        for body in bodies:
            if json:
                typer.echo(dumps(letters.whole(body)))
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
    choice = _choice(
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
    if deployed:
        summary = invoke(deployed_function(stage, prefix), choice)
    elif dry_run:
        _preview(_replayer(stage, prefix, writes=True), choice, json=json)
        return
    else:
        summary = _replay(_replayer(stage, prefix, writes=True), choice)
    _tell(summary, stage, prefix, json=json)


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
    choice = _choice(
        id=id_,
        source=source,
        error=error,
        key=key,
        older_than=older_than,
        newer_than=newer_than,
    )
    if choice == Choice() and not everything:
        msg = "say which letters: by their id, source, error, key or age, or --all; see --help"
        raise QuestionError(msg)
    replayer = _replayer(stage, prefix)
    with _browse(replayer, choice) as pile:
        count = _discard(replayer, pile, Audit(audit), reason, yes=yes)
    rest = letters.resting(replayer.mailbox.count(until=Deadline.after(SECONDS)))
    typer.echo(f"{letters.many(count)} discarded{f'; see {audit}' if count else ''}{rest}")


def _discard(replayer: Replayer, pile: Pile, audit: Audit, reason: str, *, yes: bool) -> int:
    """Delete letters, after asking and after writing them down."""
    messages = [errand.message for errand in pile.meant]
    messages += [message for message, _ in pile.unknown]
    if not messages:
        return 0
    Console().print(letters.table_of(pile, time()))
    if not yes:
        typer.confirm(f"Discard {letters.many(len(messages))} for good?", abort=True)
    audit.write("discard", reason, messages)
    stayed = replayer.mailbox.delete(messages, until=Deadline.after(SECONDS))
    if stayed:
        msg = f"{letters.many(len(stayed))} could not be deleted, and are still in the queue"
        raise QuestionError(msg)
    return len(messages)


def _tell(summary: dict[str, Any], stage: str | None, prefix: str, *, json: bool) -> None:
    """Show what a replay came to, and whether any letter is left."""
    waiting = _replayer(stage, prefix).mailbox.count(until=Deadline.after(SECONDS))
    if json:
        typer.echo(dumps(summary | {"resting": waiting.resting}))
    else:
        Console().print(letters.summary(summary))
        typer.echo(letters.resting(waiting).removeprefix("; ") or "no letter rests")
    if waiting.resting or any(summary["fates"].get(fate) for fate in KEPT):
        raise typer.Exit(1)


def _choice(**chosen: Any) -> Choice:
    """Say which letters are meant, of a source that there is."""
    if chosen["source"] is not None:
        known_source(registry(), chosen["source"])
    return Choice(**chosen)


def _replayer(stage: str | None, prefix: str, *, writes: bool = False) -> Replayer:
    settings = find_settings(registry(), os.environ, stage, prefix)
    check_queue(settings)
    if writes:
        check_model(registry(), settings)
    return make_replayer(registry(), settings, Clients(), streams_client())


def _browse(
    replayer: Replayer, choice: Choice, limit: int | None = None
) -> AbstractContextManager[Pile]:
    return browse(
        replayer.mailbox,
        replayer.errands,
        choice=choice,
        now=time,
        until=Deadline.after(SECONDS),
        limit=limit,
    )


def _replay(replayer: Replayer, choice: Choice) -> dict[str, Any]:
    ready = replayer.mailbox.count(until=Deadline.after(SECONDS)).ready
    with stoppable() as stop, Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("replaying letters", total=ready)
        summary = replayer.replay(
            choice,
            until=stop.until,
            end=stop.end,
            tell=lambda *_: progress.advance(task),
        )
    return summary.as_dict()


def _preview(replayer: Replayer, choice: Choice, *, json: bool) -> None:
    with _browse(replayer, choice) as pile:
        for one in preview(replayer, pile.meant):
            if json:
                typer.echo(dumps(one.as_dict()))
            else:
                Console().print(letters.previewed(one))
        for message, why in pile.unknown:
            typer.echo(f"letter {message.id} is not understood: {why}", err=json)
    if not json:
        typer.echo("nothing was written or deleted: this was a dry run")


def _check_found(bodies: list[str], id_: str) -> None:
    if len(bodies) != 1:
        msg = (
            f"{len(bodies) or 'no'} letters have an id that begins with {id_!r}; "
            "`adminview dlq list` shows those that are not resting"
        )
        raise QuestionError(msg)
