"""The writes, dead letters and outcomes that a batch of records leads to."""

import json
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from adminview.model import Index, Item, Registry, Row, Source, number, view
from adminview.model.dead_letter import BODY_LIMIT
from adminview.model.delivery import NEXT_TRY_SECONDS
from adminview.sync.plan import RecordOutcome, sequence_at
from tests.support.batches import letters, prepared, written
from tests.support.model import FAVOURITE, USER, order, registry
from tests.support.stream_records import record, ttl_deletion

users, orders = registry().source("Users"), registry().source("Orders")


PROFILE, HOME, WORK = (("USER#user-123", sk) for sk in ("PROFILE", "ADDRESS#home", "ADDRESS#work"))
ONE_ADDRESS = USER | {"addresses": [{"id": "home", "city": "Hanoi"}]}


@pytest.mark.parametrize(
    ("before", "after", "expected", "outcome"),
    [
        (None, USER, {PROFILE: True, HOME: True, WORK: True}, RecordOutcome.WRITTEN),
        (USER, None, {PROFILE: False, HOME: False, WORK: False}, RecordOutcome.WRITTEN),
        (USER, ONE_ADDRESS, {WORK: False}, RecordOutcome.WRITTEN),
        (ONE_ADDRESS, USER, {WORK: True}, RecordOutcome.WRITTEN),
        (USER, USER | {"name": "Eve"}, {PROFILE: True}, RecordOutcome.WRITTEN),
        (USER, USER | {"lastSeen": "today"}, {}, RecordOutcome.UNCHANGED),
    ],
)
def test_only_what_differs_is_written(
    before: Any, after: Any, expected: dict[tuple[str, str], bool], outcome: RecordOutcome
) -> None:
    batch = prepared(record(users, before, after))
    assert written(batch) == expected
    assert batch.outcomes == [outcome]
    assert batch.letters == []


def test_an_item_that_no_view_is_for_is_skipped_and_counted() -> None:
    batch = prepared(record(orders, None, {"CustomerId": "u", "SK": "NOTE#1"}))
    assert (written(batch), batch.outcomes, batch.letters) == ({}, [RecordOutcome.NO_VIEW], [])


def test_a_ttl_deletion_and_an_ordinary_one_do_the_same() -> None:
    ordinary, ttl = prepared(record(users, USER, None)), prepared(ttl_deletion(users, USER))
    assert written(ordinary) == written(ttl) == {PROFILE: False, HOME: False, WORK: False}


def test_a_change_of_a_row_key_removes_the_old_row() -> None:
    moved = FAVOURITE | {"SK": "FAVOURITE#1"}
    batch = prepared(record(orders, FAVOURITE, None, 1), record(orders, None, moved, 2))
    assert written(batch) == {
        ("USER#user-123", "FAVOURITE#484295"): False,
        ("USER#user-123", "FAVOURITE#1"): True,
    }


def test_a_batch_is_folded_to_the_last_word_on_each_row() -> None:
    batch = prepared(
        record(orders, None, order(), 1),
        record(orders, order(), order(Status="PAID"), 2),
        record(orders, order(Status="PAID"), order(Status="PACKED"), 3),
    )
    (top,) = (write for write in batch.writes if write.key[1].startswith("ORDER#"))
    row = json.loads(top.row or b"")
    assert row["GSI1_PK"] == {"S": "ORDER#STATUS#PACKED"}
    assert row["_seq"] == {"S": f"{3:021d}"}
    assert (top.first, top.last) == (0, 2)
    assert len(batch.writes) == 3


def test_a_row_carries_its_provenance() -> None:
    batch = prepared(record(users, None, {"userId": "a/b"}, 7, at=1_790_000_000.5))
    (write,) = batch.writes
    row = json.loads(write.row or b"")
    assert {name: row[name] for name in ("_owner", "_seq", "_at", "_model")} == {
        "_owner": {"S": "Users/a%2Fb"},
        "_seq": {"S": f"{7:021d}"},
        "_at": {"N": "1790000000"},
        "_model": {"S": "model-1"},
    }


