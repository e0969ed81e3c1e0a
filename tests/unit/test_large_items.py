"""One item may have many rows, and one batch many items: memory is bounded, progress is kept."""

import json
import tracemalloc
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any

import pytest

from adminview.handlers.sync import sync
from adminview.model import Item, Registry, Row, Source, view
from adminview.model.delivery import NEXT_TRY_SECONDS
from adminview.model.errors import DeclarationError, TooManyRowsError
from adminview.model.view import MAX_BYTES, MAX_ROWS
from adminview.sync import plan as prepare
from adminview.sync.decode import routes
from adminview.sync.derive import derive
from adminview.sync.plan import Batch, plan_batch
from tests.support.fakes import (
    Context,
    FakeDynamoDB,
    FakeQueue,
    RecordingObserver,
    make_runtime,
    refusal,
)
from tests.support.stream_records import image, record

baskets = Source("Baskets", partition_key="id")
DONE: dict[str, Any] = {"batchItemFailures": []}


def a_model(**limits: Any) -> Registry:
    """Declare a row per line, each with all that the basket says of itself."""

    @view(baskets, **limits)
    def lines(item: Item) -> Iterator[Row]:
        for n in range(int(item["lines"])):
            yield Row(f"BASKET#{item['id']}", f"LINE#{n:06}", data=item.pick("note", "version"))

    module = ModuleType("baskets")
    module.__dict__.update(baskets=baskets, lines=lines)
    return Registry.of([module])


def basket(id_: str, lines: int, note: str = "x", version: int = 1) -> dict[str, Any]:
    return {"id": id_, "lines": lines, "note": note, "version": version}


def put(id_: str, lines: int, sequence: int, note: str = "x") -> dict[str, Any]:
    return record(baskets, None, basket(id_, lines, note), sequence)


def run(model: Registry, records: Sequence[Any], **with_: Any) -> Any:
    runtime = make_runtime(model, **with_)
    return sync({"Records": records}, Context(), runtime)


def rows_of(model: Registry, item: dict[str, Any]) -> int:
    (route,) = routes(model, {}).values()
    return len(derive(route.views, image(item), room=None).rows)


def test_an_item_over_the_limit_is_one_dead_letter_and_harms_no_other() -> None:
    dynamodb, queue = FakeDynamoDB(), FakeQueue()
    records = [put("a", 2, 1), put("huge", 40_053, 2), put("b", 2, 3)]
    assert run(a_model(), records, dynamodb=dynamodb, queue=queue) == DONE
    assert {pk for pk, _ in dynamodb.rows} == {"BASKET#a", "BASKET#b"}
    (letter,) = (json.loads(body) for body in queue.bodies)
    assert (letter["owner"], letter["error"]["kind"]) == ("Baskets/huge", "TooManyRowsError")
    assert "view 'lines' yields more than 1000 rows for one item" in letter["error"]["reason"]
    assert "max_rows" in letter["error"]["reason"]
    assert letter["find_rows"] == "by owner"
    assert queue.delays == [NEXT_TRY_SECONDS], "the owner index must have caught up"


def test_no_more_rows_are_derived_than_the_limit_allows() -> None:
    derived = 0

    @view(baskets)
    def endless(item: Item) -> Iterator[Row]:
        nonlocal derived
        while True:
            derived += 1
            yield Row(f"BASKET#{item['id']}", f"{derived}")

    with pytest.raises(TooManyRowsError):
        derive([endless], image(basket("a", 1)), room=None)
    assert derived == MAX_ROWS + 1


def test_the_limits_are_declared_with_the_view() -> None:
    assert rows_of(a_model(), basket("a", MAX_ROWS)) == MAX_ROWS
    with pytest.raises(TooManyRowsError):
        rows_of(a_model(), basket("a", MAX_ROWS + 1))
    assert rows_of(a_model(max_rows=5000), basket("a", 5000)) == 5000
    with pytest.raises(TooManyRowsError, match="3 rows"):
        rows_of(a_model(max_rows=3), basket("a", 4))


