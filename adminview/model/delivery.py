"""How Lambda hands the records of a stream to the sync function, and how long letters wait.

Said once: `infra` makes the event source mapping and the queue from it, the local event source and
the replay play by it.
"""

from dataclasses import dataclass
from typing import Final

RETENTION_SECONDS: Final = 24 * 60 * 60  # of a DynamoDB stream, set by AWS
# A letter may not be tried before the owner index has caught up with the batch that sent it, and
# not again before it has caught up with the last try.
FIRST_TRY_SECONDS: Final = 30
NEXT_TRY_SECONDS: Final = 360
# A call that ended without a response may still arrive: AWS accepts a signed request for five
# minutes. A minute more, because clocks differ.
IN_DOUBT_SECONDS: Final = 360
REPLAY_SECONDS: Final = 300  # the timeout of the replay function
# A letter that a replay took stays hidden until the replay has ended and no call of it can arrive.
HIDDEN_SECONDS: Final = REPLAY_SECONDS + IN_DOUBT_SECONDS
FOREVER: Final = -1  # Lambda's word for "no limit"


@dataclass(frozen=True, slots=True)
class Delivery:
    """The rules of one event source mapping."""

    batch_size: int = 1000
    window_seconds: int = 1  # wait this long for a fuller batch: fewer, cheaper invocations
    parallelization: int = 1  # batches of one shard at a time; an item's records stay in order
    bisect: bool = True
    retries: int = FOREVER
    # Shortly before the stream forgets a record, Lambda gives up on it and leaves a letter.
    max_age_seconds: int = RETENTION_SECONDS - 30 * 60
