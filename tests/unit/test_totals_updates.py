"""One conditional update per group, the changes it leaves out, and the upkeep of its item."""

from typing import Any

import pytest

from adminview.aws.attribute_codec import for_boto3
from adminview.model.errors import RowError
from adminview.totals.archive import mark_bound
from adminview.totals.position import HOUR, LIVE_HOURS, MOST_EXPIRED, encode_position, lower_bound
from adminview.totals.update import upkeep
from tests.support.totals_items import TotalsItems
from tests.support.totals_records import AT, GROUP, SHARD, change, update

KEY = {"PK": {"S": GROUP[0]}, "SK": {"S": GROUP[1]}}
DAY = 24 * HOUR


def send(items: TotalsItems, request: dict[str, Any]) -> dict[str, Any]:
    values = for_boto3(request["ExpressionAttributeValues"])
    return items.update_item(**request | {"ExpressionAttributeValues": values})


def test_the_request_adds_the_amounts_and_moves_the_position_in_one_condition() -> None:
    request = update(change(5, 1, revenue="1.10"), change(9, -1, AT + HOUR, revenue=2)).request("T")
    assert request == {
        "TableName": "T",
        "Key": KEY,
        "UpdateExpression": "ADD #a0 :a0, #a1 :a1 SET #p = :last REMOVE #x",
        "ConditionExpression": (
            "attribute_not_exists(#p) AND attribute_not_exists(#f) OR #p < :first "
            "OR attribute_not_exists(#p) AND #f < :oldest"
        ),
        "ExpressionAttributeNames": {
            "#p": SHARD,
            "#x": "expires",
            "#f": "archived",
            "#a0": "count",
            "#a1": "revenue",
        },
        "ExpressionAttributeValues": {
            ":first": lower_bound(5),
            ":last": encode_position(9, AT + HOUR),
            ":oldest": mark_bound(AT),
            ":a0": {"N": "0"},
            ":a1": {"N": "3.1"},
        },
        "ReturnValues": "ALL_NEW",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }


def test_changes_that_cancel_each_other_still_move_the_position() -> None:
    """Otherwise the second of them would count if it came again alone."""
    request = update(change(1, 1, units=2), change(2, -1, units=-2)).request("T")
    assert request["UpdateExpression"] == "ADD #a0 :a0 SET #p = :last REMOVE #x"
    assert request["ExpressionAttributeValues"][":last"] == encode_position(2, AT)


def test_a_rank_is_sent_even_if_it_does_not_move() -> None:
    """Otherwise a total of nothing but zeros would be in no ranking."""
    names = update(change(1, 1, rank=0, revenue=0)).request("T")["ExpressionAttributeNames"]
    assert [name for place, name in names.items() if place.startswith("#a")] == ["count", "rank"]


def test_a_sum_of_more_than_38_digits_is_refused_before_it_is_sent() -> None:
    assert update(change(1, a="1E+28"), change(2, a="1E-9")).request("T")
    with pytest.raises(RowError, match="39 significant digits"):
        update(change(1, a="1E+28"), change(2, a="1E-10")).request("T")


def test_amounts_of_38_digits_are_added_exactly() -> None:
    items = TotalsItems()
    send(items, update(change(1, a="9" * 28)).request("T"))
    send(items, update(change(2, a="0." + "9" * 9)).request("T"))
    assert items.items[GROUP]["a"] == {"N": "9" * 28 + "." + "9" * 9}


def test_changes_that_an_item_includes_are_left_out() -> None:
    whole = update(change(5), change(10**20), change(10**21))
    unchanged = whole.uncovered({SHARD: encode_position(4, AT)})
    assert unchanged
    assert [*unchanged.changes] == [*whole.changes]
    left = whole.uncovered({SHARD: encode_position(10**20, AT)})
    assert left
    assert [group_change.sequence for group_change in left.changes] == [10**21]
    assert left.first_record == 10**21
    assert whole.uncovered({SHARD: encode_position(10**21, AT)}) is None


def test_an_update_is_halved_in_order_until_one_change_is_left() -> None:
    halves = update(*map(change, (1, 2, 3))).halves()
    assert halves
    assert [[group_change.sequence for group_change in half.changes] for half in halves] == [
        [1],
        [2, 3],
    ]
    assert halves[0].halves() is None


@pytest.mark.parametrize(
    ("wrong", "fits"),
    [
        ({}, True),
        ({"PK": {"S": "Sales.1#south"}}, False),
        ({"SK": {"S": "2024"}}, False),
        ({SHARD: encode_position(1, AT)}, False),
        ({SHARD: {"S": "x"}}, False),
        ({"PK": None}, False),
    ],
)
def test_a_response_shows_whether_it_is_about_this_update(
    wrong: dict[str, Any], *, fits: bool
) -> None:
    item = {**KEY, "count": {"N": "1"}, SHARD: encode_position(5, AT), **wrong}
    assert update(change(5)).is_in(item) is fits
    assert not update(change(5)).is_in({})


