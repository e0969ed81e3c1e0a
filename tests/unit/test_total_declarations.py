"""Totals and contributions, checked when they are declared and when a row is derived."""

from decimal import Decimal
from enum import Enum
from types import ModuleType
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from adminview.model import AccessPattern, Index, Registry, Row
from adminview.model.attribute import binary, number
from adminview.model.errors import DeclarationError, QueryError, RowError
from adminview.model.item import DIGITS
from adminview.model.row import TOTALS
from adminview.model.total import (
    AMOUNT_DIGITS,
    MOST_SUMS,
    MOST_TOTALS,
    PARTITION_PARTS,
    Sum,
    Total,
    encode_contributions,
    totals_table,
)

sales = Total("DailySales", partition="shop", sort="day", sums=["revenue"])
statuses = Total("OrdersByStatus", sort="status")
grand = Total("Everything", sums=[Sum("revenue", digits=3, scale=2)])
ranked = Total("Products", sort="product", sums=["units", "revenue"], ranked_by="revenue")

texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=40)
keyish = st.text(st.sampled_from("ab#%2350."), min_size=1, max_size=12)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"name": ""}, "total '': its name must have 1 to 64 characters"),
        ({"name": "1st"}, "begin with A-Z or a-z"),
        ({"name": "a.b"}, "total 'a.b': its name must have"),
        ({"name": "a#b"}, "total 'a#b': its name must have"),
        ({"name": "x" * 65}, "1 to 64 characters"),
        ({"partition": list("abcde")}, f"5 partition attributes; at most {PARTITION_PARTS}"),
        ({"sort": ["day", "hour"]}, "one sort attribute; put the others into partition"),
        ({"sort": number("size")}, "'size' must be text; write a number with leading zeros"),
        ({"partition": binary("id")}, "'id' must be text"),
        ({"sort": "count"}, "'count' cannot name a group: every total has that attribute"),
        ({"sort": "PK"}, "'PK' cannot name a group"),
        ({"partition": "rank"}, "'rank' cannot name a group"),
        ({"partition": "data"}, "'data' cannot name a group"),
        ({"sums": "revenue"}, r"sums must be a list, as in sums=\['revenue'\]"),
        ({"sums": Sum("revenue")}, r"sums must be a list, as in sums=\[Sum"),
        ({"sums": [f"s{n}" for n in range(MOST_SUMS + 1)]}, f"11 sums; at most {MOST_SUMS}"),
        ({"sums": ["a-b"]}, "a sum cannot be named 'a-b'; use letters, digits and _"),
        ({"sums": ["@a"]}, "a sum cannot be named '@a'"),
        ({"sums": ["_a"]}, "a sum cannot be named '_a'"),
        ({"sums": ["x" * 65]}, "a sum cannot be named"),
        ({"sums": ["average_price"]}, "a sum cannot be named 'average_price'"),
        ({"sums": ["count"]}, "a sum cannot be named 'count': every total has an attribute"),
        ({"sums": ["expires"]}, "a sum cannot be named 'expires': every total"),
        ({"sums": ["rank"]}, "a sum cannot be named 'rank': every total"),
        ({"sums": ["SK"]}, "a sum cannot be named 'SK': every total"),
        ({"sums": [7]}, r"sums takes names and Sum\(…\), not 7"),
        ({"sums": ["a", "b", "a"]}, "two of its attributes are named a$"),
        ({"sort": "day", "sums": ["day"]}, "two of its attributes are named day"),
        ({"partition": "a", "sort": "a"}, "two of its attributes are named a$"),
        (
            {"sort": "average_price", "sums": ["price"]},
            "two of its attributes are named average_price",
        ),
        (
            {"sort": "day", "sums": ["revenue"], "ranked_by": "units"},
            "ranked_by names 'units'; it can be one of count, revenue",
        ),
        ({"ranked_by": "count"}, "a ranking needs a sort attribute"),
        ({"epoch": 0}, "an epoch must be a whole number from 1 on, not 0"),
        ({"epoch": True}, "an epoch must be a whole number from 1 on, not True"),
        ({"epoch": "2"}, "an epoch must be a whole number from 1 on, not '2'"),
        ({"epoch_was": -1}, "an epoch must be a whole number from 0 on, not -1"),
        ({"epoch": 2, "epoch_was": 2}, "epoch_was is 2; it must be lower than epoch, 2"),
        ({"sums": [Sum("a", digits=0)]}, "sum 'a' needs digits of at least 1"),
        ({"sums": [Sum("a", scale=-1)]}, "sum 'a' needs digits of at least 1 and a scale"),
        ({"sums": [Sum("a", digits=True)]}, "sum 'a' needs digits of at least 1"),
        ({"sums": [Sum("a", scale=1.5)]}, "sum 'a' needs digits"),  # type: ignore[arg-type]
        (
            {"sums": [Sum("a", digits=20, scale=10)]},
            "could exceed the 38 digits of DynamoDB: digits and scale are 30 together, at most 29",
        ),
    ],
)
def test_a_total_that_cannot_work_is_refused_with_its_reason(
    wrong: dict[str, Any], why: str
) -> None:
    declared = {"name": "Sales"} | wrong
    with pytest.raises(DeclarationError, match=why) as caught:
        Total(declared.pop("name"), **declared)
    assert str(caught.value).startswith("total ")


