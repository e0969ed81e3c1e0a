"""The status of a deployment in the console; what cannot be measured is unknown."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from adminview.aws.settings import Settings
from adminview.cli.console.local_status import NO_VERIFICATION, SyncCounts, verification_of
from adminview.cli.console.progress import ProgressReader, is_verification
from adminview.cli.console.stage_status import NO_DATA, REMEMBERED, StageStatus
from adminview.cli.deployment.deployment import Deployment
from adminview.http_api.operations.status import (
    SECONDS,
    AlarmSummary,
    Measure,
    RingingAlarm,
    SourceStatus,
    StatusFacts,
)
from adminview.model.errors import ServiceError
from adminview.sync.counts import BatchCounts
from tests.support.model import registry

NOW = 1_800_000_000.0
AT = datetime.fromtimestamp(NOW - 60, UTC)
SERVICE = "AdminView-dev"


@dataclass
class FakeAws:
    """CloudWatch with some metrics and alarms; *refused* operations raise."""

    values: dict[tuple[str, str], float] = field(default_factory=dict)  # by source and metric
    alarms: list[dict[str, Any]] = field(default_factory=list)
    refused: set[str] = field(default_factory=set)
    calls: list[str] = field(default_factory=list)

    def fresh(self) -> "FakeAws":
        return self

    def call(self, service: str, operation: str, **request: Any) -> Any:
        assert service == "cloudwatch"
        self.calls.append(operation)
        if operation in self.refused:
            raise ServiceError("AccessDenied", f"cloudwatch:{operation}")
        if operation == "DescribeAlarms":
            assert request["AlarmNamePrefix"] == f"{SERVICE}-"
            return {"MetricAlarms": self.alarms}
        return {
            "MetricDataResults": [self._result(query) for query in request["MetricDataQueries"]]
        }

    def _result(self, query: dict[str, Any]) -> dict[str, Any]:
        metric = query["MetricStat"]["Metric"]
        names = {dimension["Name"]: dimension["Value"] for dimension in metric["Dimensions"]}
        assert names["service"] == SERVICE
        value = self.values.get((names["source"], metric["MetricName"]))
        values = [] if value is None else [value]
        return {"Id": query["Id"], "Timestamps": [AT] * len(values), "Values": values}


def read(aws: FakeAws, clock: list[float] | None = None) -> StageStatus:
    now = clock or [NOW]
    settings = Settings("View", "", {"Orders": "orders"}, registry().fingerprint, service=SERVICE)
    deployment = Deployment(cast("Any", aws), "dev", "")
    progress = ProgressReader(registry(), cast("Any", None), {"orders-by-status": "GSI1"})
    return StageStatus(
        registry=registry(),
        settings=settings,
        deployment=deployment,
        progress_reader=progress,
        letters=None,
        now=lambda: now[0],
    )


HEALTHY = {
    ("Orders", "LagOfNewestRecord"): 1.5,
    ("Orders", "Records"): 12.0,
    ("Orders", "RowsPut"): 20.0,
    ("Orders", "RowsDeleted"): 1.0,
    ("Orders", "Drift"): 0.0,
    ("Orders", "Checked"): 300.0,
    ("Orders", "VerifyUnfinished"): 0.0,
}


def test_a_source_is_described_by_its_metrics() -> None:
    facts = read(FakeAws(HEALTHY, [{"AlarmName": f"{SERVICE}-lag-Orders", "StateValue": "OK"}]))
    status = facts.status().as_dict()
    (orders,) = status["sources"]
    assert orders["lag"] == {
        "value": 1.5,
        "unit": "seconds",
        "at": AT.isoformat().replace("+00:00", "Z"),
        "reason": None,
    }
    assert (orders["records"]["value"], orders["writes"]["value"]) == (12, 21)
    assert (orders["drift"]["value"], orders["verified"]["complete"]) == (0, True)
    assert orders["verified"]["checked"]["value"] == 300
    assert orders["state"] == "healthy"
    assert status["alarms"] == {
        "known": True,
        "reason": None,
        "ringing": [],
        "ok": 1,
        "noData": 0,
    }
    assert status["pending"] == [{"pattern": "orders-by-status", "servedBy": "GSI1"}]


def test_metrics_without_data_are_unknown_and_not_zero() -> None:
    (orders,) = read(FakeAws()).status().as_dict()["sources"]
    for name in ("lag", "records", "writes"):
        assert (orders[name]["value"], orders[name]["reason"]) == (None, NO_DATA)
    assert (orders["drift"]["value"], orders["drift"]["reason"]) == (None, NO_VERIFICATION)
    assert orders["verified"]["complete"] is None
    assert orders["state"] == "unknown"


@pytest.mark.parametrize(
    ("alarm", "refused", "state"),
    [
        (("silence-Orders", "OK"), set(), "quiet"),
        (("silence-Orders", "OK"), {"GetMetricData"}, "unknown"),
        (("silence-Orders", "INSUFFICIENT_DATA"), set(), "unknown"),
        (("silence-Users", "OK"), set(), "unknown"),
        (("lag-Orders", "OK"), set(), "unknown"),
    ],
)
def test_a_source_without_changes_is_quiet_if_an_alarm_shows_that_its_stream_is_read(
    alarm: tuple[str, str], refused: set[str], state: str
) -> None:
    name, value = alarm
    alarms = [{"AlarmName": f"{SERVICE}-{name}", "StateValue": value}]
    (orders,) = read(FakeAws({}, alarms, refused=refused)).status().as_dict()["sources"]
    assert orders["state"] == state
    assert orders["records"]["value"] is None


def test_a_refused_call_is_the_reason() -> None:
    status = read(FakeAws(HEALTHY, refused={"GetMetricData", "DescribeAlarms"})).status().as_dict()
    (orders,) = status["sources"]
    assert orders["lag"]["value"] is None
    assert "AccessDenied" in orders["lag"]["reason"]
    assert status["alarms"]["known"] is False
    assert "AccessDenied" in status["alarms"]["reason"]


def test_an_alarm_that_rings_is_a_problem() -> None:
    alarm = {
        "AlarmName": f"{SERVICE}-lag-Orders",
        "StateValue": "ALARM",
        "StateUpdatedTimestamp": AT,
        "AlarmDescription": "read the runbook",
    }
    status = read(FakeAws(HEALTHY, [alarm])).status().as_dict()
    assert status["state"] == "problem"
    assert status["alarms"]["ringing"][0]["name"] == "lag-Orders"
    assert status["problems"] == ["alarm lag-Orders rings"]


def test_a_status_is_kept_for_half_a_minute() -> None:
    now, aws = [NOW], FakeAws(HEALTHY)
    reader = read(aws, now)
    reader.status()
    calls = len(aws.calls)
    now[0] += REMEMBERED - 1
    reader.status()
    assert len(aws.calls) == calls
    now[0] += 1
    reader.status()
    assert len(aws.calls) == 2 * calls


def source(**changes: Any) -> SourceStatus:
    unknown = Measure.unknown("a test")
    values: dict[str, Any] = {
        "name": "Orders",
        "table": "orders",
        "lag": Measure(1.0, SECONDS),
        "records": Measure(1),
        "writes": Measure(1),
        "dead_letters": Measure(0),
        "drift": unknown,
        "checked": unknown,
    }
    return SourceStatus(**{**values, **changes})


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({}, "healthy"),
        ({"records": Measure(0)}, "quiet"),
        ({"dead_letters": Measure(1)}, "attention"),
        ({"verification_complete": False}, "attention"),
        ({"drift": Measure(2)}, "problem"),
        ({"lag": Measure(901.0, SECONDS)}, "problem"),
        (
            dict.fromkeys(("lag", "records", "dead_letters"), Measure.unknown("a test")),
            "unknown",
        ),
    ],
)
def test_the_state_of_a_source(changes: dict[str, Any], state: str) -> None:
    assert source(**changes).state == state
    facts = StatusFacts(
        at=NOW,
        local_model="a",
        deployed_model="b",
        sources=[source(**changes)],
        alarms=AlarmSummary(),
    ).as_dict()
    assert facts["state"] == {"quiet": "healthy"}.get(state, state)
    assert facts["model"]["same"] is False


def test_alarms_keep_the_time_since_they_ring() -> None:
    summary = AlarmSummary([RingingAlarm("lag", None, "x")]).as_dict()
    assert summary["ringing"] == [{"name": "lag", "since": None, "description": "x"}]


def test_the_sync_of_this_process_is_counted_by_source() -> None:
    counts = SyncCounts(lambda: NOW)
    assert counts.lag("Orders").value is None
    counts.add(BatchCounts("Orders", records=3, rows_put=2, rows_deleted=1, lag_seconds=0.5))
    counts.add(BatchCounts("Orders", records=1))
    assert (counts.records("Orders").value, counts.writes("Orders").value) == (4, 3)
    assert counts.lag("Orders").value == 0.5
    assert counts.records("Users").value == 0


def test_the_last_verification_of_a_source_counts() -> None:
    completions = {
        "verify/Orders": {"at": 10.0, "counts": {"Orders/left": 1, "Orders/items": 5}},
        "verify/Users": {"at": 10.0, "counts": {}, "scope": {"sample": 0.01}},
        "daily-verify/*": {"at": 20.0, "counts": {"Orders/items": 7, "Users/left": 4}},
    }
    assert all(map(is_verification, completions))
    assert not is_verification("backfill/Orders")
    assert not is_verification("verify-totals/*"), "it compares no rows with items"
    verification = verification_of("Orders", completions)
    assert (
        verification["verified_at"],
        verification["checked"].value,
        verification["drift"].value,
    ) == (20.0, 7, 0)
    assert not verification["verification_complete"]
    rows = {"at": 21.0, "counts": {"Orders/left": 2, "Orders/rows": 9}}
    verification = verification_of("Orders", completions | {"daily-verify-rows/*": rows})
    assert (verification["drift"].value, verification["verification_complete"]) == (2, True)
    verification = verification_of(
        "Orders", completions | {"daily-verify-rows/*": rows | {"at": 19.0}}
    )
    assert not verification["verification_complete"], "of an earlier verification"
    assert verification["verification_share"] is None
    only = {"verify/Users": completions["verify/Users"]}
    assert verification_of("Users", only)["verification_share"] == 0.01
    assert verification_of("Users", {})["verification_reason"] == NO_VERIFICATION
