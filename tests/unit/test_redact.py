"""Errors of views are described without any value of the item."""

import json
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from adminview.model import Item, Registry, Row, Source, view
from adminview.model.errors import MissingAttributeError, RowError
from adminview.sync.decode import routes
from adminview.sync.plan import RecordOutcome
from tests.support.fakes import planned
from tests.support.stream_records import record

CUSTOMER = "jane" + chr(64) + "shop.example"  # a text that this file does not name
things = Source("Things", partition_key="id")
shared = RowError("raised again and again")


def by_data(item: Item) -> Iterator[Row]:
    yield Row("PK", item["discounts"][item["email"]])


def own_error(item: Item) -> Iterator[Row]:
    yield Row("PK", item["id"])
    raise RowError(f"bad {item['email']}")  # noqa: EM102, TRY003 - as authors do


def own_missing(item: Item) -> Iterator[Row]:
    yield Row("PK", item["id"])
    raise MissingAttributeError(item["email"])


def intent(item: Item) -> Iterator[Row]:
    try:
        yield Row("PK", item["absent"])
    except KeyError as error:
        error.add_note(f"customer {item['email']}")
        raise


def named_class(item: Item) -> Iterator[Row]:
    yield Row("PK", item["id"])
    raise type(item["email"], (ValueError,), {})(item["email"])


def leaving(item: Item) -> Iterator[Row]:
    yield Row("PK", item["id"])
    raise SystemExit(item["email"])


def after_a_row(item: Item) -> Iterator[Row]:
    yield Row("PK", item["id"])
    yield Row("PK", str(int(item["email"])))


def same_instance(item: Item) -> Iterator[Row]:
    yield Row("PK", item["id"])
    raise shared


@pytest.mark.parametrize(
    ("derivation", "kind"),
    [
        (by_data, "MissingAttributeError"),
        (own_error, "ViewError"),
        (own_missing, "ViewError"),
        (intent, "MissingAttributeError"),
        (named_class, "ViewError"),
        (leaving, "ViewError"),
        (after_a_row, "ViewError"),
        (same_instance, "ViewError"),
    ],
)
def test_an_error_is_reported_without_the_data_it_may_quote(derivation: Any, kind: str) -> None:
    batch = work_out(derivation)
    assert batch.outcomes == [RecordOutcome.DEAD_LETTERED]
    assert len(batch.writes) == 0
    error = json.loads(batch.letters[0].body)["error"]
    assert error["kind"] == kind
    assert f"view {derivation.__name__!r} at tests.unit.test_redact:" in error["reason"]
    assert CUSTOMER not in batch.letters[0].body


def work_out(derivation: Any, **kind: Any) -> Any:
    module = ModuleType("things")
    module.__dict__.update(things=things, rows=view(things, **kind)(derivation))
    item = {"id": "i", "email": CUSTOMER, "discounts": {}}
    model = Registry.of([module])
    return planned([record(things, None, item)], routes(model, {}), "model-1")


def test_an_attribute_that_the_view_file_names_is_named() -> None:
    reason = json.loads(work_out(intent).letters[0].body)["error"]["reason"]
    assert reason.startswith("the item has no attribute 'absent'; view 'intent'")


def test_a_predicate_that_raises_sets_the_record_aside() -> None:
    batch = work_out(after_a_row, when=lambda item: int(item["email"]) > 1)
    assert batch.outcomes == [RecordOutcome.DEAD_LETTERED]
    assert CUSTOMER not in batch.letters[0].body


def no_item() -> Iterator[Row]:
    yield Row("PK", "SK")


def test_an_error_that_passes_no_line_of_a_view_names_its_first_line() -> None:
    reason = json.loads(work_out(no_item).letters[0].body)["error"]["reason"]
    line = no_item.__code__.co_firstlineno
    assert reason.endswith(f"view 'no_item' at tests.unit.test_redact:{line}")


def test_an_error_that_is_raised_twice_is_reported_the_same_way_twice() -> None:
    first, second = (work_out(same_instance).letters[0].body for _ in range(2))
    assert first == second


def test_running_out_of_memory_is_not_attributed_to_the_record() -> None:
    def hungry(item: Item) -> Iterator[Row]:
        yield Row("PK", item["id"])
        raise MemoryError

    with pytest.raises(MemoryError):
        work_out(hungry)
