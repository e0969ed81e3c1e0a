"""Named templates, optional parameters, shards, local indexes and joins, checked when declared."""

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from adminview.local.tables import view_table
from adminview.model import (
    AccessPattern,
    Index,
    Item,
    Join,
    LocalIndex,
    Registry,
    Row,
    Source,
    number,
    view,
)
from adminview.model.errors import DeclarationError, QueryError, RowError
from adminview.sync.derive import derive
from tests.support.stream_records import image

teams = Index(
    "Teams",
    partition=["org", "region"],
    sort=["country", "unit", number("size")],
    include=["data"],
)
by_date = LocalIndex("ByDate", sort="date", include=["data"])
hot = Index("Hot", partition="status", sort="at", include=["data"], shards=8)

WHOLE = {"org": "{org}", "region": "{region}"}


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"partition": {"org": "{org}"}}, r"set all of \(org, region\); region is missing"),
        ({"partition": {"region": "{region}"}}, "'org' is missing: it comes before 'region'"),
        (
            {"partition": WHOLE | {"unit": "{unit}"}},
            r"'unit' is not a partition attribute; declared are \(org, region\)",
        ),
        (
            {"partition": WHOLE, "sort": {"unit": "{unit}"}},
            "sort attribute 'country' is missing: it comes before 'unit'",
        ),
        (
            {"partition": WHOLE, "sort": {"country": "{c}", "size": "{s}"}},
            "sort attribute 'unit' is missing: it comes before 'size'",
        ),
        (
            {"partition": WHOLE, "optional": ["org"]},
            "'org' cannot be optional: a query needs all partition attributes",
        ),
        ({"partition": WHOLE, "optional": ["colour"]}, "'colour', which is not a parameter"),
        (
            {
                "partition": WHOLE,
                "sort": {"country": "{country}", "unit": "{unit}"},
                "optional": ["country"],
            },
            "only the last conditions can be optional",
        ),
        ({"partition": WHOLE, "consistent": True}, "a global index cannot be read consistently"),
        (
            {"partition": {"org": "{limit}", "region": "{region}"}},
            "a parameter cannot be named 'limit'",
        ),
        (
            {"partition": WHOLE, "joins": [Join("team", "TEAM#{size}", "DETAILS")]},
            "join 'team' needs 'size', which is not a text key attribute",
        ),
        (
            {"partition": WHOLE, "sort": "{a}#{b}", "optional": ["b"]},
            "a and b are in one template: make both optional, or neither",
        ),
        ({"partition": WHOLE, "sort_begins": ("{a}", "{b}")}, "a range takes 1 templates, not 2"),
        ({"partition": WHOLE, "joins": [Join("j", "", "A")]}, "the template for 'PK' is empty"),
        ({"partition": WHOLE, "joins": [Join("j", "{PK", "A")]}, "cannot be read"),
        ({"partition": WHOLE, "joins": [Join("j", "{PK!r}", "A")]}, "needs a plain name"),
        (
            {"partition": WHOLE, "joins": [Join("a team", "{PK}", "X")]},
            "its name must be an identifier",
        ),
        (
            {"partition": WHOLE, "joins": [Join("data", "{PK}", "X")]},
            "and an attribute of the rows have one name",
        ),
        (
            {"partition": WHOLE, "joins": [Join("org", "{PK}", "X")]},
            "and an attribute of the rows have one name",
        ),
        (
            {"partition": WHOLE, "joins": [Join("a", "{PK}", "X")] * 2},
            "two joins have the same name",
        ),
    ],
)
def test_an_access_pattern_that_breaks_a_rule_is_refused_with_the_attribute_that_does(
    wrong: dict[str, Any], why: str
) -> None:
    with pytest.raises(DeclarationError, match=rf"'teams' on index 'Teams': .*{why}"):
        AccessPattern("teams", index=teams, **wrong)


NARROWING = AccessPattern(
    "teams",
    index=teams,
    partition=WHOLE,
    sort={"country": "{country}", "unit": "{unit}"},
    sort_between=("{least}", "{most}"),
    optional=["country", "unit", "least", "most"],
)


@pytest.mark.parametrize(
    ("arguments", "expression"),
    [
        ({}, "#k0 = :v0a AND #k1 = :v1a"),
        ({"country": "VN"}, "#k0 = :v0a AND #k1 = :v1a AND #k2 = :v2a"),
        (
            {"country": "VN", "unit": "u", "least": 1, "most": 9},
            "#k0 = :v0a AND #k1 = :v1a AND #k2 = :v2a AND #k3 = :v3a AND #k4 BETWEEN :v4a AND :v4b",
        ),
        (
            {"country": "VN", "unit": "u", "least": 1},
            "#k0 = :v0a AND #k1 = :v1a AND #k2 = :v2a AND #k3 = :v3a AND #k4 >= :v4a",
        ),
        (
            {"country": "VN", "unit": "u", "most": 9},
            "#k0 = :v0a AND #k1 = :v1a AND #k2 = :v2a AND #k3 = :v3a AND #k4 <= :v4a",
        ),
    ],
)
def test_the_last_parameters_may_be_left_out(arguments: dict[str, Any], expression: str) -> None:
    assert NARROWING.condition(org="o", region="r", **arguments).expression == expression
    assert NARROWING.required == ["org", "region"]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"unit": "u"}, "country is missing; 'country' comes before 'unit'"),
        ({"country": "VN", "least": 1, "most": 2}, "unit is missing; 'unit' comes before 'size'"),
        ({"colour": "red"}, r"takes \(org, region, \[country\], .*\); colour is unknown"),
    ],
)
def test_a_gap_between_the_parameters_of_a_call_is_named(
    arguments: dict[str, Any], why: str
) -> None:
    with pytest.raises(QueryError, match=why):
        NARROWING.condition(org="o", region="r", **arguments)


