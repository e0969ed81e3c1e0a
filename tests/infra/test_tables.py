"""The tables match the registry, and are encrypted and protected as the stage requires.

cdk-nag does not check AWS::DynamoDB::GlobalTable, the resource of TableV2.
"""

from pathlib import Path
from typing import Any

import pytest
from cfnlint.schema.manager import PROVIDER_SCHEMA_MANAGER  # type: ignore[import-untyped]

from adminview.model.row import OWNER_INDEX
from tests.infra.roles import held
from tests.support.shop import registry
from tests.support.synthesis import Assembly, Resource, synthesize

SOURCES = {"Orders", "Payments", "Products", "Users"}
ALL = SOURCES | {"AdminViewTable", "AdminViewTableProgress", "AdminViewTotals"}


@pytest.fixture(scope="session")
def view(dev: Assembly) -> dict[str, Any]:
    return dict(dev.tables()["AdminViewTable"]["Properties"])


def key_schema(keyed: dict[str, Any]) -> list[tuple[str, str]]:
    return [(key["AttributeName"], key["KeyType"]) for key in keyed["KeySchema"]]


def types(table: dict[str, Any]) -> dict[str, str]:
    definitions = table["AttributeDefinitions"]
    type_by_name = {
        definition["AttributeName"]: definition["AttributeType"] for definition in definitions
    }
    assert len(type_by_name) == len(definitions), "an attribute is defined twice"
    return type_by_name


def index(view: dict[str, Any], name: str) -> dict[str, Any]:
    (gsi,) = [
        candidate for candidate in view["GlobalSecondaryIndexes"] if candidate["IndexName"] == name
    ]
    return dict(gsi)


def test_every_source_has_a_table_with_both_images_in_its_stream(dev: Assembly) -> None:
    assert dev.tables().keys() == ALL
    assert {name: dev.tables()[name]["Properties"]["StreamSpecification"] for name in SOURCES} == {
        name: {"StreamViewType": "NEW_AND_OLD_IMAGES"} for name in SOURCES
    }


def test_only_the_totals_function_follows_the_stream_of_the_view(dev: Assembly) -> None:
    """The sync would feed back into it."""
    mapping = dev.mappings()["AdminViewTable.StreamArn"]
    assert dev.name(mapping["FunctionName"]) == "TotalsFunction"
    readers = {
        function.removesuffix("Function")
        for function in dev.named("AWS::Lambda::Function")
        for action, resource in held(dev, function.replace("Function", "Role"))
        if resource == "AdminViewTable.StreamArn" and action != "dynamodb:DescribeStream"
    }
    assert readers == {"Totals"}


def test_a_source_has_the_key_its_file_declares(dev: Assembly) -> None:
    for source in registry().sources:
        table = dev.tables()[source.name]["Properties"]
        roles = zip(source.key, ("HASH", "RANGE"), strict=False)
        assert key_schema(table) == [(key.name, role) for key, role in roles]
        assert types(table) == {key.name: key.type for key in source.key}
    assert key_schema(dev.tables()["Orders"]["Properties"]) == [
        ("CustomerId", "HASH"),
        ("SK", "RANGE"),
    ]


def test_the_view_is_keyed_by_pk_and_sk(view: dict[str, Any]) -> None:
    assert key_schema(view) == [("PK", "HASH"), ("SK", "RANGE")]


def test_the_indexes_are_exactly_those_declared_with_keys_in_order(view: dict[str, Any]) -> None:
    assert {gsi["IndexName"]: key_schema(gsi) for gsi in view["GlobalSecondaryIndexes"]} == {
        index.name: [(key.name, "HASH") for key in index.partition]
        + [(key.name, "RANGE") for key in index.sort]
        for index in registry().indexes
    }


def test_the_projections_are_exactly_those_declared(view: dict[str, Any]) -> None:
    assert {gsi["IndexName"]: gsi["Projection"] for gsi in view["GlobalSecondaryIndexes"]} == {
        index.name: {"ProjectionType": index.projection}
        | ({"NonKeyAttributes": list(index.include)} if index.include else {})
        for index in registry().indexes
    }


def test_the_attributes_defined_are_exactly_the_keys_with_their_types(view: dict[str, Any]) -> None:
    assert types(view) == {key.name: key.type for key in registry().key_attributes}


def test_the_indexes_of_the_seeds_are_there_word_for_word(view: dict[str, Any]) -> None:
    assert key_schema(index(view, "GSI1")) == [("GSI1_PK", "HASH"), ("GSI1_SK", "RANGE")]
    assert key_schema(index(view, "GSI2")) == [("GSI2_PK", "HASH"), ("GSI2_SK", "RANGE")]
    assert key_schema(index(view, "GSI3")) == [("GSI3_PK", "HASH")]
    assert key_schema(index(view, "OrderDashboard")) == [
        ("customerId", "HASH"),
        ("status", "RANGE"),
        ("orderDate", "RANGE"),
    ]


