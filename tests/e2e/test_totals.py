"""Totals are deployed before rows contribute to them, follow the rows, and are queried.

ministack has no tumbling windows: it leaves the window out of a mapping, and delivers events that
name no shard. So the deployed function is invoked by our own event source, which reads the view's
stream in that cloud. What the cloud itself delivers is refused, and stays in the stream.
"""

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from threading import Thread
from typing import Any

import pytest

from adminview.local.event_source import EventSource
from adminview.local.event_source.on_failure import no_destination
from adminview.model.delivery import TOTALS_DELIVERY
from adminview.model.total import PROBE
from tests.support.e2e.api_client import BEING_BUILT, OK, UNKNOWN, Api
from tests.support.e2e.cloud import Checkout, local_cloud

PLAIN = '''"""Parcels, as the warehouse looks them up."""

from collections.abc import Iterator

from adminview import AccessPattern, Item, Row, Source, Total, key, view

parcels = Source("Parcels", partition_key="parcelId")
parcel = AccessPattern("parcel", partition="PARCEL#{parcel_id}")


@view(parcels)
def parcel_row(item: Item) -> Iterator[Row]:
    """Show a parcel."""
    yield Row(key("PARCEL", item["parcelId"]), "DETAILS", data=item.pick("depot", "grams"))
'''
SUMMED = PLAIN.replace(
    '\nparcel = AccessPattern("parcel"',
    """
depots = Total("ParcelsPerDepot", sort="depot", sums=["grams"], ranked_by="grams")
per_depot = AccessPattern("parcels-per-depot", total=depots)
heaviest = AccessPattern("heaviest-depots", total=depots, ranked=True, descending=True)
parcel = AccessPattern("parcel\"""",
).replace(
    'data=item.pick("depot", "grams"))',
    'data=item.pick("depot", "grams"),\n'
    '              totals=[depots(item["depot"], grams=item["grams"])])',
)
APPLY = ("apply", "--yes", "--wait", "0", "--segments", "1")
APPLY_SECONDS = 400.0
FINAL = 2 * TOTALS_DELIVERY.tumbling_seconds  # after so long, the window of a record has ended


class FunctionFailedError(Exception):
    """The deployed function raised."""


