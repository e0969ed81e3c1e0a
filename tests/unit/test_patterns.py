"""Access patterns are checked when they are declared and when they are queried."""

from decimal import Decimal
from typing import Any

import pytest

from adminview.model import AccessPattern, Index, KeyCondition, number
from adminview.model.errors import DeclarationError, QueryError
from tests.support.model import registry

matches = Index(
    "Matches",
    partition=["tournament", "region"],
    sort=["round", number("day"), "id"],
    include=["data"],
)
flat = Index("Flat", partition="a", include=["data"])


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"name": "Not Nice", "partition": "X"}, "lower-case words"),
        (
            {"partition": ["{t}"], "index": matches},
            r"partition must set all of .*; region is missing",
        ),
        (
            {"partition": ["{t}", "{r}", "{x}"], "index": matches},
            "3 templates for its partition",
        ),
        ({"partition": "X", "sort_begins": "a", "sort_from": "b"}, "at most one range"),
        ({"partition": "X", "sort": "a", "sort_begins": "b"}, r"2 sort conditions .*\(SK\)"),
        ({"partition": "X", "sort": "a", "index": flat}, r"1 sort conditions .*\(none\)"),
        ({"partition": "USER#{}"}, "needs a plain name in each pair of braces"),
        ({"partition": "USER#{user.name}"}, "needs a plain name"),
        ({"partition": "USER#{user!r}"}, "needs a plain name"),
        ({"partition": "USER#{user:>5}"}, "needs a plain name"),
        (
            {"partition": ["a", "b"], "sort": "c", "sort_begins": "{day}", "index": matches},
            "'day' is a number \\(N\\): sort_begins needs text",
        ),
        ({"partition": "USER#{user:rawer}"}, "needs a plain name"),
        ({"partition": "USER#{a}-{b}"}, "needs '#' between 'a' and 'b'"),
        ({"partition": "{a}{b}"}, "needs '#' between 'a' and 'b'"),
        ({"partition": "USER#{a:raw}#{b}"}, "has 'b' after the raw 'a'"),
        ({"partition": "X", "sort_begins": "{a:raw}#{b:raw}"}, "only the last parameter"),
        ({"partition": "USER#{user"}, "cannot be read"),
        ({"partition": ""}, "the template for 'PK' is empty"),
        ({"partition": "X", "sort_begins": ""}, "the template for 'SK' is empty"),
        ({"partition": "X", "sort_between": ("{a}",)}, "takes 2 templates, not 1"),
        (
            {"partition": ["{x}", "b"], "sort": ["c", "{x}"], "index": matches},
            "'x' would have to be both S and N",
        ),
        (
            {"partition": ["{t}", "{r}"], "sort": ["{round}", "DAY#{day}"], "index": matches},
            "'day', which is a number: it can only be one parameter",
        ),
        ({"partition": "X", "shows": ["colour"]}, "'colour', which no row has"),
    ],
)
def test_an_access_pattern_that_breaks_a_key_rule_is_refused_when_declared(
    wrong: dict[str, Any], why: str
) -> None:
    with pytest.raises(DeclarationError, match=why):
        AccessPattern(**({"name": "asked"} | wrong))


def test_a_query_of_the_table_becomes_one_key_condition() -> None:
    pattern = AccessPattern("orders", partition="USER#{user}", sort_begins="ORDER#")
    assert pattern.condition(user="u1") == KeyCondition(
        index=None,
        expression="#k0 = :v0a AND begins_with(#k1, :v1a)",
        names={"#k0": "PK", "#k1": "SK"},
        values={":v0a": {"S": "USER#u1"}, ":v1a": {"S": "ORDER#"}},
    )


def test_a_query_of_a_multi_attribute_index_fixes_its_attributes_from_left_to_right() -> None:
    pattern = AccessPattern(
        "matches",
        index=matches,
        partition=["{tournament}", "{region}"],
        sort="{round}",
        sort_between=("{first}", "{last}"),
    )
    assert pattern.parameters == {
        "tournament": "S",
        "region": "S",
        "round": "S",
        "first": "N",
        "last": "N",
    }
    condition = pattern.condition(
        tournament="W", region="EU", round="SEMI", first=1, last=Decimal(9)
    )
    assert condition.index == "Matches"
    assert condition.expression == (
        "#k0 = :v0a AND #k1 = :v1a AND #k2 = :v2a AND #k3 BETWEEN :v3a AND :v3b"
    )
    assert condition.values[":v3b"] == {"N": "9"}


def test_a_range_may_be_open_at_the_end() -> None:
    pattern = AccessPattern("since", partition="LOG", sort_from="{day}")
    assert pattern.condition(day="2025").expression == "#k0 = :v0a AND #k1 >= :v1a"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({}, r"takes \(status\); status is missing"),
        ({"status": "X", "page": "1"}, r"takes \(status\); page is unknown"),
        ({"status": 5}, "status must be text, not int"),
    ],
)
def test_the_error_of_a_wrong_query_names_the_parameters(
    arguments: dict[str, Any], why: str
) -> None:
    with pytest.raises(QueryError, match=why):
        registry().pattern("orders-by-status").condition(**arguments)


@pytest.mark.parametrize("day", ["5", None, 1.5, Decimal("NaN")])
def test_a_parameter_of_the_wrong_type_is_refused(day: object) -> None:
    pattern = AccessPattern("on", index=matches, partition=["a", "b"], sort=["c", "{day}"])
    with pytest.raises(QueryError, match=r"day must be a number|no NaN"):
        pattern.condition(day=day)


def test_an_empty_key_is_refused() -> None:
    pattern = AccessPattern("one", index=flat, partition="{a}")
    with pytest.raises(QueryError, match="a is empty"):
        pattern.condition(a="")


def test_a_parameter_may_have_any_name() -> None:
    pattern = AccessPattern("any", partition="{self}#{pattern}#{client}")
    condition = pattern.condition(self="a", pattern="b", client="c")
    assert condition.values[":v0a"] == {"S": "a#b#c"}


@pytest.mark.parametrize(
    ("start", "end", "why"),
    [("b", "a", "start comes after end"), ("a", "x" * 1100, "end makes 'SK' 1100 bytes long")],
)
def test_a_range_that_dynamodb_would_refuse_is_refused_with_the_reason(
    start: str, end: str, why: str
) -> None:
    pattern = AccessPattern("between", partition="X", sort_between=("{start}", "{end}"))
    with pytest.raises(QueryError, match=f"'between': {why}"):
        pattern.condition(start=start, end=end)


@pytest.mark.parametrize("value", ["x" * 2049, "\ud800"])
def test_text_that_cannot_be_a_key_is_refused(value: str) -> None:
    with pytest.raises(QueryError, match="access pattern 'one'"):
        AccessPattern("one", partition="{a}").condition(a=value)