def test_an_owner_can_be_read_back_into_its_key() -> None:
    key = {"CustomerId": {"S": "a/b%2Fc"}, "SK": {"S": "x#/%25"}}
    assert orders.key_from(orders.owner(key)) == key
    with pytest.raises(ValueError, match="does not name an item of source 'Users'"):
        users.key_from("Orders/a/b")


BROKEN = {"CustomerId": "user-123", "SK": "2025-03-01#2121195", "OrderId": "2121195"}


def test_a_record_whose_view_raises_is_dead_lettered_and_its_neighbours_are_written() -> None:
    batch = prepared(
        record(users, None, USER, 1),
        record(orders, None, BROKEN, 2),
        record(orders, None, FAVOURITE, 3),
    )
    assert batch.outcomes == [
        RecordOutcome.WRITTEN,
        RecordOutcome.DEAD_LETTERED,
        RecordOutcome.WRITTEN,
    ]
    assert len(batch.writes) == 4
    (letter,) = letters(batch)
    assert letter["error"]["kind"] == "MissingAttributeError"
    where = "view 'order' at tests.support.views.sales:"
    assert f"no attribute 'Status'; {where}" in letter["error"]["reason"]
    assert letter["source"] == letter["table"] == "Orders"
    assert letter["owner"] == "Orders/user-123/2025-03-01#2121195"
    assert letter["sequence"] == f"{2:021d}"
    assert letter["rows"] == []


def test_a_dead_letter_names_the_rows_that_the_record_might_have_touched() -> None:
    batch = prepared(record(orders, order(), BROKEN))
    assert [tuple(row) for row in letters(batch)[0]["rows"]] == [
        ("ORDER#2121195", "PRODUCT#product-abc-123#user-123#2025-03-01#2121195"),
        ("ORDER#2121195", "PRODUCT#product-def-789#user-123#2025-03-01#2121195"),
        ("USER#user-123", "ORDER#2025-03-01#2121195"),
    ]
    assert written(batch) == {}


def test_an_unreadable_before_is_written_over_and_leaves_a_dead_letter() -> None:
    batch = prepared(record(orders, BROKEN, order()))
    assert len(batch.writes) == 3
    assert batch.outcomes == [RecordOutcome.WRITTEN]
    (letter,) = letters(batch)
    assert letter["error"]["kind"] == "MissingAttributeError"
    assert len(letter["rows"]) == 3


def test_the_deletion_of_an_unreadable_item_is_dead_lettered() -> None:
    batch = prepared(record(orders, BROKEN, None))
    assert (written(batch), batch.outcomes, len(batch.letters)) == (
        {},
        [RecordOutcome.DEAD_LETTERED],
        1,
    )


things = Source("Things", partition_key="id")
by_size = Index("BySize", partition=number("size"), sort="colour", include=["data"])
by_size_and_name = Index("BySizeAndName", partition=number("size"), sort="name")


def model_of(derivation: Any, **kind: Any) -> Registry:
    module = ModuleType("things")
    indexes = {"a": by_size, "b": by_size_and_name}
    module.__dict__.update(things=things, rows=view(things, **kind)(derivation), **indexes)
    return Registry.of([module])


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (lambda: Row("", "x"), "'PK' is empty; DynamoDB takes 1 to 2048 bytes"),
        (lambda: Row("x", ""), "'SK' is empty"),
        (lambda: Row("x", "é" * 513), "'SK' has 1026 bytes; DynamoDB takes 1 to 1024"),
        (lambda: Row("x" * 2049, "x"), "'PK' has 2049 bytes"),
        (
            lambda: Row(5, "x"),  # type: ignore[arg-type]  # on purpose
            "PK of a row must be text; the view gave int",
        ),
        (
            lambda: Row("x", "x", indexes=[by_size("5", "red")]),
            "'size' of index 'BySize' must be a number; the view gave text",
        ),
        (
            lambda: Row("x", "x", indexes=[by_size(True, "red")]),
            "'size' .* a number; the view gave a boolean",
        ),
        (
            lambda: Row("x", "x", indexes=[by_size(5, 5)]),
            r"'colour' .* the view gave a number; to sort by number, declare number\('colour'\)",
        ),
        (
            lambda: Row("x", "x", indexes=[by_size()]),
            r"values of \(size, colour\); the view gave 0",
        ),
        (lambda: Row("x", "x", indexes=[by_size_and_name(1, "")]), "'name' is empty"),
        (
            lambda: Row("x", "x", indexes=[by_size(1, "red"), by_size_and_name(2, "n")]),
            "'BySizeAndName' gives 'size' a second value",
        ),
        (lambda: Row("x", "x", data={"v": "y" * 410_000}), "has 41.... bytes; at most"),
        (lambda: Row("x", "x", data={"v": 1.5}), "floats lose digits"),
        (
            lambda: Row("x", "x", data=Item({"l": {"S": "x"}}).raw("l")),
            "a row's data must be a map",
        ),
        (lambda: "not a row", "the view yielded str instead of a Row; .* view 'derivation' at"),
    ],
)
def test_a_row_that_dynamodb_would_refuse_sets_its_record_aside(row: Any, reason: str) -> None:
    def derivation(item: Item) -> Iterator[Row]:
        yield Row("fine", item["id"])
        yield row()

    batch = prepared(record(things, None, {"id": "i"}), model=model_of(derivation))
    assert batch.outcomes == [RecordOutcome.DEAD_LETTERED]
    assert written(batch) == {}
    assert re.search(reason, letters(batch)[0]["error"]["reason"])


