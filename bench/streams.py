"""Synthetic streams. A load always yields the same stream."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from json import dumps
from typing import Any, Final

from adminview.model.limits import row_size

STREAM: Final = (
    "arn:aws:dynamodb:us-east-1:000000000000:table/Orders/stream/2026-01-01T00:00:00.000"
)
ITEM_BYTES: Final = 1024
STATUSES: Final = ("PENDING", "PAID", "SHIPPED", "DELIVERED", "RETURNED")
START: Final = 1_790_000_000
MAX_PAYLOAD: Final = 6 * 1024 * 1024  # bytes of JSON in an event, set by Lambda

Image = dict[str, dict[str, Any]]

ADDRESS: Final[dict[str, Any]] = {
    "M": {
        "name": {"S": "Ada Lovelace"},
        "street": {"S": "Long Lane 7"},
        "postcode": {"S": "12345"},
        "city": {"S": "Springfield"},
        "country": {"S": "US"},
    }
}
PAYMENT: Final[dict[str, Any]] = {
    "M": {
        "method": {"S": "card"},
        "reference": {"S": "txn-7f3a9c52d1e84b06"},
        "authorizedAt": {"S": "2026-01-01T00:00:01Z"},
    }
}


@dataclass(frozen=True, slots=True)
class Load:
    """The number of records, the rows per item, and the shares of redundant changes."""

    records: int
    fan_out: int = 3
    repeated: float = 0.0  # the share of records whose item changed earlier in the same batch
    unchanged: float = 0.0  # the share of modifications that change no row
    batch: int = 1000

    def batches(self) -> Iterator[dict[str, Any]]:
        """Yield the events that Lambda would deliver."""
        records = list(_Shop(self).records())
        for start in range(0, len(records), self.batch):
            yield {"Records": records[start : start + self.batch]}


def largest_batch(load: Load) -> str:
    """Return the largest event that Lambda would deliver, as JSON."""
    texts: list[str] = []
    remaining = MAX_PAYLOAD - len('{"Records": []}')
    for record in _Shop(load).records():
        text = dumps(record)
        remaining -= len(text) + len(", ")
        if remaining < 0:
            break
        texts.append(text)
    return f'{{"Records": [{", ".join(texts)}]}}'


def inserted_images(load: Load) -> list[Image]:
    """Return the orders that a stream creates."""
    records = (record for event in load.batches() for record in event["Records"])
    return [record["dynamodb"]["NewImage"] for record in records if record["eventName"] == "INSERT"]


class _Shop:
    """Orders that are created, changed and deleted."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._random = random.Random(7)  # noqa: S311 - a stream, not a secret
        self._created = 0

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield the records: half create an order, most others change one, some remove one."""
        recent: list[Image] = []
        for position in range(self._load.records):
            if position % self._load.batch == 0:
                recent = []
            if recent and self._random.random() < self._load.repeated:
                index = self._random.randrange(len(recent))
                before = recent[index]
                recent[index] = after = self._changed(before)
                yield stream_record(position, before, after)
                continue
            chance = self._random.random()
            order = self._order()
            if chance < 0.5:  # noqa: PLR2004 - see above
                recent.append(order)
                yield stream_record(position, None, order)
            elif chance < 0.95:  # noqa: PLR2004 - see above
                recent.append(self._changed(order))
                yield stream_record(position, order, recent[-1])
            else:
                yield stream_record(position, order, None)

    def _order(self) -> Image:
        self._created += 1
        number = f"{self._created:08d}"
        lines = [
            {
                "M": {
                    "productId": {"S": f"product-{self._random.randrange(500):04d}-{line_number}"},
                    "name": {"S": "Writing desk, walnut, 120 cm"},
                    "quantity": {"N": str(self._random.randrange(1, 9))},
                    "price": {"N": f"{self._random.randrange(99, 9999) / 100:.2f}"},
                    "gift": {"BOOL": False},
                }
            }
            for line_number in range(self._load.fan_out - 1)
        ]
        order: Image = {
            "orderId": {"S": f"order-{number}"},
            "userId": {"S": f"user-{self._random.randrange(10_000):05d}"},
            "status": {"S": STATUSES[0]},
            "total": {"N": f"{self._random.randrange(999, 99999) / 100:.2f}"},
            "currency": {"S": "EUR"},
            "createdAt": {"S": f"2026-01-01T00:00:00.{number}Z"},
            "channel": {"S": "web"},
            "address": ADDRESS,
            "payment": PAYMENT,
            "lines": {"L": lines},
            "tags": {"L": [{"S": "spring-sale"}, {"S": "returning"}]},
            "revision": {"N": "0"},
        }
        padding = ITEM_BYTES - row_size(order) - len("note")
        return {**order, "note": {"S": "x" * max(padding, 0)}}

    def _changed(self, order: Image) -> Image:
        revision = {"revision": {"N": str(int(order["revision"]["N"]) + 1)}}
        if self._random.random() < self._load.unchanged:
            return {**order, **revision}
        others = [status for status in STATUSES if status != order["status"]["S"]]
        return {**order, **revision, "status": {"S": self._random.choice(others)}}


def stream_record(position: int, before: Image | None, after: Image | None) -> dict[str, Any]:
    """Return the stream record of one change of an order."""
    name = "INSERT" if before is None else "REMOVE" if after is None else "MODIFY"
    image = after or before
    assert image
    change: dict[str, Any] = {
        "ApproximateCreationDateTime": START + position // 100,
        "Keys": {"orderId": image["orderId"]},
        "SequenceNumber": f"{100_000_000_000 + position}",
        "SizeBytes": 2 * ITEM_BYTES,
        "StreamViewType": "NEW_AND_OLD_IMAGES",
    }
    if before:
        change["OldImage"] = before
    if after:
        change["NewImage"] = after
    return {
        "eventID": f"{position:032x}",
        "eventName": name,
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": "us-east-1",
        "dynamodb": change,
        "eventSourceARN": STREAM,
    }


NEUTRAL: Final = Load(1000)
ORDINARY: Final = Load(1000, repeated=0.35, unchanged=0.25)
