"""The sync takes one pass and bounded memory. Counted, not timed."""

import sys
import tracemalloc
from collections import Counter
from typing import Any

import pytest

from adminview.model import item as item_module
from adminview.sync.decode import routes
from tests.support.fakes import Context, FakeDynamoDB, make_runtime, planned
from tests.support.model import order, registry
from tests.support.stream_records import record

orders = registry().source("Orders")


def many(count: int) -> list[dict[str, Any]]:
    """Make new orders of about 600 bytes each."""
    return [
        record(
            orders,
            None,
            order(SK=f"2025-03-01#{n}", OrderId=f"{n}", Note="x" * 100),
            n + 1,
        )
        for n in range(count)
    ]


@pytest.mark.slow
def test_six_megabytes_of_ten_thousand_records_fit_in_half_a_gigabyte() -> None:
    from adminview.handlers.sync import sync  # noqa: PLC0415 - after the records are made

    records = many(10_000)
    dynamodb = FakeDynamoDB()
    runtime = make_runtime(registry(), dynamodb)
    tracemalloc.start()
    answer = sync({"Records": records}, Context(600_000), runtime)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert answer == {"batchItemFailures": []}
    assert len(dynamodb.rows) == 30_000
    assert len(dynamodb.calls) <= 1200 + 5, "a part ends with a call that is not full"
    # The event itself takes about 60 MB as Python objects, the runtime and libraries as much.
    assert peak < 200 * 1024 * 1024


def test_the_work_grows_as_the_number_of_records_does() -> None:
    def calls(count: int) -> int:
        events = Counter[str]()
        records = many(count)
        sys.setprofile(lambda _, event, __: events.update([event]))
        planned(records, routes(registry(), {}), "m")
        sys.setprofile(None)
        return events["call"]

    assert calls(400) <= 4 * calls(100) + 100


def test_only_touched_attributes_are_decoded(monkeypatch: Any) -> None:
    decoded: list[Any] = []
    real = item_module.decode

    def remember(value: Any) -> Any:
        decoded.append(value)
        return real(value)

    monkeypatch.setattr(item_module, "decode", remember)
    planned([record(orders, None, order(Extra="untouched"))], routes(registry(), {}), "m")
    assert decoded
    assert {"S": "untouched"} not in decoded