def test_a_row_just_within_the_limit_passes_with_its_provenance_counted() -> None:
    def derivation(item: Item) -> Iterator[Row]:
        yield Row("PK", "SK", data={"v": "y" * int(item["length"])})

    def outcome(length: int) -> RecordOutcome:
        change = record(things, None, {"id": "i", "length": length})
        return prepared(change, model=model_of(derivation)).outcomes[0]

    limit = max(n for n in range(409_300, 409_600) if outcome(n) is RecordOutcome.WRITTEN)
    batch = prepared(record(things, None, {"id": "i", "length": limit}), model=model_of(derivation))
    (write,) = batch.writes
    assert sum(len(name) for name in json.loads(write.row or b"")) + limit < 400 * 1024
    assert outcome(limit + 1) is RecordOutcome.DEAD_LETTERED


def test_rows_that_cannot_be_encoded_are_dead_lettered_together_though_the_cause_is_unknown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Hold that no row is left out in silence, should a closer look find nothing wrong."""

    def derivation(item: Item) -> Iterator[Row]:
        yield Row("PK", f"{item['id']}-1")
        yield Row("PK", f"{item['id']}-2")

    def refuse_the_second(value: Any) -> bytes:
        if value.get("SK") == {"S": "bad-2"}:
            raise TypeError
        return json.dumps(value).encode()

    monkeypatch.setattr("adminview.sync.plan.dump_json", refuse_the_second)
    records = [record(things, None, {"id": id_}) for id_ in ("good", "bad")]
    batch = prepared(*records, model=model_of(derivation))
    assert batch.outcomes == [RecordOutcome.WRITTEN, RecordOutcome.DEAD_LETTERED]
    assert written(batch) == {("PK", "good-1"): True, ("PK", "good-2"): True}
    assert letters(batch)[0]["rows"] == [["PK", "bad-1"], ["PK", "bad-2"]]


@pytest.mark.parametrize("id_", ["\ud800", "\ud800" * 600])
def test_a_key_that_is_no_text_is_dead_lettered_however_short(id_: str) -> None:
    def derivation(_: Item) -> Iterator[Row]:
        yield Row("PK", "SK")

    batch = prepared(record(things, None, {"id": id_}), model=model_of(derivation))
    assert batch.outcomes == [RecordOutcome.DEAD_LETTERED]


def test_one_item_with_two_rows_of_one_key_is_dead_lettered() -> None:
    def derivation(item: Item) -> Iterator[Row]:
        yield Row("PK", item["id"])
        yield Row("PK", item["id"])

    batch = prepared(record(things, None, {"id": "i"}), model=model_of(derivation))
    reason = letters(batch)[0]["error"]["reason"]
    assert "two rows of one item have the same PK and SK; a list with two equal" in reason


def test_two_items_that_claim_one_row_are_noticed() -> None:
    def derivation(_: Item) -> Iterator[Row]:
        yield Row("PK", "SK")

    first, second = (record(things, None, {"id": id_}, n) for n, id_ in enumerate("ab", 1))
    batch = prepared(first, second, model=model_of(derivation))
    assert batch.outcomes == [RecordOutcome.WRITTEN, RecordOutcome.DEAD_LETTERED]
    assert letters(batch)[0]["error"]["kind"] == "OwnershipError"
    assert letters(batch)[0]["rows"] == []  # a repair of the second must not delete the first's


def test_an_error_of_a_view_is_reported_by_kind_and_place_and_never_quotes_data() -> None:
    def derivation(item: Item) -> Iterator[Row]:
        yield Row("PK", str(int(item["name"])))

    batch = prepared(record(things, None, {"id": "i", "name": "Ada"}), model=model_of(derivation))
    reason = letters(batch)[0]["error"]["reason"]
    assert "the view raised ValueError; view 'derivation' at tests.unit.test_sync_plan:" in reason
    assert "Ada" not in batch.letters[0].body


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ({"where": {"type": "order"}}, RecordOutcome.WRITTEN),
        ({"where": {"type": "other"}}, RecordOutcome.NO_VIEW),
        ({"where": {"absent": "x"}}, RecordOutcome.NO_VIEW),
        ({"where": {"absent": None}}, RecordOutcome.NO_VIEW),
        ({"where": {"count": 1}}, RecordOutcome.WRITTEN),
        ({"where": {"count": True}}, RecordOutcome.NO_VIEW),
        ({"when": lambda item: "type" in item}, RecordOutcome.WRITTEN),
        ({"when": lambda item: "absent" in item}, RecordOutcome.NO_VIEW),
        ({"where": {"type": "order"}, "when": lambda _: False}, RecordOutcome.NO_VIEW),
    ],
)
def test_a_view_is_for_the_items_it_says(kind: dict[str, Any], expected: RecordOutcome) -> None:
    def derivation(item: Item) -> Iterator[Row]:
        yield Row("PK", item["id"])

    change = record(things, None, {"id": "i", "type": "order", "count": 1})
    assert prepared(change, model=model_of(derivation, **kind)).outcomes == [expected]


def test_an_item_that_changes_its_kind_loses_the_rows_of_the_old_one() -> None:
    def derivation(item: Item) -> Iterator[Row]:
        yield Row("PK", item["id"])

    model = model_of(derivation, where={"type": "order"})
    before, after = {"id": "i", "type": "order"}, {"id": "i", "type": "draft"}
    assert written(prepared(record(things, before, after), model=model)) == {("PK", "i"): False}


def test_a_key_too_long_for_an_owner_is_dead_lettered() -> None:
    def derivation(_: Item) -> Iterator[Row]:
        yield Row("PK", "SK")

    batch = prepared(record(things, None, {"id": "é" * 1024}), model=model_of(derivation))
    assert "has too long a key" in letters(batch)[0]["error"]["reason"]


def test_row_keys_too_many_for_one_dead_letter_are_left_to_the_owner_index() -> None:
    def derivation(item: Item) -> Iterator[Row]:
        if "poison" in item:
            raise ValueError
        for n in range(1000):
            yield Row("P" * 500, f"{n}")

    before, after = {"id": "i"}, {"id": "i", "poison": 1}
    batch = prepared(record(things, before, after), model=model_of(derivation))
    (letter,) = batch.letters
    assert len(letter.body) < BODY_LIMIT
    assert json.loads(letter.body)["rows"] == []
    assert json.loads(letter.body)["find_rows"] == "by owner"
    assert letter.delay_seconds == NEXT_TRY_SECONDS, "the index must have caught up"


def test_a_record_without_a_sequence_number_is_named_by_the_nearest_before_it() -> None:
    named, unnamed = record(users, None, USER, 5), record(users, None, USER, 6)
    bare: list[dict[str, Any]] = [{"dynamodb": {"SequenceNumber": None}}, {"dynamodb": {}}, {}]
    for spoilt in bare:
        assert sequence_at([named, spoilt], 1) == f"{5:021d}"
    del unnamed["dynamodb"]["SequenceNumber"]
    with pytest.raises(ValueError, match="redeliver all of it"):
        sequence_at([unnamed, named], 0)
