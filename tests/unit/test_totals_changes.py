"""What the records of a batch change of each group, and what is skipped of contributions."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adminview.model.errors import UnreadableRecordError
from adminview.model.total import RESERVED_NAMES
from adminview.totals.archive import archive_key
from adminview.totals.changes import GroupChange, contributions, read_changes
from adminview.totals.position import position_name
from adminview.totals.update import TRIAL, GroupUpdate
from tests.support.totals_records import AT, Groups, added, record, removed, row, stored

NORTH, SOUTH = ("Sales.1#north", "2025"), ("Sales.1#south", "2025")

groups = st.sampled_from([NORTH, SOUTH, ("All.1", "TOTAL")])
amounts = st.dictionaries(st.sampled_from(["revenue", "units", "rank"]), st.integers(-99, 99))
contents = st.dictionaries(groups, amounts, max_size=3)


def changed(*records: dict[str, Any]) -> dict[Any, list[tuple[int, dict[str, Any]]]]:
    """Return each group's changes: the sequence number and what is not zero."""
    return {
        group: [
            (change.sequence, {name: amount for name, amount in change.amounts.items() if amount})
            for change in changes
        ]
        for group, changes in read_changes(records).groups.items()
    }


def test_a_new_row_counts_and_a_deleted_one_counts_no_more() -> None:
    assert changed(added(7, {NORTH: {"revenue": 5}})) == {NORTH: [(7, {"count": 1, "revenue": 5})]}
    assert changed(removed(8, {NORTH: {"revenue": 5}})) == {
        NORTH: [(8, {"count": -1, "revenue": -5})]
    }


def test_a_changed_amount_moves_the_sum_and_not_the_count() -> None:
    before, after = stored({NORTH: {"revenue": "5.98"}}), stored({NORTH: {"revenue": "6.00"}})
    assert changed(record(7, row(before), row(after))) == {
        NORTH: [(7, {"revenue": Decimal("0.02")})]
    }


def test_a_row_that_moves_to_another_group_leaves_the_first() -> None:
    before, after = stored({NORTH: {"revenue": 5}}), stored({SOUTH: {"revenue": 5}})
    assert changed(record(7, row(before), row(after))) == {
        NORTH: [(7, {"count": -1, "revenue": -5})],
        SOUTH: [(7, {"count": 1, "revenue": 5})],
    }


def test_a_sum_that_a_model_adds_or_drops_moves_alone() -> None:
    before, after = stored({NORTH: {"units": 2}}), stored({NORTH: {"revenue": 5}})
    assert changed(record(7, row(before), row(after))) == {
        NORTH: [(7, {"units": -2, "revenue": 5})]
    }


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, None),
        (stored({NORTH: {"revenue": 5}}), stored({NORTH: {"revenue": 5}})),
        (stored({NORTH: {"revenue": 5}}), stored({NORTH: {"revenue": "5.00"}})),
        (stored({NORTH: {}}), stored({NORTH: {"revenue": 0}})),
        (stored({}), None),
    ],
)
def test_a_change_that_moves_no_total_makes_no_update(before: Any, after: Any) -> None:
    assert changed(record(7, row(before), row(after))) == {}


def test_the_changes_of_a_group_are_in_the_order_of_the_records() -> None:
    batch = [
        added(10**20, {NORTH: {}}),
        added(10**20 + 1, {SOUTH: {}}),
        removed(10**21, {NORTH: {}}),
    ]
    changes = read_changes(batch)
    assert [(c.sequence, c.record) for c in changes.groups[NORTH]] == [(10**20, 0), (10**21, 2)]
    assert [(c.sequence, c.record) for c in changes.groups[SOUTH]] == [(10**20 + 1, 1)]


def test_the_newest_record_of_a_batch_is_the_one_with_the_latest_time() -> None:
    batch = [added(1, {}, AT), added(2, {NORTH: {}}, AT + 9), added(3, {}, AT + 5)]
    assert read_changes(batch).newest == AT + 9
    assert read_changes([]).newest == 0


