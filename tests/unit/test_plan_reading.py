"""What is deployed, as stacks and tables tell it."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from cli.evolution.facts import Deployed, Marker, TableIndex
from cli.evolution.planner import make_plan
from cli.evolution.progress import Progress, markers, sweeps
from cli.evolution.reading import EngineReader, StackReader, Tables, imported_sources
from lambdas.aws.deadline import Deadline
from lambdas.aws.progress_table import LEASE_SECONDS, ProgressTable
from lambdas.bulk.segment import Record, Segment
from lambdas.model.errors import BulkError, SettingsError
from lambdas.model.watched import watched
from tests.plan_world import index, model, question

BY = index("ByStatus", "status", include=("data", "_at"))
OLD = model({"Orders": "a"}, (BY,), (question("by-status", BY),))
K1 = frozenset({"k1"})
THEN = datetime(2026, 1, 31, tzinfo=UTC)


def refusal(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": ""}}, "Call")


def function(fingerprint: str) -> dict[str, Any]:
    variables = {"ADMINVIEW_MODEL": fingerprint}
    properties = {"Environment": {"Variables": variables}}
    return {"Type": "AWS::Lambda::Function", "Properties": properties}


def described() -> dict[str, Any]:
    """Describe the view's table, as a template and DynamoDB both do."""
    table: dict[str, Any] = {
        "TableName": "team-AdminViewTable",
        "AttributeDefinitions": [
            {"AttributeName": name, "AttributeType": "S"} for name in ("PK", "status", "_owner")
        ],
        "GlobalSecondaryIndexes": [
            {
                "IndexName": one.name,
                "KeySchema": [{"AttributeName": one.partition[0][0], "KeyType": "HASH"}],
                "Projection": {
                    "ProjectionType": one.projection,
                    **({"NonKeyAttributes": list(one.include)} if one.include else {}),
                },
            }
            for one in map(TableIndex.of, OLD["indexes"])
        ],
    }
    return table


@dataclass
class Cloud:
    """CloudFormation and DynamoDB, as far as they are asked."""

    stacks: dict[str, Any] = field(default_factory=dict)
    table: dict[str, Any] | None = None
    rows: list[dict[str, Any]] = field(default_factory=list)
    progress: dict[str, Any] | None = field(default_factory=dict)

    def describe_stacks(self, *, StackName: str) -> Any:  # noqa: N803 - as boto3 has it
        if StackName not in self.stacks:
            raise refusal("ValidationError")
        return {"Stacks": [self.stacks[StackName]["stack"]]}

    def get_template(self, *, StackName: str) -> Any:  # noqa: N803
        return {"TemplateBody": self.stacks[StackName]["template"]}

    def describe_table(self, **_: Any) -> Any:
        if self.table is None:
            raise refusal("ResourceNotFoundException")
        return {"Table": self.table}

    def scan(self, **_: Any) -> Any:
        return {"Items": self.rows, "ScannedCount": len(self.rows)}

    def query(self, *, ExpressionAttributeValues: Any, **_: Any) -> Any:  # noqa: N803
        if self.progress is None:
            raise refusal("ResourceNotFoundException")
        found = self.progress.get(ExpressionAttributeValues[":pk"]["S"], {})
        return {"Items": list(found.values())}

    def put_item(self, *, Item: Any, **_: Any) -> Any:  # noqa: N803
        if self.progress is None:
            raise refusal("ResourceNotFoundException")
        self.progress.setdefault(Item["PK"]["S"], {})[Item["SK"]["S"]] = Item
        return {}

    def get_item(self, *, Key: Any, **_: Any) -> Any:  # noqa: N803
        found = (self.progress or {}).get(Key["PK"]["S"], {}).get(Key["SK"]["S"])
        return {"Item": found} if found else {}

    def get_paginator(self, _: str) -> Any:
        return self

    def paginate(self) -> Any:
        return [{"TableNames": ["Orders", "team-AdminViewTable"]}]

    def add(self, part: str, template: Any, *, status: str = "UPDATE_COMPLETE", **out: str) -> None:
        outputs = [{"OutputKey": name, "OutputValue": value} for name, value in out.items()]
        stack = {"StackStatus": status, "LastUpdatedTime": THEN, "Outputs": outputs}
        self.stacks[f"team-AdminView-dev-{part}"] = {"stack": stack, "template": template}