@pytest.mark.parametrize(
    "declared",
    [
        {"partition": list("abcd"), "sort": "e", "sums": [f"s{n}" for n in range(MOST_SUMS)]},
        {"sums": [Sum("a", digits=1, scale=28), Sum("b", digits=29, scale=0)]},
        {"sort": "day", "ranked_by": "count"},
        {"epoch": 3, "epoch_was": 1},
    ],
)
def test_a_total_at_the_limits_is_taken_and_rebuilt_from_its_shape(
    declared: dict[str, Any],
) -> None:
    total = Total("T" * 64, **declared)
    assert Total.from_shape(total.shape()) == total


def registry(*declared: object) -> Registry:
    module = ModuleType("declared_totals")
    module.__dict__.update(
        {f"name{place}": declaration for place, declaration in enumerate(declared)}
    )
    return Registry.of([module])


def test_an_access_pattern_on_an_undeclared_total_is_refused_with_both_names() -> None:
    pattern = AccessPattern("daily-sales", total=sales, partition="{shop}")
    with pytest.raises(DeclarationError, match="no view file declares") as caught:
        registry(statuses, pattern)
    for name in ("'daily-sales'", "'DailySales'", "OrdersByStatus"):
        assert name in str(caught.value)


def test_two_totals_of_one_name_are_refused() -> None:
    with pytest.raises(DeclarationError, match=r"two totals have the same name.*'DailySales'"):
        registry(sales, Total("DailySales"))


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"total": "DailySales"}, "'daily': total must be a Total, not 'DailySales'"),
        ({"total": sales}, r"total 'DailySales'.*shop"),
        ({"total": statuses, "partition": "{shop}"}, "total 'OrdersByStatus'"),
        ({"total": sales, "partition": "{shop}", "ranked": True}, "'DailySales' is not ranked"),
        ({"total": ranked, "ranked": True, "consistent": True}, "cannot be read consistently"),
        ({"total": statuses, "shows": ["status"]}, "shows applies to rows"),
        (
            {"total": statuses, "index": Index("Statuses", partition="status")},
            "either an index or a total, not both",
        ),
        ({"ranked": True, "partition": "A"}, "ranked needs a total"),
    ],
)
def test_an_access_pattern_that_does_not_fit_its_total_is_refused(
    wrong: dict[str, Any], why: str
) -> None:
    with pytest.raises(DeclarationError, match=why):
        AccessPattern("daily", **wrong)