def item(count: float = 1, **positions: float) -> dict[str, Any]:
    """Make an item whose own position is of now, and others of so many hours before."""
    others = {
        f"@{name}": encode_position(1, AT - hours * HOUR) for name, hours in positions.items()
    }
    return {**KEY, "count": {"N": f"{count:g}"}, SHARD: encode_position(5, AT), **others}


def old(count: int) -> dict[str, float]:
    return {f"old{number}": 30.0 for number in range(count)}


def test_an_item_with_rows_and_few_old_positions_needs_no_upkeep() -> None:
    for positions in ({}, old(MOST_EXPIRED - 1), {f"new{n}": 20.0 for n in range(50)}):
        assert upkeep("T", update(change(5)), item(**positions), AT) == []


def test_old_positions_are_removed_together_if_they_are_still_the_same() -> None:
    stored = item(**old(MOST_EXPIRED), young=2.0)
    [request] = upkeep("T", update(change(5)), stored, AT)
    items = TotalsItems()
    items.items[GROUP] = for_boto3(stored)

    send(items, request)

    assert items.items[GROUP].keys() == {"PK", "SK", "count", SHARD, "@young"}
    items.items[GROUP] = for_boto3(stored | {"@old0": encode_position(9, AT)})
    with pytest.raises(Exception, match="ConditionalCheckFailed"):
        send(items, request)


def test_many_old_positions_are_removed_in_several_calls() -> None:
    stored = item(**old(200))
    [request] = upkeep("T", update(change(5)), stored, AT)
    assert request["ConditionExpression"].count("=") == 100  # DynamoDB takes 300 operators


def test_an_empty_total_leaves_the_ranking_at_once() -> None:
    items = TotalsItems()
    stored = item(0) | {"rank": {"N": "0"}}
    items.items[GROUP] = for_boto3(stored)
    [request] = upkeep("T", update(change(5)), stored, AT)
    send(items, request)
    assert "rank" not in items.items[GROUP]
    assert "expires" in items.items[GROUP]


def test_the_own_position_is_never_removed() -> None:
    stored = item(**old(MOST_EXPIRED))
    ancient = update(change(5, at=AT + 100 * DAY))
    [request] = upkeep("T", ancient, stored, AT)
    assert SHARD not in request["ExpressionAttributeNames"].values()


def test_a_position_is_old_by_the_time_of_records_and_not_by_the_clock() -> None:
    stored = item(**{f"p{number}": 20.0 for number in range(MOST_EXPIRED)})
    assert upkeep("T", update(change(5)), stored, AT + 100 * DAY) == []


def expiry(request: dict[str, Any]) -> int:
    return int(request["ExpressionAttributeValues"][":at"]["N"])


@pytest.mark.parametrize("behind", [0, 20 * HOUR, -3 * HOUR])
def test_an_empty_total_expires_when_none_of_its_records_can_come_again(behind: float) -> None:
    now = AT + behind
    [request] = upkeep("T", update(change(5, -1)), item(0, other=1.0), now)
    assert expiry(request) >= max(now, AT) + (LIVE_HOURS + 1) * HOUR


def test_an_empty_total_that_changes_meanwhile_does_not_expire() -> None:
    items = TotalsItems()
    send(items, update(change(1)).request("T"))
    emptied = update(change(2, -1))
    response = send(items, emptied.request("T"))
    [request] = upkeep("T", emptied, {**response["Attributes"], SHARD: encode_position(2, AT)}, AT)

    send(items, update(change(3)).request("T"))
    with pytest.raises(Exception, match="ConditionalCheckFailed"):
        send(items, request)  # it counts a row again
    send(items, update(change(4, -1)).request("T"))
    with pytest.raises(Exception, match="ConditionalCheckFailed"):
        send(items, request)  # it is empty since a later record
    assert "expires" not in items.items[GROUP]


def test_every_update_takes_the_expiry_back() -> None:
    items = TotalsItems()
    emptied = update(change(1, 0))
    response = send(items, emptied.request("T"))
    stored = {**response["Attributes"], SHARD: encode_position(1, AT)}
    [request] = upkeep("T", emptied, stored, AT)
    send(items, request)
    assert items.delete_expired(AT + 24 * HOUR) == []

    send(items, update(change(2), shard="@other").request("T"))

    assert items.delete_expired(AT + 1000 * DAY) == []


def test_an_empty_total_with_old_positions_needs_both() -> None:
    assert len(upkeep("T", update(change(5)), item(0, **old(MOST_EXPIRED)), AT)) == 2
