"""Checks that the sync reads the sources' streams.

A backfill of a source whose stream is not read would miss changes for good.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from adminview.aws.deadline import Deadline
from adminview.aws.retry import Backoff, call_with_retry
from adminview.model.errors import ServiceError, SettingsError

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

ENABLED = "Enabled"
ABSENT = UNKNOWN, GONE = "unknown: deploy the sync first", "deleted: deploy the sync again"


def check_followed(
    client: "LambdaClient",
    mappings: Mapping[str, str],  # source name -> UUID of the mapping of its stream
    sources: Iterable[str],
    deadline: Callable[[], Deadline],
) -> None:
    """Raise a SettingsError unless the event source mapping of each source is enabled."""
    for source in sources:
        uuid = mappings.get(source)
        state = _state(client, uuid, deadline())
        if state not in (ENABLED, *ABSENT):
            state += (
                f": enable it (aws lambda update-event-source-mapping --enabled --uuid {uuid}), "
                "and start when its state is Enabled"
            )
        if state != ENABLED:
            msg = (
                f"the stream of {source!r} is not read: a backfill would miss changes; "
                f"its event source mapping is {state}"
            )
            raise SettingsError(msg)


def _state(client: "LambdaClient", uuid: str | None, deadline: Deadline) -> str:
    if uuid is None:
        return UNKNOWN
    call, action = client.get_event_source_mapping, "read an event source mapping"
    try:
        return str(call_with_retry(call, action, Backoff(), deadline, UUID=uuid)["State"])
    except ServiceError as error:
        if error.code != "ResourceNotFoundException":
            raise
        return GONE