@given(st.lists(st.tuples(st.integers(0, 3), contents | st.none()), max_size=12))
def test_the_changes_of_any_history_add_up_to_what_the_rows_contribute(
    history: list[tuple[int, Groups | None]],
) -> None:
    rows: dict[int, Groups | None] = {}
    batch = []
    for sequence, (name, content) in enumerate(history, 1):
        before, rows[name] = rows.get(name), content
        old, new = (None if image is None else row(stored(image)) for image in (before, content))
        if old or new:
            batch.append(record(sequence, old, new))
    expected: dict[tuple[Any, str], Decimal] = {}
    for content in rows.values():
        for group, contributed in (content or {}).items():
            for sum_, amount in {"count": 1, **contributed}.items():
                place = group, sum_
                expected[place] = expected.get(place, Decimal()) + Decimal(amount)
    totals = {
        (group, name): total
        for group, changes in read_changes(batch).groups.items()
        for name, total in _sum(changes).items()
    }
    assert {k: v for k, v in totals.items() if v} == {k: v for k, v in expected.items() if v}


def _sum(changes: Sequence[GroupChange]) -> dict[str, Decimal]:
    total: dict[str, Decimal] = {}
    for change in changes:
        for name, amount in change.amounts.items():
            total[name] = total.get(name, Decimal()) + amount
    return total


def content(**amounts: Any) -> dict[str, Any]:
    return {"M": {"G": {"M": {"s": {"M": {name: {"N": n} for name, n in amounts.items()}}}}}}


MALFORMED: list[Any] = [
    {"S": "G"},
    {"NULL": True},
    {"L": []},
    {},
    "G",
    5,
    [],
    {"M": "G"},
    {"M": {"G": {"S": "s"}}},
    {"M": {"G": None}},
    {"M": {"G": {"M": [1]}}},
    {"M": {"G": {"M": {"s": None}}}},
    {"M": {"G": {"M": {"s": {"N": "1"}}}}},
    {"M": {"G": {"M": {"s": {"M": "a"}}}}},
    {"M": {"G": {"M": {"s": {"M": {"a": "1"}}}}}},
    {"M": {"G": {"M": {"s": {"M": {"a": {"S": "1"}}}}}}},
    {"M": {"G": {"M": {"s": {"M": {"a": {"N": None}}}}}}},
    {"M": {"G": {"M": {"s": {"M": {"a": {"N": []}}}}}}},
    {"M": {"G": {"M": {"s": {"M": {"a": None}}}}}},
    {"M": {"": {"M": {"s": {"M": {}}}}}},
    {"M": {"G": {"M": {"": {"M": {}}}}}},
    {"M": {"G" * 2049: {"M": {"s": {"M": {}}}}}},
    {"M": {"ü" * 1025: {"M": {"s": {"M": {}}}}}},
    {"M": {"G": {"M": {"s" * 1025: {"M": {}}}}}},
    {"M": {"\ud800": {"M": {"s": {"M": {}}}}}},
    {"M": {"G": {"M": {"\udfff": {"M": {}}}}}},
    content(a="NaN"),
    content(a="sNaN"),
    content(a="-Infinity"),
    content(a="one"),
    content(a=""),
    content(a="1E+126"),
    content(a="1E-131"),
    content(a="1E+999999999"),
    content(a="9" * 30),
    content(a="-" + "9" * 30),
    content(a="1E+29"),
    content(a="1E-29"),
    content(a="1" + "." + "0" * 28 + "1"),
    content(a="1", count="5"),
    content(a="1", expires="5"),
    content(PK="1"),
    content(SK="1"),
    content(data="1"),
    content(**{"@bgdISpAC": "1"}),
    content(**{"": "1"}),
    content(**{"a b": "1"}),
    content(_a="1"),
    content(**{"x" * 65: "1"}),
    content(**{f"s{number}": "1" for number in range(12)}),
]


@pytest.mark.parametrize("hostile", MALFORMED, ids=lambda content: str(content)[:60])
def test_a_malformed_contribution_is_counted_and_skipped_and_the_others_count(
    hostile: Any,
) -> None:
    changes = read_changes([record(1, None, row(hostile)), added(2, {NORTH: {"revenue": 5}})])
    assert changes.malformed == 1
    assert [*changes.groups] == [NORTH]
    gone = read_changes([record(3, row(hostile), None)])
    assert (gone.malformed, gone.groups) == (1, {})


@pytest.mark.parametrize(
    ("partition", "malformed"),
    [(archive_key(("Sales.1", "a"))["PK"]["S"], 1), (TRIAL[0], 1), ("~x", 1), ("~probe#1", 0)],
)
def test_no_row_contributes_to_items_that_are_no_totals(partition: str, malformed: int) -> None:
    """A position in an archive would cover records that another total has not counted."""
    changes = read_changes([added(1, {(partition, "~archive"): {}})])
    assert (changes.malformed, len(changes.groups)) == (malformed, 1 - malformed)