@pytest.fixture
def cloud() -> Cloud:
    """Deploy the old model."""
    metadata = {"AdminViewModel": json.dumps(OLD)}
    functions = {"F": function(OLD["fingerprint"]), "G": function(OLD["fingerprint"])}
    table = {"Type": "AWS::DynamoDB::GlobalTable", "Properties": described()}
    own = {"Type": table["Type"], "Properties": {"TableName": "team-Orders"}}
    cloud = Cloud()
    cloud.add("Sources", {"Resources": {"T": own}})
    cloud.add("View", json.dumps({"Resources": {"T": table}}))
    cloud.add("Sync", {"Metadata": metadata, "Resources": functions})
    cloud.add("Recovery", {"Resources": functions})
    told = {"model": OLD["fingerprint"], "building": {"by-status": None}}
    api = {"Metadata": metadata, "Resources": functions}
    cloud.add("Api", api, status="CREATE_COMPLETE", Questions=json.dumps(told))
    cloud.add("Watch", {"Metadata": {"AdminViewWatched": watched(OLD)}, "Resources": {}})
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
    return StackReader(client, tables, "dev", "team-", **more).read(OLD)


def test_a_deployment_is_read_from_its_stacks_and_tables(cloud: Cloud) -> None:
    facts = read(cloud)
    assert facts.sync == facts.api == OLD
    assert facts.recovery == OLD["fingerprint"]
    assert facts.watch == watched(OLD)
    assert facts.building == {"by-status": None}
    assert facts.tables == {"Orders"}
    first, owner = facts.indexes or ()
    assert first.include == ("_at", "data")  # in the order of the stack, which must not change
    assert (first.ready, owner.ready) == (True, False)
    assert facts.rows.counts == {("Orders", "m"): 2}
    assert (facts.code_at, facts.api_at) == (THEN.timestamp(), None)  # the API has no older code


def test_where_nothing_is_deployed_nothing_is_found() -> None:
    assert read(Cloud()) == Deployed()


def test_a_stack_that_was_never_made_is_none(cloud: Cloud) -> None:
    cloud.stacks["team-AdminView-dev-Api"]["stack"]["StackStatus"] = "ROLLBACK_COMPLETE"
    assert read(cloud).api is None


def test_an_index_that_the_stack_does_not_know_is_not_ours(cloud: Cloud) -> None:
    assert cloud.table
    extra = cloud.table["GlobalSecondaryIndexes"][0] | {"IndexName": "ByHand"}
    cloud.table["GlobalSecondaryIndexes"].append(extra)
    found = {one.name: one.ours for one in read(cloud).indexes or ()}
    assert found == {"ByStatus": True, "Owner": True, "ByHand": False}


def test_an_index_that_is_being_deleted_stands_in_nobodys_way(cloud: Cloud) -> None:
    """DynamoDB has forgotten its attributes by then, and it may come again."""
    assert cloud.table
    del cloud.table["AttributeDefinitions"][1]
    cloud.table["GlobalSecondaryIndexes"] = cloud.table["GlobalSecondaryIndexes"][:1]
    cloud.table["GlobalSecondaryIndexes"][0]["IndexStatus"] = "DELETING"
    del cloud.stacks["team-AdminView-dev-View"]
    client: Any = cloud
    found = (Tables(client, "team-AdminViewTable", lambda: 7.0).indexes() or [])[0]
    plan = make_plan(Deployed(indexes=(found,)), OLD, 0.0)
    assert plan.refusals == ()
    titles = [step.title for step in plan.steps]
    assert titles[1:3] == [
        "wait until index ByStatus is gone",
        "create index ByStatus, and wait until it is active",
    ]


