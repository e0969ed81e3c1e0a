"""What the `dlq` commands do."""

from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from json import dumps
from time import time
from typing import Any

import typer
from rich.progress import Progress

from adminview.aws.boto3_clients import streams_client
from adminview.aws.clients import Clients
from adminview.aws.deadline import Deadline
from adminview.cli.dead_letters.audit import Audit
from adminview.cli.deployment.deployment import Deployment
from adminview.cli.deployment.find import (
    Throttled,
    check_deployed,
    check_model,
    check_queue,
    find_settings,
    known_source,
)
from adminview.cli.output import dead_letters as letters
from adminview.cli.output.printing import Console, confirm, echo, print_json
from adminview.cli.shutdown import graceful_shutdown
from adminview.dead_letters.letter_filter import LetterFilter
from adminview.dead_letters.peek import PeekResult, browse
from adminview.dead_letters.preview import preview
from adminview.dead_letters.replay import KEPT, Replayer, make_replayer
from adminview.model.errors import QuestionError
from adminview.views import registry

SECONDS = 60.0  # to look through the queue, or to put letters back


def discard_pile(
    replayer: Replayer, peeked: PeekResult, audit: Audit, reason: str, *, yes: bool
) -> int:
    """Delete letters, after asking and after writing them down."""
    messages = [resolved.message for resolved in peeked.matched]
    messages += [message for message, _ in peeked.unknown]
    if not messages:
        return 0
    Console().print(letters.table_of(peeked, time()))
    if not yes:
        confirm(f"Discard {letters.many(len(messages))} for good?", abort=True)
    audit.write("discard", reason, messages)
    stayed = replayer.consumer.delete(messages, deadline=Deadline.after(SECONDS))
    if stayed:
        msg = f"{letters.many(len(stayed))} could not be deleted, and are still in the queue"
        raise QuestionError(msg)
    return len(messages)


def report_replayed(summary: dict[str, Any], deployment: Deployment, *, json: bool) -> None:
    """Show what a replay came to, and whether any letter is left."""
    waiting = replayer_for(deployment).consumer.count(deadline=Deadline.after(SECONDS))
    if json:
        print_json(dumps(summary | {"resting": waiting.resting}))
    else:
        Console().print(letters.summary(summary))
        echo(letters.resting(waiting).removeprefix("; ") or "no letter rests")
    if waiting.resting or any(summary["outcomes"].get(outcome) for outcome in KEPT):
        raise typer.Exit(1)


def choose(**chosen: Any) -> LetterFilter:
    """Say which letters are meant, of a source that there is."""
    if chosen["source"] is not None:
        known_source(registry(), chosen["source"])
    return LetterFilter(**chosen)


def replayer_for(deployment: Deployment, *, writes: bool = False) -> Replayer:
    """Find a deployment's queue; to write, it must have the view files that are here."""
    settings = find_settings(registry(), deployment)
    check_queue(settings)
    made = make_replayer(registry(), settings, Clients(), streams_client())
    if not writes:
        return made
    check_model(registry(), settings)
    again = partial(check_deployed, registry(), deployment)
    return replace(made, check=Throttled(again))


def look_through(
    replayer: Replayer, letter_filter: LetterFilter, limit: int | None = None
) -> AbstractContextManager[PeekResult]:
    """Take up the letters that are meant, to be put back."""
    return browse(
        replayer.consumer,
        replayer.resolver,
        letter_filter=letter_filter,
        now=time,
        deadline=Deadline.after(SECONDS),
        limit=limit,
    )


def replay_all(replayer: Replayer, letter_filter: LetterFilter) -> dict[str, Any]:
    """Replay letters until none is ready, or until stopped."""
    ready = replayer.consumer.count(deadline=Deadline.after(SECONDS)).ready
    with (
        graceful_shutdown() as stop,
        Progress(console=Console(stderr=True), transient=True) as progress,
    ):
        task = progress.add_task("replaying letters", total=ready)
        summary = replayer.replay(
            letter_filter,
            deadline=stop.deadline,
            end=stop.end,
            report_error=lambda *_: progress.advance(task),
        )
    return summary.as_dict()


def show_preview(replayer: Replayer, letter_filter: LetterFilter, *, json: bool) -> None:
    """Say what a replay would do."""
    with look_through(replayer, letter_filter) as peeked:
        for one in preview(replayer, peeked.matched):
            if json:
                print_json(dumps(one.as_dict()))
            else:
                Console().print(letters.previewed(one))
        for message, why in peeked.unknown:
            echo(f"letter {message.id} is not understood: {why}", err=json)
    if not json:
        echo("nothing was written or deleted: this was a dry run")


def check_found(bodies: list[str], id_: str) -> None:
    """Refuse an id that is not one letter's."""
    if len(bodies) != 1:
        msg = (
            f"{len(bodies) or 'no'} letters have an id that begins with {id_!r}; "
            "`adminview dlq list` shows those that are not resting"
        )
        raise QuestionError(msg)
