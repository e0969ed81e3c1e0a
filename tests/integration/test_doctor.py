"""The doctor on real tables and queues: each engine describes them differently."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from adminview.aws.aws_calls import Aws
from adminview.aws.clients import Clients
from adminview.aws.deadline import Deadline
from adminview.bulk.lease_table import LeaseTable
from adminview.bulk.segment import Segment, SegmentState
from adminview.cli.doctor.finding import State
from adminview.local.local_cloud import LocalCloud
from adminview.local.tables import source_table
from tests.support.deployment import Deployment, sound
from tests.support.model import registry
from tests.support.readiness import completion_items, record_item


@dataclass
class Doctored(Deployment):
    """A deployment whose tables and queue are an engine's, and all else is made up."""

    clients: Clients = field(kw_only=True)

    def client(self, service: str) -> Any:
        real = {"dynamodb": self.clients.dynamodb, "sqs": self.clients.sqs}
        return real.get(service) or super().client(service)

    def aws(self) -> Aws:
        return Aws(self.client)

    def not_ok(self) -> dict[str, tuple[State, str]]:
        findings = self.examine().items()
        return {
            name: (finding.state, finding.summary)
            for name, finding in findings
            if finding.state is not State.OK
        }


@pytest.fixture
def here(cloud: LocalCloud) -> Doctored:
    """Deploy the shop on the engine: streams and the queue are named as it names them."""
    for item in (record_item(registry()), *completion_items(registry())):
        cloud.clients.dynamodb.put_item(TableName="AdminViewTableProgress", Item=item)
    doctored = Doctored(**vars(sound(cloud.queue_url)), clients=cloud.clients)
    attributes: Any = doctored.queues[cloud.queue_url]
    cloud.clients.sqs.set_queue_attributes(QueueUrl=cloud.queue_url, Attributes=attributes)
    for source in registry().sources:
        description = cloud.clients.dynamodb.describe_table(TableName=source.name)["Table"]
        doctored.mappings[f"id-{source.name}"]["EventSourceArn"] = description["LatestStreamArn"]
    return doctored


def test_a_shop_on_an_engine_is_in_order(here: Doctored) -> None:
    assert here.not_ok() == {}


def test_a_waiting_dead_letter_is_reported_and_stays_in_the_queue(
    here: Doctored, cloud: LocalCloud
) -> None:
    cloud.clients.sqs.send_message(QueueUrl=cloud.queue_url, MessageBody="{}", DelaySeconds=0)
    for _ in range(2):
        assert here.not_ok() == {"queue Letters": (State.WARNING, "dead letters: 1 waiting")}


def test_a_table_that_was_recreated_has_another_stream(here: Doctored) -> None:
    client = here.clients.dynamodb
    client.delete_table(TableName="Users")
    gone = client.get_waiter("table_not_exists")
    gone.wait(TableName="Users", WaiterConfig={"Delay": 1, "MaxAttempts": 30})
    assert here.not_ok() == {"source Users": (State.PROBLEM, "table Users does not exist")}
    definition: Any = source_table(registry().source("Users"), "Users")
    client.create_table(**definition)
    findings = here.not_ok()
    assert [*findings] == ["mapping of Users"]
    assert "no change reaches the view" in findings["mapping of Users"][1]


def test_an_index_that_was_deleted_is_missed(here: Doctored) -> None:
    here.clients.dynamodb.update_table(
        TableName="AdminViewTable",
        GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "GSI2"}}],
    )
    findings = here.not_ok()
    assert [*findings] == ["view AdminViewTable"]


def test_a_run_that_nobody_ended_is_found_in_the_progress_table(here: Doctored) -> None:
    segment = Segment("backfill/Orders", 1, 4)
    deadline = Deadline.after(600)
    table = LeaseTable(here.clients.dynamodb, "AdminViewTableProgress")
    table.save(SegmentState(segment, "x", done=True), deadline=deadline, keep=False)
    assert here.not_ok() == {
        "bulk work": (
            State.WARNING,
            "backfill/Orders: 1 of 4 segments are done, and no worker is running",
        )
    }
