"""How Lambda delivers stream records to the sync function, and how long dead letters wait.

The CDK constructs, the local event source and the replay share these values.
"""

from dataclasses import dataclass
from typing import Final

RETENTION_SECONDS: Final = 24 * 60 * 60  # of a DynamoDB stream, set by AWS
# Lambda gives up on records of this age and sends a dead letter with their position: the replay
# has two hours to read them from the stream.
GIVE_UP_SECONDS: Final = RETENTION_SECONDS - 2 * 60 * 60
# In the second of these hours, the replay saves the keys of records that it cannot reconcile.
SAVE_SECONDS: Final = RETENTION_SECONDS - 60 * 60
# So that at least one replay falls into each of the two hours.
MAX_REPLAY_PAUSE_SECONDS: Final = 30 * 60
# The totals have no dead letters, so Lambda retries for longer. It must give up before the stream
# does: Lambda counts the records that it drops, and nothing counts those that the stream drops.
TOTALS_GIVE_UP_SECONDS: Final = RETENTION_SECONDS - 30 * 60
# The owner index must catch up with the failed batch before the first replay, and with a replay
# before the next one.
FIRST_TRY_SECONDS: Final = 30
NEXT_TRY_SECONDS: Final = 360
# A call without a response may still arrive: AWS accepts a signed request for five minutes. One
# more minute covers clock differences.
IN_DOUBT_SECONDS: Final = 360
REPLAY_SECONDS: Final = 300  # the timeout of the replay function
# A received dead letter stays invisible until the replay has ended and no call of it can arrive.
HIDDEN_SECONDS: Final = REPLAY_SECONDS + IN_DOUBT_SECONDS
FOREVER: Final = -1  # no limit, set by Lambda


@dataclass(frozen=True, slots=True)
class Delivery:
    """The settings of one event source mapping."""

    batch_size: int = 1000
    window_seconds: int = 1  # fuller batches: fewer, cheaper invocations
    parallelization: int = 1  # concurrent batches per shard; an item's records stay in order
    bisect: bool = True
    retries: int = FOREVER
    max_age_seconds: int = GIVE_UP_SECONDS
    tumbling_seconds: int = 0  # the tumbling window; 0 is none


# How Lambda delivers the stream of AdminViewTable to the totals function. Only the events of a
# tumbling window name the shard; a short window would only cut batches. Two concurrent batches of a
# shard would break the positions, so the parallelization stays 1.
TOTALS_DELIVERY: Final = Delivery(
    parallelization=1, max_age_seconds=TOTALS_GIVE_UP_SECONDS, tumbling_seconds=900
)