class Warehouse:
    """The deployment, and who delivers its view's stream to the totals function."""

    def __init__(self, checkout: Checkout) -> None:
        self.checkout = checkout
        self.dynamodb = checkout.client("dynamodb")
        self.functions = checkout.client("lambda")
        self.ahead = 0.0
        self.events: list[Any] = []

    def declare(self, views: str) -> None:
        (self.checkout.folder / "lambdas/views/parcels.py").write_text(views)

    def put(self, number: int, depot: str, grams: int) -> None:
        self.checkout.put("Parcels", {"parcelId": str(number), "depot": depot, "grams": grams})

    def await_row(self, number: int, depot: str) -> None:
        """Wait until the deployed sync has written a parcel as it is now."""

        def is_there() -> bool:
            row = self.checkout.row(f"PARCEL#{number}", "DETAILS")
            return bool(row and row["data"]["M"]["depot"]["S"] == depot)

        self.checkout.deadline(is_there, f"parcel {number} is in {depot}")

    @property
    def view(self) -> dict[str, Any]:
        table: dict[str, Any] = self.dynamodb.describe_table(TableName="AdminViewTable")["Table"]
        return table

    @property
    def stacks(self) -> set[str]:
        stacks = self.checkout.client("cloudformation").describe_stacks()["Stacks"]
        return {stack["StackName"] for stack in stacks}

    @property
    def is_deployed(self) -> bool:
        """Whether the Totals stack is complete."""
        stacks = self.checkout.client("cloudformation").describe_stacks()["Stacks"]
        return "CREATE_COMPLETE" in [
            stack["StackStatus"] for stack in stacks if stack["StackName"] == "AdminView-dev-Totals"
        ]

    @property
    def mapping(self) -> Any:
        """The mapping of the totals function, as this cloud has it."""
        name = self.checkout.outputs("Totals")["TotalsFunctionName"]
        (mapping,) = self.functions.list_event_source_mappings(FunctionName=name)[
            "EventSourceMappings"
        ]
        return mapping

    @property
    def totals(self) -> dict[str, tuple[str, str]]:
        """The count and the sum of each depot, as they are stored."""
        items = self.dynamodb.scan(TableName="AdminViewTotals")["Items"]
        own = [item for item in items if not item["PK"]["S"].startswith(PROBE)]
        return {item["SK"]["S"]: (item["count"]["N"], item["grams"]["N"]) for item in own}

    def probes_are_written(self) -> bool:
        """Look into the stream for the rows by which apply sees what is counted."""
        streams, arn = self.checkout.client("dynamodbstreams"), self.view["LatestStreamArn"]
        for shard in streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]:
            place = streams.get_shard_iterator(
                StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
            )
            records = streams.get_records(ShardIterator=place["ShardIterator"])["Records"]
            keys = [record["dynamodb"]["Keys"]["PK"]["S"] for record in records]
            if any(key.startswith(PROBE) for key in keys):
                return True
        return False

    def invoke(self, event: Any, _: Any = None) -> Any:
        """Invoke the deployed totals function, and raise what it raised."""
        self.events.append(event)
        name = self.checkout.outputs("Totals")["TotalsFunctionName"]
        answer = self.functions.invoke(FunctionName=name, Payload=json.dumps(event))
        reported = json.loads(answer["Payload"].read())
        if "FunctionError" in answer:
            raise FunctionFailedError(reported["errorMessage"])
        return reported

    def event_source(self) -> EventSource:
        """Follow the view's stream from its beginning, in windows, as Lambda does."""
        return EventSource(
            streams=self.checkout.client("dynamodbstreams"),
            stream_arn=self.view["LatestStreamArn"],
            handler=self.invoke,
            on_failure=no_destination,
            delivery=replace(TOTALS_DELIVERY, window_seconds=0),
            clock=self.now,
            function_name="totals",
        )

    def now(self) -> float:
        return time.time() + self.ahead


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    """Deploy a small app without totals to a cloud of its own; the tests are one story."""
    with local_cloud(tmp_path_factory.mktemp("totals")) as checkout:
        for folder in ("views", "migrations"):
            for file in (checkout.folder / "lambdas" / folder).glob("[!_]*.py"):
                file.unlink()
        started = Warehouse(checkout)
        started.declare(PLAIN)
        checkout.bootstrap()
        checkout.cdk("deploy", "--all", "--require-approval", "never")
        yield started


@pytest.fixture(scope="module")
def followed(warehouse: Warehouse) -> EventSource:
    """Deliver the stream of the view; what was delivered once is not delivered again."""
    return warehouse.event_source()


def test_without_totals_the_view_has_no_stream(warehouse: Warehouse) -> None:
    for number, depot in enumerate(("north", "north", "south")):
        warehouse.put(number, depot, 100)
        warehouse.await_row(number, depot)
    assert "LatestStreamArn" not in warehouse.view
    assert "AdminView-dev-Totals" not in warehouse.stacks


class Apply(Thread):
    """`adminview apply`, running while tests look on."""

    def __init__(self, checkout: Checkout) -> None:
        super().__init__(daemon=True)
        self.checkout = checkout
        self.printed = ""

    def run(self) -> None:
        self.printed = self.checkout.adminview(*APPLY)


@pytest.fixture(scope="module")
def applied(warehouse: Warehouse) -> Apply:
    """Begin to apply the model with totals. It ends when the totals have counted all rows."""
    warehouse.declare(SUMMED)
    running = Apply(warehouse.checkout)
    running.start()
    return running


