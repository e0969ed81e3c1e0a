"""Streams of AdminViewTable whose records change totals, always the same for the same load."""

import random
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from json import dumps, loads
from math import ceil
from typing import Any, Final

from adminview.model import Total
from adminview.model.row import SEQUENCE, Attributes, Row, provenance
from adminview.model.total import ARCHIVED, COUNT, RANK
from adminview.totals.archive import DISORDER, LEAST_MOVED, MOST_POSITIONS, RANDOM_BYTES
from adminview.totals.position import (
    HOUR,
    LIVE_HOURS,
    TIME_BYTES,
    encode_position,
    older,
    position_name,
    time_of,
)
from adminview.totals.units import SHARD_HOURS

STREAM: Final = (
    "arn:aws:dynamodb:us-east-1:000000000000:table/AdminViewTable/stream/2026-01-01T00:00:00.000"
)
SHARD: Final = "shardId-00000001790000000000-1d2c3b4a"
START: Final = 1_790_000_000  # seconds since 1970
FIRST: Final = 4_421_584_500_000_000_017_450_439_091  # as many digits as in AWS's examples
OWNER: Final = "Orders/user-00001/2026-01-01#00000001"
NOTE: Final = "x" * 300  # makes a row of about 600 bytes
SHOPS: Final = 7

sales = Total("DailySales", partition="shop", sort="day", sums=["revenue"])
best_days = Total("DailySales", partition="shop", sort="day", sums=["revenue"], ranked_by="revenue")


@dataclass(frozen=True, slots=True)
class TotalsLoad:
    """The number of records, and of the groups that they change in turn.

    Half of the records insert a row, half change the amount of a row. Without groups, all records
    change a row, and no total.
    """

    records: int = 1000
    groups: int = 20
    batch: int = 1000
    ranked: bool = False

    def batches(self) -> Iterator[dict[str, Any]]:
        """Yield the events that Lambda would deliver."""
        records = [loads(dumps(record)) for record in self._records()]  # no two share an object
        for start in range(0, len(records), self.batch):
            yield {
                "Records": records[start : start + self.batch],
                "window": {"start": "2026-09-21T14:15:00Z", "end": "2026-09-21T14:30:00Z"},
                "state": {},
                "shardId": SHARD,
                "eventSourceARN": STREAM,
                "isFinalInvokeForWindow": False,
                "isWindowTerminatedEarly": False,
            }

    def _records(self) -> Iterator[dict[str, Any]]:
        cents = random.Random(7)  # noqa: S311 - a stream, not a secret
        for place in range(self.records):
            after = self._row(place, cents.randrange(99, 99999))
            before = None
            if not self.groups:
                before = {**after, SEQUENCE: {"S": "0"}}
            elif place % 2:
                before = self._row(place, cents.randrange(99, 99999))
            yield _record(place, before, after)

    def _row(self, place: int, cents: int) -> Attributes:
        total = best_days if self.ranked else sales
        group = place % (self.groups or 1)
        revenue = Decimal(cents) / 100
        row = Row(
            f"USER#user-{place:05d}",
            f"ORDER#2026-01-01#{place:08d}",
            data={"status": "PAID", "note": NOTE},
            totals=[total(f"shop-{group % SHOPS}", f"day-{group:04d}", revenue=revenue)],
        )
        return row.attributes() | provenance(OWNER, str(FIRST), START, "0" * 16)


@cache
def positions(count: int) -> Attributes:
    """Return the positions on a total that rows of *count* shards changed in the last 26 hours.

    DynamoDB closes a shard after four hours, so a seventh of them are open, the stream's among
    them. The others were closed one after the other. If there are too many, the function has
    archived old ones; so many are left as it leaves at most until it archives again.
    """
    shards = [SHARD, *(f"shardId-{number:020d}-1d2c3b4a" for number in range(1, count))]
    opened = ceil(count * SHARD_HOURS / LIVE_HOURS)
    pause = LIVE_HOURS * HOUR / max(1, count - opened)
    ages = [max(0, place + 1 - opened) * pause for place in range(count)]
    everything = {
        position_name(shard): encode_position(FIRST - 1, START - age)
        for shard, age in zip(shards, ages, strict=False)
    }
    if count <= MOST_POSITIONS:
        return everything
    old = sorted(
        older(everything, START - 2 * DISORDER).items(), key=lambda entry: -time_of(entry[1])
    )
    gone = {name for name, _ in old[LEAST_MOVED - 1 :]}
    mark: Attributes = {ARCHIVED: {"B": b64encode(bytes(TIME_BYTES + RANDOM_BYTES)).decode()}}
    return mark | {name: position for name, position in everything.items() if name not in gone}


def item_before(key: Attributes, count: int, *, is_ranked: bool) -> Attributes:
    """Return a total with *count* positions, as it is before the stream."""
    amounts: Attributes = {COUNT: {"N": "123456"}, "revenue": {"N": "61728000.55"}}
    if is_ranked:
        amounts[RANK] = amounts["revenue"]
    return {**key, **amounts, **positions(count)}


def _record(place: int, before: Attributes | None, after: Attributes) -> dict[str, Any]:
    change: dict[str, Any] = {
        "ApproximateCreationDateTime": START + place // 100,
        "Keys": {name: after[name] for name in ("PK", "SK")},
        "NewImage": after,
        "SequenceNumber": str(FIRST + place),
        "SizeBytes": 1200,
        "StreamViewType": "NEW_AND_OLD_IMAGES",
    }
    if before:
        change["OldImage"] = before
    return {
        "eventID": f"{place:032x}",
        "eventName": "MODIFY" if before else "INSERT",
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": "us-east-1",
        "dynamodb": change,
        "eventSourceARN": STREAM,
    }
