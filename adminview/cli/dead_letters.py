"""The work of the `dlq` commands."""

from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from itertools import count
from json import dumps
from time import time
from typing import Any

import typer

from adminview.aws.boto3_clients import streams_client
from adminview.aws.clients import Clients
from adminview.aws.deadline import Deadline
from adminview.aws.endpoints import ENDPOINT, is_loopback
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
from adminview.cli.output.printing import Console, confirm, doing, echo, print_json
from adminview.cli.output.progress import progress_bar
from adminview.cli.private_files import Audit
from adminview.cli.shutdown import graceful_shutdown
from adminview.dead_letters.letter_filter import LetterFilter
from adminview.dead_letters.peek import PeekResult, browse
from adminview.dead_letters.preview import preview
from adminview.dead_letters.replay import LOCALLY, Replayer, make_replayer
from adminview.dead_letters.replay_summary import KEPT
from adminview.model.errors import AdminViewError, QueryError
from adminview.views import registry

SECONDS = 60.0  # to browse the queue, or to release messages
RECEIVED_SECONDS = 30  # a received message is invisible for so long, unless its queue says more


def discard_letters(
    replayer: Replayer, peeked: PeekResult, audit: Audit, reason: str, *, yes: bool
) -> int:
    """Delete dead letters after a confirmation and an audit entry. Returns how many."""
    messages = [resolved.message for resolved in peeked.matched]
    messages += [message for message, _ in peeked.unknown]
    if not messages:
        return 0
    Console().print(letters.letters_table(peeked, time()))
    if not yes:
        confirm(f"Discard {letters.count_letters(len(messages))} permanently?", abort=True)
    audit.write("discard", reason, messages)
    left = replayer.consumer.delete(messages, deadline=Deadline.after(SECONDS))
    if left:
        msg = f"{letters.count_letters(len(left))} could not be deleted: run the command again"
        raise AdminViewError(msg)
    return len(messages)


def report_replayed(summary: dict[str, Any], deployment: Deployment, *, json: bool) -> None:
    """Print the result of a replay. Exits with 1 if a dead letter is left or invisible."""
    replayer = replayer_for(deployment)
    waiting = replayer.consumer.count(deadline=Deadline.after(SECONDS))
    if json:
        print_json(dumps(summary | {"invisible": waiting.invisible}))
    else:
        Console().print(letters.summary(summary))
        note = letters.invisible_note(waiting, hidden_seconds(replayer)).removeprefix("; ")
        echo(note or "no dead letter is invisible")
    if waiting.invisible or any(summary["outcomes"].get(outcome) for outcome in KEPT):
        raise typer.Exit(1)


def make_filter(**fields: Any) -> LetterFilter:
    """Build a filter. Raises a QueryError if its source is not declared."""
    if fields["source"] is not None:
        known_source(registry(), fields["source"])
    return LetterFilter(**fields)


def replayer_for(deployment: Deployment, *, writes: bool = False) -> Replayer:
    """Connect to a deployment's queue. One that *writes* requires the deployed model."""
    settings = find_settings(registry(), deployment)
    check_queue(settings)
    endpoint = deployment.environ.get(ENDPOINT, "") if deployment.local else ""
    patience = LOCALLY if is_loopback(endpoint) else None
    replayer = make_replayer(registry(), settings, Clients(), streams_client(), patience)
    if not writes:
        return replayer
    check_model(registry(), settings)
    recheck = partial(check_deployed, registry(), deployment)
    return replace(replayer, check=Throttled(recheck))


def hidden_seconds(replayer: Replayer) -> int:
    """Return how long a dead letter stays invisible after a try, at most."""
    return max(replayer.retry_seconds, RECEIVED_SECONDS)


def browse_letters(
    replayer: Replayer, letter_filter: LetterFilter, limit: int | None = None
) -> AbstractContextManager[PeekResult]:
    """Receive the selected dead letters, and release them at the end."""
    doing("receiving dead letters")
    return browse(
        replayer.consumer,
        replayer.resolver,
        letter_filter=letter_filter,
        now=time,
        deadline=Deadline.after(SECONDS),
        limit=limit,
    )


def replay_all(replayer: Replayer, letter_filter: LetterFilter) -> dict[str, Any]:
    """Replay dead letters until none is ready, or until stopped."""
    ready = replayer.consumer.count(deadline=Deadline.after(SECONDS)).ready
    done = count(1)
    with graceful_shutdown() as stop, progress_bar("dead letters", ready) as move:
        summary = replayer.replay(
            letter_filter,
            deadline=stop.deadline,
            end=stop.end,
            report_error=lambda *_: move(next(done)),
        )
    return summary.as_dict()


def show_preview(replayer: Replayer, letter_filter: LetterFilter, *, json: bool) -> None:
    """Print what a replay would do."""
    with browse_letters(replayer, letter_filter) as peeked:
        for previewed in preview(replayer, peeked.matched):
            if json:
                print_json(dumps(previewed.as_dict()))
            else:
                Console().print(letters.preview_table(previewed))
        for message, why in peeked.unknown:
            echo(f"dead letter {message.id} is unreadable: {why}", err=json)
    if not json:
        if not len(peeked):
            echo("no dead letter is ready")
        waiting = replayer.consumer.count(deadline=Deadline.after(SECONDS))
        invisible = letters.invisible_note(waiting, hidden_seconds(replayer))
        echo(f"dry run: nothing was written or deleted{invisible}")


def check_single_match(count: int, id_: str) -> None:
    """Raise a QueryError unless exactly one dead letter has the id."""
    if count != 1:
        matching = f"{count} dead letters have" if count else "no dead letter has"
        msg = (
            f"{matching} an id that begins with {id_!r}; "
            "a dead letter whose replay fails gets a new id; `adminview dlq list` lists the dead "
            "letters that are visible"
        )
        raise QueryError(msg)
