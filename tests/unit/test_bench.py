"""What is measured is the work that is claimed: counted, not timed."""

from dataclasses import replace

import pytest

from bench.__main__ import measure, runtime
from bench.endpoint import endpoint
from bench.streams import ITEM_BYTES, NEUTRAL, ORDINARY, Load
from lambdas.model.size import row_size

SMALL = 200  # records


@pytest.mark.parametrize(
    ("load", "calls"),
    [
        (replace(NEUTRAL, records=SMALL, fan_out=1), 8),
        (replace(NEUTRAL, records=SMALL), 24),  # 600 rows, 25 in a call
        (replace(ORDINARY, records=SMALL), 15),
    ],
)
def test_a_stream_takes_the_calls_that_its_rows_need(load: Load, calls: int) -> None:
    with endpoint() as there:
        assert measure(load, there, runtime(there)).calls == calls * 1000 / SMALL


def test_streams_are_what_their_description_says() -> None:
    neutral = [one["dynamodb"] for event in NEUTRAL.batches() for one in event["Records"]]
    assert len({one["Keys"]["orderId"]["S"] for one in neutral}) == len(neutral) == NEUTRAL.records
    sizes = [row_size(one["NewImage"]) for one in neutral if "NewImage" in one]
    assert max(sizes) <= ITEM_BYTES
    ordinary = [one["dynamodb"] for event in ORDINARY.batches() for one in event["Records"]]
    items = {one["Keys"]["orderId"]["S"] for one in ordinary}
    assert 1 - len(items) / len(ordinary) == pytest.approx(0.35, abs=0.05)
    changed = [one for one in ordinary if "OldImage" in one and "NewImage" in one]
    unseen = [one for one in changed if one["OldImage"]["status"] == one["NewImage"]["status"]]
    assert len(unseen) / len(changed) == pytest.approx(0.25, abs=0.05)


def test_the_same_description_gives_the_same_stream() -> None:
    assert list(ORDINARY.batches()) == list(ORDINARY.batches())
