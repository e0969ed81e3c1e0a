"""Dead letters in, reconciled items out."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from lambdas.aws.deadline import Deadline
from lambdas.aws.observability import Observability
from lambdas.aws.runtime import LONGEST_CALL, Invocation
from lambdas.model.errors import SettingsError
from lambdas.repair.choice import Choice
from lambdas.repair.replay import Replayer
from lambdas.repair.runtime import replayer

# Letters are deleted or written anew at the end of a round, in calls that may take this long each.
DELETES_RESERVE = 4 * LONGEST_CALL
ROUND_RESERVE = DELETES_RESERVE + 4 * LONGEST_CALL
FIELDS = tuple(field.name for field in fields(Choice))  # that an event may choose letters by


def handler(event: Mapping[str, Any], context: Invocation) -> dict[str, Any]:
    """Replay the letters that are ready, and say what became of them."""
    return replay(event, context, replayer(), Observability())


def replay(
    event: Mapping[str, Any], context: Invocation, with_: Replayer, observer: Observability
) -> dict[str, Any]:
    """Replay letters with a given replayer."""
    observer.invoked(context)
    end = Deadline.after(context.get_remaining_time_in_millis() / 1000)
    summary = with_.replay(
        _choice(event), until=end.earlier(ROUND_RESERVE), end=end.earlier(LONGEST_CALL)
    ).as_dict()
    observer.replayed(summary)
    return summary


def _choice(event: Mapping[str, Any]) -> Choice:
    """Read which letters are meant; an empty event means all of them."""
    unknown = sorted(event.keys() - {*FIELDS})
    if unknown:
        msg = f"the event holds {', '.join(unknown)}; letters are chosen by {', '.join(FIELDS)}"
        raise SettingsError(msg)
    return Choice(**event)