def test_a_query_with_a_group_too_long_for_a_key_is_refused() -> None:
    pattern = AccessPattern("daily-sales", total=sales, partition="{shop}")
    with pytest.raises(QueryError, match="shop make a key of 2053 bytes; at most 2048"):
        pattern.condition(shop="#" * 680)


@pytest.mark.parametrize(
    ("contribute", "why"),
    [
        (
            lambda: sales("north", revenue=1),
            r"total 'DailySales' needs values of \(shop, day\); the view gave 1",
        ),
        (lambda: sales("north", "1", "2", revenue=1), r"\(shop, day\); the view gave 3"),
        (lambda: sales("north", 1, revenue=1), "total 'DailySales': day must be text, not int"),
        (lambda: sales(None, "1", revenue=1), "'DailySales': shop must be text, not NoneType"),
        (lambda: sales(b"x", "1", revenue=1), "shop must be text, not bytes"),
        (lambda: sales("", "1", revenue=1), "total 'DailySales': shop is empty"),
        (lambda: sales("north", "", revenue=1), "total 'DailySales': day is empty"),
        (
            lambda: sales("north", "1"),
            r"'DailySales' has the sums \(revenue\); revenue is missing",
        ),
        (
            lambda: sales("north", "1", units=1),
            r"has the sums \(revenue\); revenue is missing, units is not declared",
        ),
        (lambda: statuses("PAID", units=1), r"has the sums \(none\); units is not declared"),
        (
            lambda: sales("n" * 2036, "1", revenue=1),
            "'DailySales': the values of its group are too long: key attribute 'PK' has 2049 bytes",
        ),
        (lambda: sales("#" * 700, "1", revenue=1), "too long: key attribute 'PK' has 2113 bytes"),
        (lambda: sales("ü" * 1020, "1", revenue=1), "'PK' has 2053 bytes"),
        (lambda: statuses("ü" * 513), "'SK' has 1026 bytes; DynamoDB takes 1 to 1024"),
        (lambda: grand(revenue=1.5), "revenue must be a whole number or a Decimal, not float"),
        (lambda: grand(revenue="1"), "revenue must be a whole number or a Decimal, not str"),
        (lambda: grand(revenue=True), "revenue must be a whole number or a Decimal, not bool"),
        (lambda: grand(revenue=None), "revenue must be a whole number or a Decimal, not NoneType"),
        (
            lambda: grand(revenue=1000),
            r"revenue has more than 3 digits before the point; declare Sum\('revenue'",
        ),
        (lambda: grand(revenue=Decimal("-1E+3")), "more than 3 digits before the point"),
        (
            lambda: grand(revenue=Decimal("0.001")),
            "'Everything': revenue has more than 2 decimal places; round it in the view",
        ),
        (lambda: grand(revenue=Decimal("NaN")), "'Everything': revenue: DynamoDB has no NaN"),
        (
            lambda: grand(revenue=Decimal("Infinity")),
            "revenue: DynamoDB has no NaN and no Infinity",
        ),
        (lambda: grand(revenue=10**38 + 1), "'Everything': revenue: a number has 39 significant"),
        (lambda: grand(revenue=Decimal("1E+999")), "revenue: a number is outside DynamoDB's range"),
    ],
)
def test_a_contribution_that_does_not_fit_its_total_is_refused(contribute: Any, why: str) -> None:
    with pytest.raises(RowError, match=why):
        contribute()


def test_a_refusal_quotes_no_value() -> None:
    secret = "secret-of-a-customer" * 200
    with pytest.raises(RowError) as caught:
        sales(secret, "1", revenue=1)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("amount", "stored"),
    [
        (999, "999"),
        (-999, "-999"),
        (0, "0"),
        (Decimal("-0.00"), "0"),
        (Decimal("0.10"), "0.1"),
        (Decimal("100.00"), "100"),
        (Decimal("1E+2"), "100"),
        (Decimal("999.99"), "999.99"),
    ],
)
def test_an_amount_is_stored_exactly(amount: Any, stored: str) -> None:
    assert grand(revenue=amount).amounts == {"revenue": {"N": stored}}


