"""The arguments of CreateTable follow from the registry."""

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from adminview.local.tables import source_table, view_table
from adminview.model import Index, Item, Registry, Row, Source, number, view
from tests.support.model import registry


def keys(table: dict[str, Any]) -> list[tuple[str, str]]:
    return [(key["AttributeName"], key["KeyType"]) for key in table["KeySchema"]]


def indexes(table: dict[str, Any]) -> dict[str, Any]:
    return {index["IndexName"]: index for index in table["GlobalSecondaryIndexes"]}


@pytest.fixture
def model() -> Registry:
    """Declare a model with an index of many key attributes, not all text."""
    module = ModuleType("sensors")
    readings = Source("Readings", partition_key="device", sort_key=number("at"))
    wide = Index(
        "Wide",
        partition=["site", number("floor")],
        sort=[number("year"), "kind", number("rank")],
        include=["data"],
    )
    whole = Index(
        "Whole", partition="site", sort="exported", all_because="the export reads all of it"
    )

    @view(readings)
    def reading(item: Item) -> Iterator[Row]:
        yield Row(item["device"], "READING")

    module.__dict__.update(readings=readings, wide=wide, whole=whole, reading=reading)
    return Registry.of([module])


def test_a_source_table_has_its_key_and_a_stream_of_both_images() -> None:
    table = source_table(Source("Readings", "device", number("at")), "dev-Readings")

    assert table == {
        "TableName": "dev-Readings",
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": "device", "AttributeType": "S"},
            {"AttributeName": "at", "AttributeType": "N"},
        ],
        "KeySchema": [
            {"AttributeName": "device", "KeyType": "HASH"},
            {"AttributeName": "at", "KeyType": "RANGE"},
        ],
        "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    }


def test_a_source_without_a_sort_key_makes_a_table_without_one() -> None:
    table = source_table(Source("Users", "userId"), "Users")

    assert keys(table) == [("userId", "HASH")]


def test_the_view_table_has_every_declared_index_and_the_owner_index() -> None:
    assert set(indexes(view_table(registry(), "AdminViewTable"))) == {
        "GSI1",
        "GSI2",
        "GSI3",
        "OrderDashboard",
        "ByDay",
        "Owner",
    }


def test_the_view_table_is_keyed_by_pk_and_sk_and_has_no_stream(model: Registry) -> None:
    table = view_table(model, "AdminViewTable")

    assert keys(table) == [("PK", "HASH"), ("SK", "RANGE")]
    assert "StreamSpecification" not in table


def test_a_multi_attribute_index_lists_all_partition_attributes_before_all_sort_attributes(
    model: Registry,
) -> None:
    wide = indexes(view_table(model, "AdminViewTable"))["Wide"]

    assert keys(wide) == [
        ("site", "HASH"),
        ("floor", "HASH"),
        ("year", "RANGE"),
        ("kind", "RANGE"),
        ("rank", "RANGE"),
    ]


def test_an_index_carries_what_its_declaration_says(model: Registry) -> None:
    by_name = indexes(view_table(model, "AdminViewTable"))

    assert by_name["Wide"]["Projection"] == {
        "ProjectionType": "INCLUDE",
        "NonKeyAttributes": ["data"],
    }
    assert by_name["Whole"]["Projection"] == {"ProjectionType": "ALL"}
    assert by_name["Owner"]["Projection"] == {"ProjectionType": "KEYS_ONLY"}


def test_only_key_attributes_are_defined_each_once_and_with_its_type(model: Registry) -> None:
    defined = [
        (attribute["AttributeName"], attribute["AttributeType"])
        for attribute in view_table(model, "AdminViewTable")["AttributeDefinitions"]
    ]

    assert sorted(defined) == [
        ("PK", "S"),
        ("SK", "S"),
        ("_owner", "S"),
        ("exported", "S"),
        ("floor", "N"),
        ("kind", "S"),
        ("rank", "N"),
        ("site", "S"),
        ("year", "N"),
    ]