def test_the_owner_index_carries_keys_only(view: dict[str, Any]) -> None:
    owner = index(view, OWNER_INDEX.name)
    assert key_schema(owner) == [("_owner", "HASH")]
    assert owner["Projection"] == {"ProjectionType": "KEYS_ONLY"}


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_every_table_is_on_demand_and_encrypted_with_the_accounts_key(
    stage: str, request: pytest.FixtureRequest
) -> None:
    for table in request.getfixturevalue(stage).tables().values():
        assert table["Properties"]["BillingMode"] == "PAY_PER_REQUEST"
        assert table["Properties"]["SSESpecification"] == {"SSEEnabled": True, "SSEType": "KMS"}


def protection(table: Resource) -> tuple[str, str, bool, bool]:
    (replica,) = table["Properties"]["Replicas"]
    return (
        table["DeletionPolicy"],
        table["UpdateReplacePolicy"],
        replica["DeletionProtectionEnabled"],
        replica["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"],
    )


def test_every_table_of_prod_is_kept_and_can_be_recovered(protected: Assembly) -> None:
    tables = {name: protection(table) for name, table in protected.tables().items()}
    assert tables == dict.fromkeys(ALL, ("Retain", "Retain", True, True))


def test_a_first_deployment_of_prod_that_fails_leaves_nothing_in_the_way(prod: Assembly) -> None:
    """The tables are deleted, and the CDK can delete the stack, before the second attempt."""
    tables = {name: protection(table) for name, table in prod.tables().items()}
    assert tables == dict.fromkeys(ALL, ("RetainExceptOnCreate", "Retain", False, True))
    assert terminable(prod) == dict.fromkeys(STACKS, True)


def test_no_other_resource_is_retained_if_its_creation_fails(protected: Assembly) -> None:
    """Only a protected table is: a rollback could not delete it, and would fail."""
    retained = {
        resource["Type"]
        for template in protected.templates.values()
        for resource in template["Resources"].values()
        if resource.get("DeletionPolicy") == "Retain"
    }
    assert retained == {"AWS::DynamoDB::GlobalTable"}


def test_no_table_of_dev_outlives_its_stack(dev: Assembly) -> None:
    tables = {name: protection(table) for name, table in dev.tables().items()}
    assert tables == dict.fromkeys(ALL, ("Delete", "Delete", False, False))


STACKS = ("Api", "Recovery", "Sources", "Sync", "Totals", "View", "Watch")


def test_the_stacks_of_prod_refuse_to_be_deleted(dev: Assembly, protected: Assembly) -> None:
    assert terminable(dev) == dict.fromkeys(STACKS, True)
    assert terminable(protected) == dict.fromkeys(STACKS, False)


def test_dev_is_not_protected_by_the_option_that_protects_prod(tmp_path: Path) -> None:
    dev = synthesize(registry(), tmp_path, protect="true")
    assert terminable(dev) == dict.fromkeys(STACKS, True)
    assert {protection(table)[:3] for table in dev.tables().values()} == {
        ("Delete", "Delete", False)
    }


def terminable(assembly: Assembly) -> dict[str, bool]:
    return {
        name.rpartition("-")[2]: not artifact["properties"].get("terminationProtection", False)
        for name, artifact in assembly.manifest["artifacts"].items()
        if artifact["type"] == "aws:cloudformation:stack"
    }


@pytest.mark.parametrize("stage", ["prod", "prod_totals"])
def test_a_new_stack_can_adopt_every_table_that_was_kept(
    stage: str, request: pytest.FixtureRequest
) -> None:
    """CloudFormation imports a resource by itself only if all of this holds.

    https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/import-resources-automatically.html
    """
    assembly: Assembly = request.getfixturevalue(stage)
    for table in assembly.tables().values():
        schema = PROVIDER_SCHEMA_MANAGER.get_resource_schema("us-east-1", table["Type"]).schema
        assert table["DeletionPolicy"] in {"Retain", "RetainExceptOnCreate"}
        assert schema["primaryIdentifier"] == ["/properties/TableName"]
        assert "/properties/TableName" not in schema["readOnlyProperties"]
        assert isinstance(table["Properties"]["TableName"], str), "a name without functions"
        assert {"create", "read", "update", "delete", "list"} <= schema["handlers"].keys()


def test_nothing_else_that_is_kept_has_a_name_that_a_new_stack_needs(prod: Assembly) -> None:
    names = {
        property_
        for template in prod.templates.values()
        for resource in template["Resources"].values()
        if resource.get("DeletionPolicy", "Delete") != "Delete"
        for property_, value in resource["Properties"].items()
        if property_.endswith("Name") and isinstance(value, str)
    }
    assert names == {"TableName"}