def test_the_largest_amounts_of_a_billion_rows_fit_38_digits() -> None:
    widest = Total("Widest", sums=[Sum("a", digits=20, scale=9)])
    amount = Decimal("9" * 20 + "." + "9" * 9)
    widest(a=amount)
    digits = Decimal(10**9) * amount
    assert len(digits.normalize().as_tuple().digits) <= DIGITS
    assert AMOUNT_DIGITS == 29


def test_contributions_are_stored_by_partition_and_sort_key() -> None:
    encoded = encode_contributions(
        [
            sales("a#b", "2025", revenue=5),
            statuses("PAID"),
            grand(revenue=1),
            ranked("p", units=2, revenue=3),
        ]
    )
    assert encoded == {
        "M": {
            "DailySales.1#a%23b": {"M": {"2025": {"M": {"revenue": {"N": "5"}}}}},
            "OrdersByStatus.1": {"M": {"PAID": {"M": {}}}},
            "Everything.1": {"M": {"TOTAL": {"M": {"revenue": {"N": "1"}}}}},
            "Products.1": {
                "M": {"p": {"M": {"units": {"N": "2"}, "revenue": {"N": "3"}, "rank": {"N": "3"}}}}
            },
        }
    }


def test_a_total_ranked_by_its_count_ranks_each_row_as_one() -> None:
    by_count = Total("Users", sort="user", ranked_by="count")
    assert by_count("u").amounts == {"rank": {"N": "1"}}


def test_a_row_may_contribute_to_two_groups_of_one_total() -> None:
    encoded = encode_contributions([statuses("PAID"), statuses("OPEN")])
    assert encoded["M"]["OrdersByStatus.1"]["M"].keys() == {"PAID", "OPEN"}


def test_two_contributions_to_one_group_are_refused() -> None:
    with pytest.raises(RowError, match="twice to one group of total 'OrdersByStatus'; add up"):
        encode_contributions([statuses("PAID"), statuses("PAID")])


def test_too_many_contributions_are_refused() -> None:
    encode_contributions([statuses(str(n)) for n in range(MOST_TOTALS)])
    with pytest.raises(
        RowError, match=r"21 contributions to totals \(OrdersByStatus\); at most 20"
    ):
        encode_contributions([statuses(str(n)) for n in range(MOST_TOTALS + 1)])
    several = [Total(f"Total{n}")() for n in range(MOST_TOTALS + 1)]
    with pytest.raises(RowError, match=r"to totals \(Total0, Total1, Total2, …\); at most 20"):
        encode_contributions(several)


@pytest.mark.parametrize("wrong", [sales, "PAID", None, {"PAID": 1}])
def test_what_is_no_contribution_is_refused(wrong: object) -> None:
    with pytest.raises(RowError, match="totals of a row"):
        Row("ORDERS", "1", totals=[wrong]).attributes()  # type: ignore[list-item]


def test_a_total_that_is_rebuilt_contributes_to_both_epochs() -> None:
    rebuilt = Total("DailySales", partition="shop", sort="day", epoch=3, epoch_was=1)
    assert rebuilt("north", "1").partitions == ("DailySales.3#north", "DailySales.1#north")
    assert rebuilt.at(1)("north", "1").partitions == ("DailySales.1#north",)


class Status(str, Enum):  # noqa: UP042 - as many views still have it
    """A status."""

    PAID = "PAID"


def test_an_enumerated_text_is_its_value() -> None:
    plain, enumerated = statuses("PAID"), statuses(Status.PAID)
    assert encode_contributions([enumerated]) == encode_contributions([plain])


def test_a_row_stores_its_contributions_and_a_row_without_any_has_no_attribute() -> None:
    stored = Row("ORDERS", "1", totals=[statuses("PAID")]).attributes()
    assert stored[TOTALS] == {"M": {"OrdersByStatus.1": {"M": {"PAID": {"M": {}}}}}}
    assert TOTALS not in Row("ORDERS", "1").attributes()


