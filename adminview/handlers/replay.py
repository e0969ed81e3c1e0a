"""Dead letters in, reconciled items out."""

import os
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from math import isnan
from typing import Any

from adminview.aws.boto3_clients import streams_client
from adminview.aws.clients import Clients
from adminview.aws.deadline import LONGEST_CALL, Deadline
from adminview.aws.observability import Observability
from adminview.aws.settings import Settings
from adminview.dead_letters.letter_filter import LetterFilter
from adminview.dead_letters.replay import Replayer, make_replayer
from adminview.model.errors import SettingsError
from adminview.runtime import Invocation, read_settings
from adminview.views import registry

# Letters are deleted or written anew at the end of a round, in calls that may take this long each.
DELETES_RESERVE = 4 * LONGEST_CALL
ROUND_RESERVE = DELETES_RESERVE + 4 * LONGEST_CALL
SECONDS = {"older_than", "newer_than"}
# What an event may choose letters by.
TYPES: Mapping[str, Any] = {
    field.name: int | float if field.name in SECONDS else str for field in fields(LetterFilter)
}


@cache
def replayer() -> Replayer:
    """Make the replayer of this container from its environment."""
    return make_replayer(registry(), read_settings(), Clients(), streams_client())


def handle(event: Mapping[str, Any], context: Invocation) -> dict[str, Any]:
    """Replay the letters that are ready, and say what became of them."""
    service = Settings.from_env(os.environ).service
    return replay(event, context, replayer(), Observability(service=service))


def replay(
    event: Mapping[str, Any], context: Invocation, replayer: Replayer, observer: Observability
) -> dict[str, Any]:
    """Replay letters with a given replayer."""
    observer.invoked(context)
    end = Deadline.after(context.get_remaining_time_in_millis() / 1000)
    summary = replayer.replay(
        _choice(event), deadline=end.earlier(ROUND_RESERVE), end=end.earlier(LONGEST_CALL)
    ).as_dict()
    observer.replayed(summary)
    return summary


def _choice(event: Mapping[str, Any]) -> LetterFilter:
    """Read which letters are meant; an empty event means all of them."""
    unknown = sorted(event.keys() - TYPES.keys()) if isinstance(event, dict) else ["no object"]
    if unknown:
        msg = f"the event holds {', '.join(unknown)}; letters are chosen by {', '.join(TYPES)}"
        raise SettingsError(msg)
    for name, value in event.items():
        if isinstance(value, bool) or not isinstance(value, TYPES[name] | None) or _is_nan(value):
            msg = f"the event's {name} is a {type(value).__name__}"
            raise SettingsError(msg)
    return LetterFilter(**event)


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and isnan(value)
