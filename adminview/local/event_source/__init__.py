"""The event-source emulator: read a real stream, and invoke the real handler as Lambda would.

It reads through the public DynamoDB Streams API, from the oldest record on, and follows Lambda's
rules: batch size and window, the 6 MB event, the partial-batch checkpoint, bisecting, retries,
record age, the on-failure message and tumbling windows. `StreamBatch` and `Window` have the rules,
`ShardProcessor` applies them to one shard.

Where it differs from Lambda:

- it ignores the parallelization factor: a shard has one batch in progress at a time;
- shards take turns in one thread, so there is no concurrency and no throttling by its limits;
- one pass reads each shard as often as it has records; Lambda polls four times a second;
- the backoff between retries is our own, because Lambda does not document its backoff;
- a handler that exceeds its timeout is not ended; it counts as failed once it returns;
- the position in a shard is kept in memory: a restart begins at the oldest record.
"""

from adminview.local.event_source.shard_processor import RetryDelay
from adminview.local.event_source.source import EventSource, UnsettledRecordsError

__all__ = ["EventSource", "RetryDelay", "UnsettledRecordsError"]