def test_a_stack_of_an_older_release_needs_to_be_told_its_model(cloud: Cloud) -> None:
    for part in ("Sync", "Api"):
        del cloud.stacks[f"team-AdminView-dev-{part}"]["template"]["Metadata"]
    with pytest.raises(SettingsError, match="name a file that describes it with --against"):
        read(cloud)
    with pytest.raises(SettingsError, match=f"only that it is {OLD['fingerprint']}"):
        read(cloud, against=OLD | {"fingerprint": "another"})
    assert read(cloud, against=OLD).sync == OLD


def test_a_table_without_a_stack_or_a_stack_without_its_table_is_refused(cloud: Cloud) -> None:
    del cloud.stacks["team-AdminView-dev-View"]
    with pytest.raises(SettingsError, match="no stack it belongs to"):
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
    file.write_text(json.dumps({"context": {"sources": {"Orders": {"tableName": "x"}}}}))
    assert imported_sources(tmp_path) == {"Orders"}
    file.unlink()
    with pytest.raises(SettingsError, match="run this in a checkout"):
        imported_sources(tmp_path)


# The progress table.


def progress(cloud: Cloud, now: Callable[[], float]) -> Progress:
    client: Any = cloud
    return Progress(ProgressTable(client, "Progress"), now)


def test_marks_are_spoiled_before_other_code_comes_and_hold_again_when_it_is_built() -> None:
    cloud, times = Cloud(), iter(range(1, 100))
    table = progress(cloud, lambda: float(next(times)))
    ended = {"model": "m", "code": "a", "turn": 3}
    table.table.mark("backfill/Orders", ended, until=_ever())
    assert markers(table.marks()) == {"Orders": Marker("m", "a")}
    table.spoil(["Orders"], ["Orders", "Gone"], ["k1"], model="m")
    assert markers(table.marks()) == {"Orders": Marker("", "")}
    assert sweeps(table.marks(), ["Orders"], "m") == {"Orders": K1, "Gone": K1}
    table.spoil(["Orders"], ["Orders"], ["k2"], model="m")  # again, before it was swept
    assert sweeps(table.marks(), [], "m")["Orders"] == K1 | {"k2"}

    assert table.marks()["backfill/Orders"]["turn"] == 5  # which says when a run is another

    table.table.mark("sweep/Orders", {"model": "m", "at": table.now()}, until=_ever())
    assert sweeps(table.marks(), ["Orders", "Users"], "m") == {"Orders": None, "Gone": K1}
    table.table.mark("sweep/*", {"model": "m", "at": table.now()}, until=_ever())
    assert sweeps(table.marks(), ["Users"], "m") == dict.fromkeys(["Orders", "Gone", "Users"])
    table.spoil([], ["Orders"], ["k3"], model="m")
    assert sweeps(table.marks(), [], "m")["Orders"] == frozenset({"k3"})


@pytest.mark.parametrize("run", ["sweep/Orders", "sweep/*"])
def test_a_sweep_by_the_old_model_while_the_new_one_is_deployed_leaves_the_new_ones_to_be_done(
    run: str,
) -> None:
    times = iter(range(1, 100))
    table = progress(Cloud(), lambda: float(next(times)))
    table.spoil(["Orders"], ["Orders"], ["k1"], model="new")
    table.table.mark(run, {"model": "old", "at": table.now()}, until=_ever())
    assert sweeps(table.marks(), ["Orders"], "new") == {"Orders": K1}
    given_up = sweeps(table.marks(), ["Orders"], "old")
    assert given_up == {"Orders": None}, "where the plan was given up, the old one's will do"
    table.table.mark(run, {"model": "new", "at": table.now()}, until=_ever())
    assert sweeps(table.marks(), ["Orders"], "new") == {"Orders": None}