def test_what_the_cloud_delivers_without_a_shard_is_refused_and_not_lost(
    warehouse: Warehouse, applied: Apply
) -> None:
    warehouse.checkout.deadline(
        lambda: warehouse.is_deployed and warehouse.mapping["LastProcessingResult"] == "FAILED",
        "the cloud invokes the totals function by itself",
        seconds=APPLY_SECONDS,
    )
    messages = "\n".join(warehouse.checkout.complaints())
    assert "the event names no shard" in messages
    assert "TumblingWindowInSeconds" not in warehouse.mapping, "or it would be enough to wait"
    assert warehouse.totals == {}
    with pytest.raises(FunctionFailedError, match="the event names no shard"):
        warehouse.invoke({"Records": []})
    warehouse.functions.update_event_source_mapping(UUID=warehouse.mapping["UUID"], Enabled=False)
    assert applied.is_alive()


def test_apply_waits_until_the_deployed_function_has_counted_what_was_there_before(
    warehouse: Warehouse, applied: Apply, followed: EventSource
) -> None:
    api = Api(warehouse.checkout)
    warehouse.checkout.deadline(warehouse.probes_are_written, "apply writes probes", APPLY_SECONDS)
    assert applied.is_alive(), "nothing is delivered, so nothing is known"
    assert api.get("/patterns/parcels-per-depot").status == BEING_BUILT
    warehouse.checkout.deadline(
        lambda: followed.drain() == 0 and not applied.is_alive(), "apply ends", APPLY_SECONDS
    )
    steps = [
        "turn on the stream of the view table",
        "create the totals table and the totals function",
        "deploy the API: refuse",
        "deploy the views",
        "deploy the alarms",
        "backfill Parcels",
    ]
    places = [applied.printed.rindex(step) for step in steps]
    assert places == sorted(places)
    assert warehouse.totals == {"north": ("2", "200"), "south": ("1", "100")}
    assert api.get("/patterns/parcels-per-depot").status == OK
    assert warehouse.view["StreamSpecification"]["StreamViewType"] == "NEW_AND_OLD_IMAGES"
    assert warehouse.checkout.adminview("plan").startswith("nothing to do: ")


def test_totals_follow_items_that_come_change_and_go(
    warehouse: Warehouse, followed: EventSource
) -> None:
    warehouse.put(3, "west", 5000)
    warehouse.put(1, "south", 250)  # it was in the north
    warehouse.await_row(3, "west")
    warehouse.await_row(1, "south")
    warehouse.checkout.delete("Parcels", parcelId="2")
    gone = ("PARCEL#2", "DETAILS")
    warehouse.checkout.deadline(lambda: not warehouse.checkout.row(*gone), "its row is deleted")
    followed.drain()
    assert warehouse.totals == {
        "north": ("1", "100"),
        "south": ("1", "250"),
        "west": ("1", "5000"),
    }


def test_the_api_answers_totals_by_group_and_by_rank(warehouse: Warehouse) -> None:
    api = Api(warehouse.checkout)
    by_group = api.get("/patterns/parcels-per-depot")
    assert by_group.status == OK, by_group.body
    assert [row["data"]["depot"] for row in by_group.body["rows"]] == ["north", "south", "west"]
    assert [row["data"]["count"] for row in by_group.body["rows"]] == [1, 1, 1]
    by_rank = api.get("/patterns/heaviest-depots")
    ranking = [(row["data"]["depot"], row["data"]["grams"]) for row in by_rank.body["rows"]]
    assert ranking == [("west", 5000), ("south", 250), ("north", 100)]


def test_a_stream_that_is_delivered_again_changes_nothing(
    warehouse: Warehouse, followed: EventSource
) -> None:
    before = warehouse.totals
    assert warehouse.event_source().drain() > 0
    assert warehouse.totals == before
    warehouse.ahead += FINAL
    followed.drain()
    final = warehouse.events[-1]
    assert (final["Records"], final["isFinalInvokeForWindow"]) == ([], True)
    assert warehouse.totals == before


