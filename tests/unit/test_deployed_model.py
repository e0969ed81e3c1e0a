"""Read the deployed model from stacks and tables."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adminview.aws.aws_calls import Aws
from adminview.bulk.completions import Marker
from adminview.bulk.lease_table import LeaseTable
from adminview.cli.deployment.deployment import Deployment
from adminview.cli.deployment.facts import Deployed
from adminview.cli.deployment.read import EngineReader, StackReader, Tables, imported_sources
from adminview.cli.planning.planner import make_plan
from adminview.model.errors import SettingsError
from adminview.model.registry import monitored_parts
from tests.support.fakes import NO_WAIT
from tests.support.plan_stacks import OLD, THEN, Cloud, described, ever, function


@pytest.fixture
def cloud() -> Cloud:
    """Deploy the old model."""
    metadata = {"AdminViewModel": json.dumps(OLD)}
    functions = {"F": function(OLD["fingerprint"]), "G": function(OLD["fingerprint"])}
    described_by = functions | {"F": functions["F"] | {"Metadata": metadata}}
    table = {"Type": "AWS::DynamoDB::GlobalTable", "Properties": described()}
    own = {"Type": table["Type"], "Properties": {"TableName": "team-Orders"}}
    cloud = Cloud()
    cloud.add("Sources", {"Resources": {"T": own}})
    cloud.add("View", json.dumps({"Resources": {"T": table}}))
    cloud.add("Sync", {"Resources": described_by})
    cloud.add("Recovery", {"Resources": functions})
    reported = {"model": OLD["fingerprint"], "pending": {"by-status": None}}
    api = {"Resources": described_by}
    cloud.add("Api", api, status="CREATE_COMPLETE", AccessPatterns=json.dumps(reported))
    topic = {"Type": "AWS::SNS::Topic", "Metadata": {"AdminViewWatched": monitored_parts(OLD)}}
    cloud.add("Watch", {"Resources": {"T": topic}})
    cloud.table = described()
    cloud.table["GlobalSecondaryIndexes"][0]["Projection"]["NonKeyAttributes"].reverse()
    cloud.table["GlobalSecondaryIndexes"][1]["IndexStatus"] = "CREATING"
    cloud.rows = [
        {"_owner": {"S": "Orders/1"}, "_model": {"S": "m"}},
        {"_owner": {"S": "Orders/2"}, "_model": {"S": "m"}},
        {"PK": {"S": "of nobody"}},
    ]
    return cloud


def read(cloud: Cloud, **more: Any) -> Deployed:
    client: Any = cloud
    tables = Tables(client, "team-AdminViewTable", lambda: 7.0)
    deployment = Deployment(Aws(lambda _: client, backoff=NO_WAIT), "dev", "team-")
    return StackReader(deployment, tables, **more).read(OLD)


def test_a_deployment_is_read_from_its_stacks_and_tables(cloud: Cloud) -> None:
    facts = read(cloud)
    assert facts.sync == facts.api == OLD
    assert facts.recovery == OLD["fingerprint"]
    assert facts.watch == monitored_parts(OLD)
    assert facts.pending == {"by-status": None}
    assert facts.tables == {"Orders"}
    first, owner = facts.indexes or ()
    assert first.include == ("_at", "data")  # in the order of the stack, which must not change
    assert (first.ready, owner.ready) == (True, False)
    assert facts.rows.counts == {("Orders", "m"): 2}
    assert (facts.code_at, facts.api_at) == (THEN.timestamp(), None)  # the API has no older code


def test_a_stream_and_totals_are_read_from_their_stacks(cloud: Cloud) -> None:
    assert (read(cloud).stream, read(cloud).totals) == (False, False)
    table = described() | {"StreamSpecification": {"StreamViewType": "NEW_AND_OLD_IMAGES"}}
    properties = {"Type": "AWS::DynamoDB::GlobalTable", "Properties": table}
    cloud.add("View", {"Resources": {"T": properties}})
    assert (read(cloud).stream, read(cloud).totals) == (True, False)
    cloud.add("Totals", {"Resources": {}})
    assert (read(cloud).stream, read(cloud).totals) == (True, True)
    cloud.stacks["team-AdminView-dev-Totals"]["stack"]["StackStatus"] = "ROLLBACK_COMPLETE"
    assert not read(cloud).totals


def test_where_nothing_is_deployed_nothing_is_found() -> None:
    assert read(Cloud()) == Deployed()


def test_a_stack_that_was_never_made_is_none(cloud: Cloud) -> None:
    cloud.stacks["team-AdminView-dev-Api"]["stack"]["StackStatus"] = "ROLLBACK_COMPLETE"
    assert read(cloud).api is None


def test_an_index_that_the_stack_does_not_know_is_not_ours(cloud: Cloud) -> None:
    assert cloud.table
    extra = cloud.table["GlobalSecondaryIndexes"][0] | {"IndexName": "ByHand"}
    cloud.table["GlobalSecondaryIndexes"].append(extra)
    ours = {index.name: index.ours for index in read(cloud).indexes or ()}
    assert ours == {"ByStatus": True, "Owner": True, "ByHand": False}


def test_an_index_that_is_being_deleted_stands_in_nobodys_way(cloud: Cloud) -> None:
    """DynamoDB has forgotten its attributes by then, and it may come again."""
    assert cloud.table
    del cloud.table["AttributeDefinitions"][1]
    cloud.table["GlobalSecondaryIndexes"] = cloud.table["GlobalSecondaryIndexes"][:1]
    cloud.table["GlobalSecondaryIndexes"][0]["IndexStatus"] = "DELETING"
    del cloud.stacks["team-AdminView-dev-View"]
    client: Any = cloud
    index = (Tables(client, "team-AdminViewTable", lambda: 7.0).indexes() or [])[0]
    plan = make_plan(Deployed(indexes=(index,)), OLD, 0.0)
    assert plan.refusals == ()
    titles = [step.title for step in plan.steps]
    assert titles[1:3] == [
        "wait until index ByStatus is deleted",
        "create index ByStatus, and wait until it is active",
    ]


def test_a_stack_of_an_older_release_needs_its_model_as_an_option(cloud: Cloud) -> None:
    for part in ("Sync", "Api"):
        template = cloud.stacks[f"team-AdminView-dev-{part}"]["template"]
        template["Resources"]["F"].pop("Metadata", None)
    with pytest.raises(SettingsError, match="pass a file that does with --against"):
        read(cloud)
    with pytest.raises(SettingsError, match=f"does not describe its model {OLD['fingerprint']}"):
        read(cloud, against=OLD | {"fingerprint": "another"})
    assert read(cloud, against=OLD).sync == OLD


def test_a_table_without_a_stack_or_a_stack_without_its_table_is_refused(cloud: Cloud) -> None:
    del cloud.stacks["team-AdminView-dev-View"]
    with pytest.raises(SettingsError, match="belongs to no stack"):
        read(cloud)
    cloud.add("View", {"Resources": {}})
    cloud.table = None
    with pytest.raises(SettingsError, match="has lost its table"):
        read(cloud)


def test_a_local_engine_is_as_it_was_described(cloud: Cloud) -> None:
    client: Any = cloud
    tables = Tables(client, "team-AdminViewTable", lambda: 7.0)
    facts = EngineReader(tables, OLD).read(OLD)
    assert facts.sync == facts.api == OLD
    assert facts.tables == {"Orders"}
    assert EngineReader(tables, None).read(OLD) == Deployed()


def test_imported_sources_are_those_of_the_context(tmp_path: Path) -> None:
    file = tmp_path / "cdk.json"
    file.write_text(
        json.dumps({"context": {"adminview": {"sources": {"Orders": {"tableName": "x"}}}}})
    )
    assert imported_sources(tmp_path, "dev") == {"Orders"}
    own = {"sources": {"Orders": {}}, "stages": {"prod": {"sources": {"Users": {}}}}}
    file.write_text(json.dumps({"context": {"adminview": own}}))
    assert imported_sources(tmp_path, "dev") == {"Orders"}
    assert imported_sources(tmp_path, "prod") == {"Users"}
    file.unlink()
    with pytest.raises(SettingsError, match="run this in the folder of the app"):
        imported_sources(tmp_path, "dev")


def test_facts_of_the_tables_are_part_of_what_is_deployed(cloud: Cloud) -> None:
    client: Any = cloud
    own = LeaseTable(client, "team-AdminViewTableProgress")
    own.complete("backfill/Orders", {"model": "m", "code": "a"}, deadline=ever())
    facts = read(cloud)
    assert facts.markers == {"Orders": Marker("m", "a")}
    assert replace(facts, markers={}) == replace(read(cloud), markers={})