def test_the_rows_of_an_item_may_take_so_many_bytes_together() -> None:
    large = basket("a", MAX_ROWS, note="x" * (MAX_BYTES // MAX_ROWS))
    with pytest.raises(TooManyRowsError, match=f"{MAX_BYTES} bytes of rows.*max_bytes"):
        rows_of(a_model(), large)
    assert rows_of(a_model(max_bytes=2 * MAX_BYTES), large) == MAX_ROWS


@pytest.mark.parametrize("limits", [{"max_rows": 0}, {"max_bytes": -1}, {"max_rows": True}])
def test_a_limit_is_a_positive_number(limits: dict[str, Any]) -> None:
    with pytest.raises(DeclarationError, match="'Baskets' must be a positive number"):
        a_model(**limits)


def planned_parts(model: Registry, records: Sequence[Any], part_bytes: int) -> list[list[int]]:
    """Plan a batch, and list the positions of the records of each part."""
    batch = Batch(records, "m")
    return [
        sorted({write.last for write in part})
        for part in plan_batch(batch, routes(model, {}), part_bytes)
    ]


def test_a_batch_is_written_in_parts_in_the_order_of_its_records() -> None:
    records = [put(f"i{n}", 10, n + 1, note="x" * 100) for n in range(12)]
    parts = planned_parts(a_model(), records, 5_000)
    assert len(parts) > 2
    assert [position for part in parts for position in part] == [*range(12)]


def test_what_was_written_of_a_batch_stays_written_when_the_rest_comes_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(prepare, "PART_BYTES", 5_000)
    monkeypatch.setattr(prepare.plan_batch, "__defaults__", (5_000,))
    records = [put(f"i{n}", 10, n + 1, note="x" * 100) for n in range(12)]
    (first, second, *_) = planned_parts(a_model(), records, 5_000)
    faults: list[Any] = [lambda _: [] for _ in range(-(-len(first) * 10 // 25))]
    dynamodb = FakeDynamoDB([*faults, refusal("AccessDeniedException")])
    received = RecordingObserver()
    response = run(a_model(), records, dynamodb=dynamodb, observer=received)
    (failure,) = response["batchItemFailures"]
    assert int(failure["itemIdentifier"]) == second[0] + 1, "not from the beginning"
    assert {pk for pk, _ in dynamodb.rows} >= {f"BASKET#i{n}" for n in first}
    (tally,) = received.batches
    assert (tally.records, tally.written, tally.redelivered) == (12, len(first), 12 - len(first))


def test_the_last_change_of_an_item_wins_though_its_changes_are_in_different_parts() -> None:
    model = a_model()
    changes = [basket("a", 10, "x" * 500, version) for version in range(8)]
    records = [
        record(baskets, before, after, n + 1)
        for n, (before, after) in enumerate(zip([None, *changes], changes, strict=False))
    ]
    assert len(planned_parts(model, records, 2_000)) > 3
    dynamodb = FakeDynamoDB()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prepare.plan_batch, "__defaults__", (2_000,))
        assert run(model, records, dynamodb=dynamodb) == DONE
    shown = {row["data"]["M"]["version"]["N"] for row in dynamodb.rows.values()}
    assert (shown, len(dynamodb.rows)) == ({"7"}, 10)


def test_deletions_fill_a_part_too() -> None:
    removed = [record(baskets, basket(f"i{n}", 900), None, n + 1) for n in range(40)]
    assert len(planned_parts(a_model(), removed, 2**20)) > 10


class Swallowing(FakeDynamoDB):
    """A table that keeps nothing, so that only the sync's own memory is measured."""

    def _apply(self, request: dict[str, Any]) -> None:
        del request


def test_memory_is_bounded_by_a_part_and_not_by_the_rows_of_the_batch() -> None:
    """Each of 60 items makes rows of 3 MB from 4 KB: 180 MB of JSON in all."""
    records = [put(f"i{n}", 900, n + 1, note="x" * 3500) for n in range(60)]
    model, dynamodb, received = a_model(), Swallowing(), RecordingObserver()
    tracemalloc.start()
    try:
        assert run(model, records, dynamodb=dynamodb, observer=received) == DONE
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    (tally,) = received.batches
    assert (tally.written, tally.rows_put) == (60, 54_000)
    assert peak < 80 * 2**20, f"{peak / 2**20:.0f} MB"


def test_rows_kept_for_the_next_change_of_their_items_do_not_fill_the_memory() -> None:
    """No row changes, so no part ends: what is kept must be bounded by itself."""
    before = [basket(f"i{n}", 900, "x" * 3500) | {"hidden": 1} for n in range(40)]
    after = [item | {"hidden": 2} for item in before]
    last = [item | {"hidden": 3} for item in before]
    pairs = [*zip(before, after, strict=True), *zip(after, last, strict=True)]
    records = [record(baskets, *pair, n + 1) for n, pair in enumerate(pairs)]
    batch, kept = Batch(records, "m"), []
    keep = prepare._keep

    def look(*arguments: Any) -> None:
        keep(*arguments)
        kept.append(len(batch.derived))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prepare, "_keep", look)
        (writes,) = plan_batch(batch, routes(a_model(), {}))
    assert len(writes) == 0
    assert max(kept) == 2, "3 MB each"
    assert (len(batch.derived), batch.derived_bytes) == (0, 0)