def test_a_malformed_contribution_does_not_spoil_the_others_of_its_row() -> None:
    partitions = stored({NORTH: {"revenue": 5}, SOUTH: {"revenue": "NaN"}})["M"]
    hostile = {"M": {**partitions, "Wrong.1": {"S": "x"}}}
    changes = read_changes([record(1, None, row(hostile))])
    assert changes.malformed == 2
    assert [*changes.groups] == [NORTH]


def test_a_malformed_contribution_that_is_repaired_counts_from_then_on() -> None:
    repaired = record(1, row({"S": "x"}), row(stored({NORTH: {"revenue": 5}})))
    assert changed(repaired) == {NORTH: [(1, {"count": 1, "revenue": 5})]}


@pytest.mark.parametrize(
    "largest", ["9" * 29, "0." + "9" * 28, "-" + "9" * 20 + "." + "9" * 9, "1E+28", "0E+100"]
)
def test_the_largest_amounts_that_a_sum_can_take_are_not_malformed(largest: str) -> None:
    changes = read_changes([record(1, None, row(content(a=largest)))])
    assert changes.malformed == 0
    ((change,),) = changes.groups.values()
    assert change.amounts["a"] == Decimal(largest)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["M", "N", "S", "PK", "count", "rank", "expires", "@a", "a"])
            | st.text(max_size=3),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)
wrapped = st.dictionaries(
    st.text(max_size=3),
    st.fixed_dictionaries({"M": st.dictionaries(st.text(max_size=3), json_values, max_size=3)}),
    max_size=3,
).map(lambda partitions: {"M": partitions})


@given(json_values | wrapped, json_values | wrapped)
def test_nothing_that_a_row_can_hold_raises_or_reaches_a_reserved_attribute(
    before: Any, after: Any
) -> None:
    changes = read_changes([record(1, row(before), row(after))])
    for group, moved in changes.groups.items():
        request = GroupUpdate(group, position_name("shard"), moved).request("T")
        names = [
            request["ExpressionAttributeNames"][f"#a{n}"]
            for n in range(10)
            if f"#a{n}" in request["ExpressionAttributeNames"]
        ]
        assert not set(names) & (RESERVED_NAMES - {"count", "rank"})
        assert not any(name.startswith("@") for name in names)
        assert all(group)
    if before is not None:
        contributions({"_totals": before})


@pytest.mark.parametrize(
    ("event", "images"),
    [
        ("INSERT", {}),
        ("INSERT", {"OldImage": row(None), "NewImage": row(None)}),
        ("MODIFY", {"NewImage": row(None)}),
        ("MODIFY", {"OldImage": row(None)}),
        ("REMOVE", {}),
        ("REMOVE", {"NewImage": row(None)}),
        ("OTHER", {"NewImage": row(None)}),
    ],
)
def test_a_record_without_its_images_names_the_setting_of_the_stream(
    event: str, images: dict[str, Any]
) -> None:
    wrong = added(1, {NORTH: {}}) | {"eventName": event}
    wrong["dynamodb"] = {
        name: value for name, value in wrong["dynamodb"].items() if not name.endswith("Image")
    } | images
    with pytest.raises(UnreadableRecordError, match="view type must be NEW_AND_OLD_IMAGES"):
        read_changes([wrong])


@pytest.mark.parametrize("missing", ["SequenceNumber", "ApproximateCreationDateTime"])
def test_a_record_without_a_position_or_a_time_is_refused(missing: str) -> None:
    """Without its time, its position would be taken for one that has expired."""
    wrong = added(1, {NORTH: {}})
    del wrong["dynamodb"][missing]
    with pytest.raises(UnreadableRecordError, match="invalid: KeyError"):
        read_changes([wrong])


@pytest.mark.parametrize("wrong", [{}, {"eventName": "INSERT"}, {"dynamodb": {}}, []])
def test_what_is_no_record_is_refused_without_its_data(wrong: Any) -> None:
    with pytest.raises(UnreadableRecordError):
        read_changes([wrong])


def test_a_row_with_more_groups_than_a_view_can_give_it_is_malformed_as_a_whole() -> None:
    def row(groups: int) -> dict[str, Any]:
        sorts: dict[str, Any] = {str(number): {"M": {}} for number in range(groups)}
        return {"_totals": {"M": {"Sales.1": {"M": sorts}}}}

    assert len(contributions(row(40))[0]) == 40  # twenty contributions, each to two epochs
    assert contributions(row(41)) == ({}, 1)
