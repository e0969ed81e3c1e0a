"""The replay function: dead letters in, reconciled items out."""

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
from adminview.runtime import InvocationContext, read_settings
from adminview.views import registry

# Dead letters are deleted or replaced at the end of a round, in several calls.
DELETES_RESERVE = 4 * LONGEST_CALL
ROUND_RESERVE = DELETES_RESERVE + 4 * LONGEST_CALL
SECONDS = {"older_than", "newer_than"}
# The filter fields of an event.
TYPES: Mapping[str, Any] = {
    field.name: int | float if field.name in SECONDS else str for field in fields(LetterFilter)
}


@cache
def replayer() -> Replayer:
    """Build the replayer of this container from its environment, once."""
    return make_replayer(registry(), read_settings(), Clients(), streams_client())


def handle(event: Mapping[str, Any], context: InvocationContext) -> dict[str, Any]:
    """Replay the visible dead letters that match the event, and return the summary."""
    service = Settings.from_env(os.environ).service
    return replay(event, context, replayer(), Observability(service=service))


def replay(
    event: Mapping[str, Any],
    context: InvocationContext,
    replayer: Replayer,
    observer: Observability,
) -> dict[str, Any]:
    """Replay dead letters; raise a SettingsError if the event is invalid."""
    observer.invoked(context.aws_request_id)
    end = Deadline.after(context.get_remaining_time_in_millis() / 1000)
    summary = replayer.replay(
        _read_filter(event), deadline=end.earlier(ROUND_RESERVE), end=end.earlier(LONGEST_CALL)
    ).as_dict()
    observer.replayed(summary)
    return summary


def _read_filter(event: Mapping[str, Any]) -> LetterFilter:
    """Read the filter of an event; an empty event matches all dead letters."""
    unknown = sorted(event.keys() - TYPES.keys()) if isinstance(event, dict) else ["no JSON object"]
    if unknown:
        msg = (
            f"unknown fields: {', '.join(unknown)}; dead letters are filtered by {', '.join(TYPES)}"
        )
        raise SettingsError(msg)
    for name, value in event.items():
        if isinstance(value, bool) or not isinstance(value, TYPES[name] | None) or _is_nan(value):
            expected = "number" if name in SECONDS else "string"
            msg = f"the event's {name} must be a {expected}, not a {type(value).__name__}"
            raise SettingsError(msg)
    return LetterFilter(**event)


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and isnan(value)
