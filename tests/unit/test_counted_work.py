"""What a fixed stream takes, counted: calls, bytes and write units.

Nothing is timed, so it is the same on every machine. Whoever changes a number should know why, and
which way it went.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pytest

from adminview.aws.batch_writers import HttpBatchWriter
from adminview.aws.call_owners import Owners
from adminview.aws.deadline import Deadline
from adminview.aws.transport.http_client import HttpClient
from adminview.aws.view_table import ViewTable
from adminview.sync.decode import routes
from adminview.sync.plan import Batch
from bench.model import registry
from bench.streams import NEUTRAL, ORDINARY, Load
from bench.units import replay, table_before
from tests.support.fakes import NO_WAIT, TABLE, planned

MODEL = "0" * 16


class Counted(HttpClient):
    """A direct client that sends nothing."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []

    def find_in_doubt(self) -> Sequence[Owners]:
        return ()

    def calls(self, operation: str, bodies: Iterable[bytes], *_: object) -> Iterator[Any]:
        assert operation == "BatchWriteItem"
        for body in bodies:
            self.bodies.append(body)
            yield {"UnprocessedItems": {}}


def prepared(records: list[Any]) -> Batch:
    return planned(records, routes(registry(), {}), MODEL)


def sent(records: list[Any]) -> list[bytes]:
    client = Counted()
    outcome = ViewTable(HttpBatchWriter(client), TABLE, NO_WAIT).write(
        prepared(records).writes, deadline=Deadline.after(60)
    )
    assert not outcome.unwritten
    return client.bodies


@pytest.mark.parametrize(
    ("load", "expected"),
    [
        (
            NEUTRAL,
            {
                "calls": 120,
                "bytes": 2_107_925,
                "units": 6945,
                "of the owner index": 1620,
            },
        ),
        (
            ORDINARY,
            {
                "calls": 71,
                "bytes": 1_241_170,
                "units": 4134,
                "of the owner index": 1035,
            },
        ),
    ],
    ids=["neutral", "ordinary"],
)
def test_a_thousand_records_take_exactly_this(load: Load, expected: dict[str, int]) -> None:
    (event,) = load.batches()
    records = event["Records"]
    bodies = sent(records)
    units = replay(map(json.loads, bodies), table_before(load, with_provenance=True))
    assert expected == {
        "calls": len(bodies),
        "bytes": sum(map(len, bodies)),
        "units": units.total,
        "of the owner index": units.indexes["Owner"],
    }