@pytest.mark.parametrize(
    ("range_", "operator"),
    [("sort_from", ">="), ("sort_after", ">"), ("sort_until", "<="), ("sort_before", "<")],
)
def test_a_range_may_include_its_bound_or_not(range_: str, operator: str) -> None:
    bound: dict[str, Any] = {range_: "{at}"}
    pattern = AccessPattern("hot", index=hot, partition="{status}", **bound)
    assert pattern.condition(status="x", at="y").expression == f"#k0 = :v0a AND #k1 {operator} :v1a"


@pytest.mark.parametrize(
    ("declared", "why"),
    [
        ({"partition": ["a", "b", "c", "d"], "shards": 2}, "including the shard"),
        ({"partition": "a", "shards": 0}, "shards must be 1 to 32, not 0"),
        ({"partition": "a", "shards": 101}, "1 to 32"),
        ({"partition": "a", "shards_were": -1}, "0 to 32"),
        ({"partition": "a", "shards": 2.5}, "a whole number"),
        ({"partition": "a", "shards": True}, "a whole number"),
        ({"partition": "a", "shards": 4, "shards_were": 1}, "declare a new one with other key"),
    ],
)
def test_shards_that_cannot_be_are_refused(declared: dict[str, Any], why: str) -> None:
    with pytest.raises(DeclarationError, match=why):
        Index("Sharded", **declared)


def test_a_local_index_has_one_sort_attribute_and_gives_rows_no_other_key() -> None:
    with pytest.raises(DeclarationError, match="declare exactly one sort attribute"):
        LocalIndex("Many", sort=["a", "b"])  # type: ignore[arg-type]  # what is refused
    with pytest.raises(RowError, match=r"needs values of \(date\); the view gave 2"):
        by_date("PK", "2025-01-01")


def things(**declared: Any) -> Registry:
    """Declare a source with a row in every index given."""
    source = Source("Things", partition_key="id")

    @view(source)
    def thing(item: Item) -> Iterator[Row]:
        yield Row(
            f"THING#{item['id']}",
            "DETAILS",
            indexes=[by_date(item["date"]), hot(item["status"], item["date"])],
        )

    module = ModuleType("things")
    module.__dict__.update(source=source, thing=thing, **declared)
    return Registry.of([module])


def test_tables_have_local_indexes_and_the_shard_as_one_more_partition_attribute() -> None:
    table = view_table(things(by_date=by_date, hot=hot), "View")
    (local,) = table["LocalSecondaryIndexes"]
    assert local["IndexName"] == "ByDate"
    assert [key["AttributeName"] for key in local["KeySchema"]] == ["PK", "date"]
    (sharded,) = [index for index in table["GlobalSecondaryIndexes"] if index["IndexName"] == "Hot"]
    assert [(key["AttributeName"], key["KeyType"]) for key in sharded["KeySchema"]] == [
        ("status", "HASH"),
        ("_Hot_shard", "HASH"),
        ("at", "RANGE"),
    ]
    defined = {
        attribute["AttributeName"]: attribute["AttributeType"]
        for attribute in table["AttributeDefinitions"]
    }
    assert defined["_Hot_shard"] == "N"
    assert "LocalSecondaryIndexes" not in view_table(things(hot=hot), "View")


def test_a_row_stands_in_the_shard_of_its_owner() -> None:
    model = things(by_date=by_date, hot=hot)
    item = image({"id": "1", "date": "2025-01-01", "status": "OPEN"})
    ((row),) = derive(model.views, item, room=400_000).rows.values()
    assert row["_Hot_shard"] == {"N": str(hot.shard_of("Things/1"))}
    assert (row["date"], row["at"]) == ({"S": "2025-01-01"}, {"S": "2025-01-01"})


def test_more_than_five_local_indexes_are_refused() -> None:
    many = {f"i{n}": LocalIndex(f"Local{n}", sort=f"sort{n}") for n in range(6)}
    with pytest.raises(DeclarationError, match="6 local indexes; DynamoDB takes at most 5"):
        things(hot=hot, **many)


def test_the_number_of_shards_is_part_of_the_model() -> None:
    other = Index("Hot", partition="status", sort="at", include=["data"], shards=4, shards_were=8)
    assert things(hot=hot).shape() != things(hot=other).shape()


def test_a_join_finds_its_row_by_the_keys_of_the_answer() -> None:
    join = Join("profile", partition="{GSI2_SK}", sort="PROFILE")
    row = {"PK": {"S": "p"}, "GSI2_SK": {"S": "USER#1"}, "n": {"N": "1"}}
    assert join.key(row) == ("USER#1", "PROFILE")
    assert join.key({"PK": {"S": "p"}}) is None


def test_a_join_whose_key_no_row_can_have_finds_none() -> None:
    join = Join("other", partition="{PK}", sort="{PK}")
    assert join.key({"PK": {"S": "x" * 1024}}) == ("x" * 1024, "x" * 1024)
    assert join.key({"PK": {"S": "x" * 1025}}) is None