def test_what_was_swept_stays_so_when_a_later_model_changes_other_sources() -> None:
    times = iter(range(1, 100))
    table = progress(Cloud(), lambda: float(next(times)))
    table.spoil([], ["Orders", "Users"], ["k1"], model="new")
    table.table.mark("sweep/*", {"model": "new", "at": table.now()}, until=_ever())
    for _ in range(2):  # the second time, the mark has been taken back
        table.spoil([], ["Orders"], ["k2"], model="newer")
        found = sweeps(table.marks(), [], "newer")
        assert found == {"Orders": frozenset({"k2"}), "Users": None}


@pytest.mark.parametrize("run", ["backfill/Orders", "sweep/Orders", "sweep/*"])
def test_a_run_that_is_under_way_when_other_code_comes_neither_goes_on_nor_counts(
    run: str,
) -> None:
    cloud = Cloud()
    table = progress(cloud, lambda: 1.0)
    segment = Segment(run, 0, 1, turn=4)
    table.table.mark(run, {"model": "m", "turn": 3, "at": 0.5}, until=_ever())  # the one before
    table.table.save(Record(segment, "m", done=True), until=_ever(), keep=False)
    table.spoil(["Orders"], ["Orders"], [], model="m")
    assert table.marks()[run]["turn"] == 5
    with pytest.raises(BulkError, match="was ended, or begun again"):
        table.table.take(segment, "m", until=_ever())


@pytest.mark.parametrize("run", ["backfill/Orders", "sweep/Orders", "sweep/*"])
def test_a_run_of_which_no_worker_has_a_record_yet_neither_begins_nor_counts(run: str) -> None:
    """Its segments were handed out before other code came; its model may be deployed again."""
    table = progress(Cloud(), lambda: 1.0)
    table.spoil(["Orders"], ["Orders"], [], model="other")
    with pytest.raises(BulkError, match="was ended, or begun again"):
        table.table.take(Segment(run, 0, 1, turn=1), "m", until=_ever())


@pytest.mark.parametrize("run", ["sweep/Orders", "sweep/*"])
def test_a_sweep_of_another_model_is_seen_too(run: str) -> None:
    client: Any = Cloud()
    table = Progress(ProgressTable(client, "Progress", now=lambda: 10.0), lambda: 10.0)
    table.table.save(Record(Segment(run, 0, 1), "m"), until=_ever())
    assert table.busy_until(["Orders"], "other") == 10.0 + LEASE_SECONDS


def test_a_worker_of_another_model_is_seen_and_one_of_this_is_not() -> None:
    client: Any = Cloud()
    table = Progress(ProgressTable(client, "Progress", now=lambda: 10.0), lambda: 10.0)
    table.table.save(Record(Segment("backfill/Orders", 0, 1), "m"), until=_ever())
    assert table.busy_until(["Orders"], "other") == 10.0 + LEASE_SECONDS
    assert table.busy_until(["Orders"], "m") == table.busy_until(["Users"], "other") == 0.0


def test_a_progress_table_that_is_not_there_yet_says_nothing() -> None:
    cloud = Cloud(progress=None)
    table = progress(cloud, lambda: 0.0)
    table.spoil(["Orders"], ["Orders"], [], model="m")
    assert table.marks() == {}
    assert table.busy_until(["Orders"], "m") == 0.0


def _ever() -> Deadline:
    return Deadline.after(60)


def test_facts_of_the_tables_are_part_of_what_is_deployed(cloud: Cloud) -> None:
    client: Any = cloud
    own = ProgressTable(client, "team-AdminViewTableProgress")
    own.mark("backfill/Orders", {"model": "m", "code": "a"}, until=_ever())
    facts = read(cloud)
    assert facts.markers == {"Orders": Marker("m", "a")}
    assert replace(facts, markers={}) == replace(read(cloud), markers={})
