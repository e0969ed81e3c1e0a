"""Which access patterns are ready: what a model change keeps, and what is read again when."""

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from adminview.aws.readiness import LATER_SECONDS, SOON_SECONDS, Readiness
from adminview.model import AccessPattern, Index, Item, Join, Registry, Row, Source, Total, view
from adminview.model.errors import ServiceError
from adminview.model.readiness import contents, kept, not_ready

things = Source("Things", partition_key="id")


@view(things)
def thing(item: Item) -> Iterator[Row]:
    """Derive a row."""
    yield Row(f"THING#{item['id']}", "DETAILS")


def model(*declared: Any) -> dict[str, Any]:
    module = ModuleType("declared")
    module.__dict__.update(
        {f"d{number}": declaration for number, declaration in enumerate(declared)}
    )
    module.__dict__.update(things=things, thing=thing)
    return Registry.of([module]).shape()


def of_colour(key: str = "COLOUR#{colour}", **changes: Any) -> tuple[Index, AccessPattern]:
    options = {"partition": "colour", "sort": "size", "include": ["data"]} | changes
    index = Index("ByColour", **options)
    return index, AccessPattern("of-colour", index=index, partition=key)


def per_day(**changes: Any) -> tuple[Total, AccessPattern]:
    total = Total("PerDay", **{"sort": "day", "sums": ["units"]} | changes)
    return total, AccessPattern("per-day", total=total)


BY_ID = AccessPattern("by-id", partition="THING#{id}")
WAITING = {"of-colour": None}


def after(before: dict[str, Any], *changes: dict[str, Any]) -> dict[str, str | None]:
    """Say what is not ready after models were deployed, the first of them with all its rows."""
    built = contents(before)
    for change in changes:
        built = kept(change, built)
    return not_ready(changes[-1], built)


def test_nothing_is_ready_before_it_was_built() -> None:
    now = model(BY_ID, *of_colour())
    assert not_ready(now, {}) == {"by-id": None, "of-colour": None}
    assert not_ready(now, contents(now)) == {}


@pytest.mark.parametrize(
    ("declared", "pending"),
    [
        (of_colour(), {}),
        (of_colour(include=["data", "_at"]), {}),  # DynamoDB itself completes the index
        (of_colour("{colour}"), WAITING),
        (of_colour(partition="colours"), WAITING),
        (of_colour(sort="weight"), WAITING),
        (of_colour(shards=4), WAITING),
    ],
)
def test_an_access_pattern_stays_ready_if_it_reads_the_same_rows(
    declared: tuple[Any, ...], pending: dict[str, str | None]
) -> None:
    assert after(model(BY_ID, *of_colour()), model(BY_ID, *declared)) == pending


def test_an_access_pattern_with_other_joins_is_not_ready() -> None:
    joined = AccessPattern("by-id", partition="THING#{id}", joins=[Join("self", "{PK}", "{SK}")])
    assert after(model(BY_ID), model(joined)) == {"by-id": None}


def test_an_access_pattern_that_another_model_did_not_have_is_not_ready_after_a_rollback() -> None:
    with_it, without = model(BY_ID, *of_colour()), model(BY_ID)
    assert after(with_it, without, with_it) == WAITING


def test_other_shards_stay_ready_only_while_queries_read_both() -> None:
    four, eight = of_colour(shards=4), of_colour(shards=8)
    growing, shrinking = of_colour(shards=8, shards_were=4), of_colour(shards=4, shards_were=8)
    before, begun = model(*four), model(*growing)
    assert after(before, begun) == {}
    assert after(before, model(*eight)) == WAITING
    assert after(before, begun, model(*shrinking)) == {}, "rows are in 4 and in 8 shards"
    assert after(before, begun, before) == WAITING, "some rows are in 8 shards already"
    assert after(before, begun, model(*eight)) == WAITING, "some rows are still in 4 shards"
    assert after(begun, model(*eight)) == {}, "all rows are in 8 shards"


@pytest.mark.parametrize(
    ("changes", "pending"),
    [
        ({}, {}),
        ({"sums": ["units", "revenue"]}, {"per-day": None}),
        ({"partition": ["region"], "sort": "day"}, {"per-day": None}),
        ({"ranked_by": "units"}, {"per-day": None}),
        ({"epoch": 2}, {"per-day": None}),
        ({"epoch": 2, "epoch_was": 1}, {"per-day": "1"}),  # the older epoch serves it
    ],
)
def test_a_total_that_changes_is_not_ready_unless_its_older_epoch_is_kept(
    changes: dict[str, Any], pending: dict[str, str | None]
) -> None:
    if "partition" in changes:
        total = Total("PerDay", **{"sums": ["units"], **changes})
        declared: Any = (total, AccessPattern("per-day", total=total, partition=["{region}"]))
    else:
        declared = per_day(**changes)
    assert after(model(*per_day()), model(*declared)) == pending


def test_the_older_epoch_serves_until_the_new_one_is_built_and_can_then_be_left() -> None:
    both, new = model(*per_day(epoch=2, epoch_was=1)), model(*per_day(epoch=2))
    assert after(both, new) == {}
    assert after(model(*per_day()), both, new) == {"per-day": None}, "it was never built"
    assert after(model(*per_day()), both, model(*per_day())) == {}, "the rebuild is canceled"


class Record:
    """The record as it is read, or an error."""

    def __init__(self) -> None:
        self.built: dict[str, str] = {}
        self.error: Exception | None = None
        self.reads = 0
        self.now = 0.0
        self.registry = Registry.of([self._module()])

    def _module(self) -> ModuleType:
        module = ModuleType("declared")
        module.__dict__.update(things=things, thing=thing, by_id=BY_ID)
        return module

    def read(self) -> dict[str, str]:
        self.reads += 1
        if self.error:
            raise self.error
        return self.built

    def readiness(self, **pending: str | None) -> Readiness:
        return Readiness(self.registry, pending, self.read, lambda: self.now)


def test_the_record_is_read_again_soon_until_all_is_ready_and_then_seldom() -> None:
    record = Record()
    readiness = record.readiness()
    assert (dict(readiness), len(readiness), "by-id" in readiness) == ({"by-id": None}, 1, True)
    assert record.reads == 1
    record.built = contents(record.registry.shape())
    record.now += SOON_SECONDS
    assert "by-id" not in readiness
    record.now += LATER_SECONDS - 1
    assert not readiness
    assert record.reads == 2
    record.built = {}
    record.now += 1
    assert dict(readiness) == {"by-id": None}, "another model was deployed"


def test_a_phase_of_a_plan_goes_before_the_record() -> None:
    record = Record()
    assert dict(record.readiness(**{"by-id": "Older"})) == {"by-id": "Older"}


def test_the_last_record_holds_while_it_cannot_be_read_but_without_one_nothing_is_answered() -> (
    None
):
    record = Record()
    record.error = ServiceError("InternalServerError", "read")
    readiness = record.readiness()
    with pytest.raises(ServiceError):
        dict(readiness)
    record.error, record.built = None, contents(record.registry.shape())
    assert not readiness
    record.error = ServiceError("InternalServerError", "read")
    record.now += LATER_SECONDS
    assert not readiness
    assert record.reads == 3
