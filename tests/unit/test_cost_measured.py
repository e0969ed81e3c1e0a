"""`adminview cost --measured`: what CloudWatch and DynamoDB counted, and what is assumed."""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from typer.testing import CliRunner

from adminview.aws.settings import NAMESPACE, SYNC_FUNCTION_OUTPUT
from adminview.cli.costing.comparison import compare_observed
from adminview.cli.costing.observed import COUNTS, Observed, observe
from adminview.cli.costing.prices import Prices
from adminview.cli.costing.usage import MONTH, TABLE
from adminview.cli.main import app
from tests.support.deployment import SYNC, Client, Deployment, sound
from tests.support.fakes import refusal

NOW = datetime(2026, 11, 16, 20, 17, 5, tzinfo=UTC)
DAY = 24 * 3600.0
LOGS = "/aws/lambda/somewhere-else"
VIEW = ("TableName", "AdminViewTable")

Where = tuple[tuple[str, str], ...]


@dataclass
class Counting(Deployment):
    """The shop, with what CloudWatch has counted of it: two points of each metric."""

    metrics: dict[tuple[str, str, Where], float] = field(default_factory=dict)
    recovery: str = "ENABLED"
    asked_for: list[Any] = field(default_factory=list)

    def client(self, _: str) -> "CountingClient":
        return CountingClient(self)

    def count(self, namespace: str, name: str, value: float, *where: tuple[str, str]) -> None:
        self.metrics[namespace, name, where] = value

    def observe(self, hours: int = 24) -> Observed:
        return observe(self.aws(), self.deployment().settings, "sync", hours, NOW)


class CountingClient(Client):
    """Answers two more calls, a page for each metric."""

    here: Counting

    def describe_continuous_backups(self, TableName: str) -> Any:  # noqa: N803 - boto3's, as below
        assert TableName == "AdminViewTable"
        reported = {"PointInTimeRecoveryStatus": self.here.recovery}
        return {"ContinuousBackupsDescription": {"PointInTimeRecoveryDescription": reported}}

    def get_metric_data(
        self,
        MetricDataQueries: list[Any],  # noqa: N803
        StartTime: datetime,  # noqa: N803
        EndTime: datetime,  # noqa: N803
        NextToken: str = "0",  # noqa: N803
    ) -> Any:
        assert len(MetricDataQueries) <= 500
        self.here.asked_for.append((StartTime, EndTime))
        place = int(NextToken)
        query = MetricDataQueries[place]
        metric, values = query["MetricStat"]["Metric"], []
        assert query["MetricStat"]["Stat"] == "Sum"
        where = tuple((at["Name"], at["Value"]) for at in metric["Dimensions"])
        known = (metric["Namespace"], metric["MetricName"], where)
        if known in self.here.metrics:
            values = [self.here.metrics[known] / 4, self.here.metrics[known] * 3 / 4]
        more = {"NextToken": str(place + 1)} if place + 1 < len(MetricDataQueries) else {}
        return {"MetricDataResults": [{"Id": query["Id"], "Values": values}], **more}


@pytest.fixture
def here() -> Counting:
    """Give a day of 10 changes a second of orders, of which a fifth shows nowhere."""
    counting = Counting(**vars(sound()))
    counting.output(SYNC, SYNC_FUNCTION_OUTPUT, "sync")
    counting.functions["sync"] |= {"MemorySize": 1024, "LoggingConfig": {"LogGroup": LOGS}}
    counting.tables["AdminViewTable"] |= {"TableSizeBytes": 10**9 - 10**8, "ItemCount": 10**6}
    for index in counting.tables["AdminViewTable"]["GlobalSecondaryIndexes"]:
        index |= {"IndexSizeBytes": 10**8, "ItemCount": 0}
    orders = ("service", "adminview"), ("source", "Orders")
    for name, each in zip(COUNTS, (10, 8, 2, 15, 1), strict=True):
        counting.count(NAMESPACE, name, each * DAY, *orders)
    counting.count("AWS/DynamoDB", "ConsumedWriteCapacityUnits", 32 * DAY, VIEW)
    for index, units in {"GSI1": 5.0, "Owner": 1.0}.items():
        where = VIEW, ("GlobalSecondaryIndexName", index)
        counting.count("AWS/DynamoDB", "ConsumedWriteCapacityUnits", units * DAY, *where)
    counting.count("AWS/Lambda", "Duration", 500 * DAY, ("FunctionName", "sync"))
    counting.count("AWS/Lambda", "Invocations", 2 * DAY, ("FunctionName", "sync"))
    counting.count("AWS/Logs", "IncomingBytes", 1000 * DAY, ("LogGroupName", LOGS))
    return counting


