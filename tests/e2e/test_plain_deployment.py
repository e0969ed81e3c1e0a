"""A model change that is deployed with plain `cdk deploy` builds its rows itself.

Until they are built, the access patterns that need them are not ready.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from adminview.model.readiness import FACTS, PATTERNS, READY
from tests.support.e2e.api_client import BEING_BUILT, OK, Api
from tests.support.e2e.cloud import Checkout, local_cloud

PLAIN = '''"""Parcels, as the warehouse looks them up."""

from collections.abc import Iterator

from adminview import AccessPattern, Index, Item, Row, Source, key, view

parcels = Source("Parcels", partition_key="parcelId")
parcel = AccessPattern("parcel", partition="PARCEL#{parcel_id}")


@view(parcels)
def parcel_row(item: Item) -> Iterator[Row]:
    """Show a parcel."""
    yield Row(key("PARCEL", item["parcelId"]), "DETAILS", data=item.pick("depot"))
'''
INDEXED = PLAIN.replace(
    "\n\n@view",
    """
by_depot = Index("ByDepot", partition="depot", sort="parcelId", include=["data"])
in_depot = AccessPattern("parcels-in-depot", index=by_depot, partition="{depot}")


@view""",
    1,
).replace(
    'data=item.pick("depot"))',
    'data=item.pick("depot"),\n              indexes=[by_depot(item["depot"], item["parcelId"])])',
)
DEPLOY = ("deploy", "--all", "--require-approval", "never")
PARCEL, IN_DEPOT = "/patterns/parcel?parcel_id=0", "/patterns/parcels-in-depot?depot=north"
BUILD_SECONDS = 300.0
COUNT = 3


class Site:
    """The deployed app."""

    def __init__(self, checkout: Checkout) -> None:
        self.checkout = checkout
        self.dynamodb = checkout.client("dynamodb")

    def deploy(self, views: str) -> None:
        """Change the view file, and deploy as every user of the CDK does."""
        (self.checkout.folder / "lambdas/views/parcels.py").write_text(views)
        self.checkout.cdk(*DEPLOY)

    def status(self, path: str) -> int:
        return Api(self.checkout).get(path).status

    def rows(self, path: str) -> list[Any]:
        return [row["key"]["PK"] for row in Api(self.checkout).get(path).body["rows"]]

    @property
    def record(self) -> dict[str, Any]:
        """What the deployment has recorded."""
        response = self.dynamodb.get_item(TableName="AdminViewTableProgress", Key=self._key)
        facts: dict[str, Any] = json.loads(response["Item"][FACTS]["S"])
        return facts

    def end_old_invocations(self) -> None:
        """Say that no function of the model before is running: here, none is."""
        facts = {**self.record, "begins": 0.0}
        item = {**self._key, FACTS: {"S": json.dumps(facts)}}
        self.dynamodb.put_item(TableName="AdminViewTableProgress", Item=item)

    def executions(self) -> list[str]:
        machine = self.checkout.outputs("Recovery")["BackfillMachineArn"]
        response = self.checkout.client("stepfunctions").list_executions(stateMachineArn=machine)
        return [execution["status"] for execution in response["executions"]]

    @property
    def _key(self) -> dict[str, Any]:
        return {"PK": {"S": READY}, "SK": {"S": PATTERNS}}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Deploy a small app to a cloud of its own; the tests are one story."""
    with local_cloud(tmp_path_factory.mktemp("plain")) as checkout:
        for folder in ("views", "migrations"):
            for file in (checkout.folder / "lambdas" / folder).glob("[!_]*.py"):
                file.unlink()
        started = Site(checkout)
        checkout.bootstrap()
        started.deploy(PLAIN)
        yield started


def test_the_first_deployment_builds_the_view_and_its_access_patterns_become_ready(
    site: Site,
) -> None:
    site.checkout.deadline(lambda: site.status(PARCEL) == OK, "it is ready", BUILD_SECONDS)
    site.checkout.deadline(
        lambda: site.executions() == ["SUCCEEDED"], "the build has ended", BUILD_SECONDS
    )


def test_a_new_access_pattern_is_not_ready_after_the_deployment_and_the_others_stay_ready(
    site: Site,
) -> None:
    for number in range(COUNT):
        site.checkout.put("Parcels", {"parcelId": str(number), "depot": "north"})
    for number in range(COUNT):
        site.checkout.await_row({"PK": {"S": f"PARCEL#{number}"}, "SK": {"S": "DETAILS"}})
    site.deploy(INDEXED)
    answer = Api(site.checkout).get(IN_DEPOT)
    assert (answer.status, answer.body["title"]) == (BEING_BUILT, "not ready")
    assert site.rows(PARCEL) == ["PARCEL#0"]
    assert "parcels-in-depot" in site.checkout.run(*DOCTOR).stdout


DOCTOR = ("python", "-m", "adminview.cli.main", "doctor", "--stage", "dev")


def test_the_deployment_has_started_the_build_which_makes_it_ready(site: Site) -> None:
    site.end_old_invocations()
    site.checkout.deadline(lambda: site.status(IN_DEPOT) == OK, "it is ready", BUILD_SECONDS)
    assert sorted(site.rows(IN_DEPOT)) == [f"PARCEL#{number}" for number in range(COUNT)]
    site.checkout.deadline(
        lambda: site.executions() == ["SUCCEEDED"] * 2, "the build has ended", BUILD_SECONDS
    )
    assert site.checkout.adminview("plan").startswith("nothing to do: ")


def test_a_deployment_that_changes_nothing_builds_nothing(site: Site) -> None:
    record = site.record
    site.checkout.cdk(*DEPLOY)
    assert (len(site.executions()), site.record) == (2, record)
