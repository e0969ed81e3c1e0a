"""The totals function: changes of rows in, exact counts and sums out.

It follows the stream of AdminViewTable with a tumbling window, because only the events of a window
name the shard. The window's own state stays empty: it is lost with its shard, a position is not.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from time import time
from typing import Any, Protocol, TypedDict

from adminview.aws.call_errors import CallErrors
from adminview.aws.clients import Clients, find_endpoint, http_client
from adminview.aws.deadline import LONGEST_CALL, Deadline
from adminview.aws.observability import TotalsObserver
from adminview.aws.settings import TotalsSettings
from adminview.aws.totals_table import Boto3Updater, HttpUpdater, TotalsTable
from adminview.handlers.sync import BatchItemFailure
from adminview.model.errors import UnreadableRecordError
from adminview.runtime import InvocationContext, start_tracing
from adminview.totals.changes import read_changes
from adminview.totals.position import position_name
from adminview.totals.update import GroupUpdate
from adminview.totals.window import window_facts

# The last call may take this long; then the log and the report must still fit.
RESERVE = 2 * LONGEST_CALL + 1


class WindowResponse(TypedDict):
    """Lambda's response to an event of a tumbling window."""

    state: dict[str, Any]
    batchItemFailures: list[BatchItemFailure]


@dataclass(frozen=True, slots=True)
class TotalsCounts:
    """The counts of a batch."""

    records: int
    updates: int  # calls that changed a total
    covered: int  # groups that already included some of their changes: a redelivery
    malformed: int  # contributions that were skipped because AdminView cannot have written them
    refused: int  # changes that were skipped because DynamoDB cannot add them
    redelivered: int  # records left in the stream
    lag_seconds: float

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


class CountsObserver(Protocol):
    def invoked(self, request_id: str) -> None: ...

    def counted(self, counts: Mapping[str, Any], errors: CallErrors, /) -> None: ...


@dataclass(frozen=True, slots=True)
class TotalsRuntime:
    table: TotalsTable
    observer: CountsObserver
    now: Callable[[], float] = time


def handle(event: Mapping[str, Any], context: InvocationContext) -> WindowResponse:
    """Add one batch to the totals and return the record from which Lambda must redeliver."""
    return add_up(event, context, totals_runtime())


def add_up(
    event: Mapping[str, Any], context: InvocationContext, runtime: TotalsRuntime
) -> WindowResponse:
    runtime.observer.invoked(context.aws_request_id)
    records: Sequence[Mapping[str, Any]] = event.get("Records") or []
    if not records:
        if "shardId" not in event and "isFinalInvokeForWindow" not in event:
            raise UnreadableRecordError(NO_WINDOW)
        return {"state": {}, "batchItemFailures": []}  # the end of a window
    shard = event.get("shardId")
    if not isinstance(shard, str) or not shard:
        raise UnreadableRecordError(NO_WINDOW)
    end = Deadline.after(context.get_remaining_time_in_millis() / 1000)
    changes = read_changes(records)
    name = position_name(shard)
    updates = [GroupUpdate(group, name, moved) for group, moved in changes.groups.items()]
    outcome = runtime.table.apply(updates, end.earlier(RESERVE))
    checkpoint = min((update.first_record for update in outcome.unfinished), default=len(records))
    counts = TotalsCounts(
        records=len(records),
        updates=outcome.updates,
        covered=outcome.covered,
        malformed=changes.malformed,
        refused=outcome.refused,
        redelivered=len(records) - checkpoint,
        lag_seconds=max(0.0, runtime.now() - changes.newest),
    )
    runtime.observer.counted({**counts.as_dict(), **window_facts(event)}, outcome.errors)
    failures: list[BatchItemFailure] = []
    if checkpoint < len(records):
        sequence = str(records[checkpoint]["dynamodb"]["SequenceNumber"])
        failures = [{"itemIdentifier": sequence}]
    return {"state": {}, "batchItemFailures": failures}


@cache
def totals_runtime() -> TotalsRuntime:
    """Build the runtime of this container from its environment, once."""
    settings = TotalsSettings.from_env(os.environ)
    if settings.tracing:
        start_tracing()
    endpoint = find_endpoint()
    updater = HttpUpdater(http_client(endpoint)) if endpoint else Boto3Updater(Clients().dynamodb)
    table = TotalsTable(updater, settings.table, time)
    return TotalsRuntime(table, TotalsObserver(service=settings.service))


NO_WINDOW = (
    "the event names no shard: the event source mapping of the totals function needs a tumbling "
    "window (TumblingWindowInSeconds)"
)
