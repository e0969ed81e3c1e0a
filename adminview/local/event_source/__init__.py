"""The event-source emulator: follow a real stream, and treat the real handler as Lambda would.

It reads through the public DynamoDB Streams API, from the oldest record on, and plays Lambda's
rules: batch size and window, the 6 MB event, the partial-batch checkpoint, bisecting, retries,
record age and the on-failure letter. In `Lane` they are applied to one shard, in `Batch` they are
stated.

Where it is an emulation and not Lambda:

- the parallelization factor is not played: a shard has one batch in hand at a time;
- shards take turns in one thread, so there is no concurrency, and no throttling by its limits;
- one pass reads each shard as often as it has records; Lambda polls four times a second;
- the backoff between retries is our own, Lambda does not say what its is;
- a handler that overstays its timeout is not ended; it counts as failed once it returns;
- how far a shard was read is kept in memory: a new start begins at the oldest record again.
"""

from adminview.local.event_source.errors import UnsettledRecordsError
from adminview.local.event_source.lane import RetryDelay
from adminview.local.event_source.source import EventSource

__all__ = ["EventSource", "RetryDelay", "UnsettledRecordsError"]