two = Total("Two", partition=["a", "b"], sort="c")
three = Total("Two-", partition=["a", "b"], sort="c")
flat = Total("Two1", sort="c")


@given(st.lists(st.tuples(keyish | texts, keyish | texts, keyish | texts), min_size=2, max_size=6))
def test_different_groups_have_different_keys(groups: list[tuple[str, str, str]]) -> None:
    keys = set()
    for total in (two, three, Total("Two", partition=["a", "b"], sort="c", epoch=11)):
        for group in groups:
            contribution = total(*group)
            keys.add((contribution.partitions, contribution.sort))
    keys |= {(flat(group[2]).partitions, group[2]) for group in groups}
    assert len(keys) == 3 * len(set(groups)) + len({group[2] for group in groups})


@given(keyish | texts, keyish | texts, keyish | texts)
def test_a_total_is_read_back_with_the_values_of_its_group(a: str, b: str, c: str) -> None:
    contribution = two(a, b, c)
    assume(len(contribution.partitions[0].encode()) <= 2048)
    item = {
        "PK": {"S": contribution.partitions[0]},
        "SK": {"S": contribution.sort},
        "count": {"N": "2"},
    }
    row = two.row_of(item)
    assert row
    assert [row[name]["S"] for name in "abc"] == [a, b, c]
    assert row["data"]["M"] == {
        "a": {"S": a},
        "b": {"S": b},
        "c": {"S": c},
        "count": {"N": "2"},
    }


@pytest.mark.parametrize("count", [{}, {"count": {"N": "0"}}])
def test_a_total_that_no_row_counts_for_is_no_row(count: dict[str, Any]) -> None:
    assert statuses.row_of({"PK": {"S": "OrdersByStatus.1"}, "SK": {"S": "x"}, **count}) is None


def test_sums_and_averages_are_read_exactly() -> None:
    item = {"PK": {"S": "Everything.1"}, "SK": {"S": "TOTAL"}, "count": {"N": "3"}}
    row = grand.row_of(item | {"revenue": {"N": "0.10"}})
    assert row
    assert row["data"]["M"] == {
        "count": {"N": "3"},
        "revenue": {"N": "0.1"},
        "average_revenue": {"N": "0.033333"},
    }


@pytest.mark.parametrize(
    ("digits", "scale", "amount", "count", "average"),
    [
        (29, 0, "9" * 38, 10**9, "1" + "0" * 29),
        (29, 0, "9" * 29, 1, "9" * 29),
        (20, 9, f"{'9' * 20}.{'9' * 9}", 1, f"{'9' * 20}.{'9' * 9}"),
        (20, 9, f"-{'9' * 20}.{'9' * 9}", 7, "-14285714285714285714.285714286"),
        (1, 28, f"9.{'9' * 28}", 7, "1.4285714285714285714285714286"),
        (20, 9, "2", 3, "0.666667"),
    ],
)
def test_averages_of_the_largest_and_of_the_finest_sums(
    digits: int, scale: int, amount: str, count: int, average: str
) -> None:
    """With six decimal places, or with as many as the sum has."""
    total = Total("Widest", sums=[Sum("amount", digits=digits, scale=scale)])
    row = total.row_of(
        {
            "PK": {"S": "Widest.1"},
            "SK": {"S": "TOTAL"},
            "count": {"N": str(count)},
            "amount": {"N": amount},
        }
    )
    assert row
    assert row["data"]["M"]["average_amount"] == {"N": average}


@pytest.mark.parametrize(
    ("view_table", "name"),
    [("AdminViewTable", "AdminViewTotals"), ("test-AdminViewTable", "test-AdminViewTotals")],
)
def test_the_totals_table_is_named_after_the_view_table(view_table: str, name: str) -> None:
    assert totals_table(view_table) == name