def test_the_state_machine_verifies_the_totals(warehouse: Warehouse) -> None:
    wrong = {"PK": {"S": "ParcelsPerDepot.1"}, "SK": {"S": "east"}}
    amounts = {"count": {"N": "1"}, "grams": {"N": "7"}}
    warehouse.dynamodb.put_item(TableName="AdminViewTotals", Item={**wrong, **amounts})
    command = ("verify", "--totals", "--grace", "0", "--deployed", "--json")
    printed = warehouse.checkout.refused(*command)  # and then where the execution is
    report, _ = json.JSONDecoder().raw_decode(printed)
    assert (report["status"], report["finished"]) == (1, True)
    assert (report["totals"], report["equal"], report["differing"]) == (4, 3, 1)
    assert [total["group"] for total in report["listed"]] == [["east"]]
    warehouse.dynamodb.delete_item(TableName="AdminViewTotals", Key=wrong)
    report = json.loads(warehouse.checkout.adminview(*command))
    assert (report["status"], report["equal"]) == (0, 3)


def test_the_doctor_misses_what_this_cloud_does_not_deploy(warehouse: Warehouse) -> None:
    """It leaves the window out of a mapping, and the TTL out of a table."""
    uuid = warehouse.mapping["UUID"]
    findings = examine(warehouse)
    assert findings["totals AdminViewTotals"]["state"] == "warning"
    assert "its TTL is DISABLED: empty totals stay" in findings["totals AdminViewTotals"]["seen"]
    warehouse.dynamodb.update_time_to_live(
        TableName="AdminViewTotals",
        TimeToLiveSpecification={"Enabled": True, "AttributeName": "expires"},
    )
    findings = examine(warehouse)
    wrong = {name for name, finding in findings.items() if finding["state"] == "problem"}
    assert wrong == {"mapping of the totals"}
    seen = findings["mapping of the totals"]["seen"]
    assert "it is Disabled: no change reaches the totals" in seen
    assert "TumblingWindowInSeconds is 0, but 900 was deployed" in seen
    assert f"--enabled --uuid {uuid}" in str(findings["mapping of the totals"]["do"])
    for name in ("totals AdminViewTotals", "function TotalsFunction", "role TotalsRole"):
        assert findings[name]["state"] == "ok", findings[name]


def examine(warehouse: Warehouse) -> dict[str, Any]:
    """Give what the doctor finds, by name."""
    done = warehouse.checkout.refused("doctor", "--json")
    return {finding["name"]: finding for finding in json.loads(done)["findings"]}


def test_a_model_that_drops_its_totals_empties_them(
    warehouse: Warehouse, followed: EventSource
) -> None:
    warehouse.declare(PLAIN)
    printed = " ".join(warehouse.checkout.adminview(*APPLY).split())
    assert "the Totals stack and the stream of the view table stay" in printed
    assert "AdminView-dev-Totals" in warehouse.stacks
    followed.drain()
    items = warehouse.dynamodb.scan(TableName="AdminViewTotals")["Items"]
    assert {item["count"]["N"] for item in items} == {"0"}
    assert all("expires" in item for item in items), "DynamoDB deletes them"
    assert Api(warehouse.checkout).get("/patterns/parcels-per-depot").status == UNKNOWN


def test_the_stream_is_turned_off_when_the_stack_is_deleted(warehouse: Warehouse) -> None:
    warehouse.checkout.client("cloudformation").delete_stack(StackName="AdminView-dev-Totals")
    warehouse.checkout.deadline(
        lambda: "AdminView-dev-Totals" not in warehouse.stacks, "the stack is deleted"
    )
    printed = warehouse.checkout.adminview(*APPLY)
    assert "turn off the stream of the view table" in printed
    assert not (warehouse.view.get("StreamSpecification") or {}).get("StreamEnabled")
    assert warehouse.checkout.adminview("plan").startswith("nothing to do: ")