def test_ours_is_what_was_counted(here: Counting) -> None:
    compared = compare_observed(here.observe())
    assert compared.changes == 10
    bill = compared.ours.bill(Prices())
    million = MONTH / 1e6
    assert bill["writes to the table"] == pytest.approx(32 * million * 0.625)
    assert bill["writes to GSI1"] == pytest.approx(5 * million * 0.625)
    assert bill["writes to Owner"] == pytest.approx(1 * million * 0.625)
    assert bill["writes to GSI2"] == 0
    assert bill["function, time"] == pytest.approx(0.5 * MONTH * 0.0000133334)
    assert bill["function, requests"] == pytest.approx(2 * million * 0.20)
    assert bill["logs"] == pytest.approx(1000 * MONTH / 1e9 * 0.50)
    indexes = len(here.tables["AdminViewTable"]["GlobalSecondaryIndexes"])
    assert bill["storage"] == pytest.approx((1 + indexes * 0.1) * 0.25)  # 100 bytes more a row
    assert bill["recovery to any second"] == pytest.approx(0.20)
    assert compared.load == {
        "Orders": {"changesPerSecond": 10, "unchanged": 0.2, "rowsPerWritten": 2}
    }


def test_the_baseline_would_have_written_rows_of_all_records_and_waited_for_each(
    here: Counting,
) -> None:
    compared = compare_observed(here.observe())
    assert compared.baseline.units[TABLE] == pytest.approx(32 * 20 / 16)
    assert compared.baseline.units["GSI1"] == compared.ours.units["GSI1"]
    assert "Owner" not in compared.baseline.units
    assert (
        compared.baseline.memory_seconds > 20 * 0.008
    )  # a row after another, in functions of 1 GB
    assert compared.ours.stored_bytes - compared.baseline.stored_bytes == 10**8
    assert compared.baseline.metrics == 0


def test_whole_hours_are_looked_at(here: Counting) -> None:
    here.observe(hours=3)
    deadline = datetime(2026, 11, 16, 20, tzinfo=UTC)
    assert {*here.asked_for} == {(deadline - timedelta(hours=3), deadline)}


def test_what_was_not_counted_is_named_with_what_is_taken_for_it(here: Counting) -> None:
    here.metrics = {known: value for known, value in here.metrics.items() if known[0] == NAMESPACE}
    here.recovery = "DISABLED"
    compared = compare_observed(here.observe())
    assert compared.ours.units[TABLE] == 16  # rows
    assert compared.ours.memory_seconds > 0
    assert compared.ours.invocations == 4  # one a second and source
    assert compared.ours.log_bytes == 4 * 2048
    assert compared.ours.recoverable_bytes == 0
    printed = " | ".join(compared.notes)
    for name in ("Products", "Duration", "Invocations", "ConsumedWriteCapacityUnits"):
        assert name in printed
    assert "IncomingBytes" in printed
    assert "point-in-time recovery is off" in printed


def test_a_source_of_which_nothing_was_written_adds_nothing(here: Counting) -> None:
    users = ("service", "adminview"), ("source", "Users")
    here.count(NAMESPACE, "Records", DAY, *users)
    here.count(NAMESPACE, "Unchanged", DAY, *users)
    compared = compare_observed(here.observe())
    assert compared.load["Users"] == {"changesPerSecond": 1, "unchanged": 1, "rowsPerWritten": 0}
    assert compared.baseline.units[TABLE] == pytest.approx(32 * 20 / 16)


def test_where_nothing_was_counted_at_all_there_is_no_bill(here: Counting) -> None:
    here.metrics = {}
    with pytest.raises(Exception, match="no records were counted in the last 24 hours"):
        compare_observed(here.observe())


def run(here: Counting, monkeypatch: pytest.MonkeyPatch, *words: str) -> Any:
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    monkeypatch.setattr("adminview.cli.deployment.deployment.Aws", here.aws)
    return CliRunner().invoke(app, ["cost", "--measured", *words], env={"COLUMNS": "100"})


def test_the_command_finds_the_deployment_and_says_whose_prices_these_are(
    here: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = run(here, monkeypatch, "--json", "--stage", "dev")
    assert done.exit_code == 0, done.exception
    printed = json.loads(done.stdout)
    assert [bill["name"] for bill in printed["bills"]] == ["all sources"]
    assert "The deployment is in eu-west-1; the prices are of us-east-1" in printed["assumed"]
    shown = " ".join(run(here, monkeypatch).stdout.split())
    assert "all sources: 10 changes per second" in shown
    assert "Assumed for all sources: no metrics of Payments, Products, Users" in shown


def test_warm_throughput_is_read_from_the_table(
    here: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    for part in (table := here.tables["AdminViewTable"], *table["GlobalSecondaryIndexes"]):
        part["WarmThroughput"] = {"WriteUnitsPerSecond": 20_000}
    table["WarmThroughput"] = {"WriteUnitsPerSecond": 12_000}
    done = run(here, monkeypatch, "--json", "--peak-wcu", "20000")
    assert json.loads(done.stdout)["warmThroughput"]["raised"] == {"the view table": 8_000}


def test_what_aws_does_not_tell_is_explained(
    here: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    here.refused["get_metric_data"] = refusal("AccessDenied")
    done = run(here, monkeypatch)
    assert done.exit_code == 1
    assert "cloudwatch:GetMetricData" in str(done.exception)
    assert "no stack 'AdminView-prod-Sync'" in str(
        run(here, monkeypatch, "--stage", "prod").exception
    )
