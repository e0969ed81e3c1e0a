"""The totals function: its events, its responses and its reports."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from adminview.aws.call_errors import CallErrors
from adminview.aws.observability import TotalsObserver
from adminview.aws.settings import TotalsSettings
from adminview.aws.totals_table import Boto3Updater, TotalsTable
from adminview.handlers import totals
from adminview.handlers.totals import RESERVE, TotalsRuntime, add_up
from adminview.model.errors import ServiceError, SettingsError, UnreadableRecordError
from adminview.totals.position import position_name
from adminview.totals.update import TRIAL
from tests.support.fakes import NO_WAIT, Context, refusal
from tests.support.totals_items import TotalsItems
from tests.support.totals_records import AT, added, event, record, removed, row

NORTH, SOUTH = ("Sales.1#north", "2025"), ("Sales.1#south", "2025")
DONE: dict[str, Any] = {"state": {}, "batchItemFailures": []}


class Table(TotalsItems):
    """A totals table that throttles or refuses some groups."""

    def __init__(self) -> None:
        super().__init__()
        self.failing: dict[str, str] = {}  # partition key -> error code

    def update_item(self, **request: Any) -> dict[str, Any]:
        if code := self.failing.get(request["Key"]["PK"]["S"]):
            raise refusal(code, "UpdateItem")
        return super().update_item(**request)


class Heard:
    """An observer that remembers."""

    def __init__(self) -> None:
        self.invocations: list[str] = []
        self.counts: list[Mapping[str, Any]] = []
        self.errors: list[str] = []

    def invoked(self, request_id: str) -> None:
        self.invocations.append(request_id)

    def counted(self, counts: Mapping[str, Any], errors: CallErrors, /) -> None:
        self.counts.append(counts)
        self.errors += errors


class Function:
    """The totals function on a table in memory."""

    def __init__(self) -> None:
        self.table = Table()
        self.heard = Heard()
        client: Any = self.table
        table = TotalsTable(Boto3Updater(client), "AdminViewTotals", lambda: AT, NO_WAIT)
        self.runtime = TotalsRuntime(table, self.heard, now=lambda: AT + 7.5)

    def invoke(self, incoming: Mapping[str, Any], seconds: float = 60) -> Any:
        return add_up(incoming, Context(int(seconds * 1000)), self.runtime)

    @property
    def counted(self) -> dict[tuple[str, str], int]:
        items = self.table.items.items()
        return {key: int(item["count"]["N"]) for key, item in items if key != TRIAL}


@pytest.fixture
def function() -> Function:
    return Function()


def test_a_batch_is_added_and_answered_with_a_state(function: Function) -> None:
    batch = event(added(1, {NORTH: {"revenue": 5}}), added(2, {NORTH: {"revenue": 6}, SOUTH: {}}))
    assert function.invoke(batch) == DONE
    assert function.counted == {NORTH: 2, SOUTH: 1}
    assert function.heard.invocations == ["request-1"]
    assert function.heard.counts == [
        {
            "records": 2,
            "updates": 2,
            "covered": 0,
            "malformed": 0,
            "refused": 0,
            "redelivered": 0,
            "lag_seconds": 7.5,
            "shard": "shardId-1",
            "final": False,
            "outside": 0,
            "disorder_seconds": 0.0,
        }
    ]


def test_a_final_batch_and_records_outside_of_its_window_are_reported(function: Function) -> None:
    batch = event(added(1, {NORTH: {}}), added(2, {NORTH: {}}, at=AT + 3600))
    function.invoke(batch | {"isFinalInvokeForWindow": True})
    (counts,) = function.heard.counts
    assert (counts["final"], counts["outside"]) == (True, 1)
    function.invoke({**batch, "window": "of another form"})
    assert function.heard.counts[1]["outside"] == 0


def test_it_reports_how_far_the_times_of_records_are_out_of_order(function: Function) -> None:
    times = (0, 5, -20, 30, 25)
    batch = [added(number, {}, at=AT + at) for number, at in enumerate(times, 1)]
    function.invoke(event(*batch))
    assert function.heard.counts[0]["disorder_seconds"] == 25


def test_a_batch_that_comes_again_counts_once_and_is_reported(function: Function) -> None:
    batch = event(added(1, {NORTH: {}}), removed(2, {NORTH: {}}), added(3, {NORTH: {}}))
    for _ in range(3):
        assert function.invoke(batch) == DONE
    assert function.counted == {NORTH: 1}
    assert [counts["covered"] for counts in function.heard.counts] == [0, 1, 1]
    assert [counts["updates"] for counts in function.heard.counts] == [1, 0, 0]


def test_the_position_is_that_of_the_shard_of_the_event(function: Function) -> None:
    for shard in ("shardId-1", "shardId-2"):
        function.invoke(event(added(1, {NORTH: {}}), shard=shard))
    assert function.counted == {NORTH: 2}
    names = {name for name in function.table.items[NORTH] if name[0] == "@"}
    assert names == {position_name("shardId-1"), position_name("shardId-2")}


@pytest.mark.parametrize("shard", [None, "", 5, ["shardId-1"]])
def test_records_without_a_shard_are_refused_with_the_setting_that_is_missing(
    function: Function, shard: Any
) -> None:
    batch = event(added(1, {NORTH: {}})) | {"shardId": shard}
    with pytest.raises(UnreadableRecordError, match="TumblingWindowInSeconds"):
        function.invoke(batch)
    with pytest.raises(UnreadableRecordError, match="tumbling window"):
        function.invoke({"Records": batch["Records"]})
    assert function.table.items == {}


@pytest.mark.parametrize("empty", [{}, {"Records": []}, {"Records": None}])
def test_an_event_that_is_neither_a_batch_nor_a_window_is_refused(
    function: Function, empty: dict[str, Any]
) -> None:
    with pytest.raises(UnreadableRecordError, match="TumblingWindowInSeconds"):
        function.invoke(empty)


@pytest.mark.parametrize("records", [{"Records": []}, {"Records": None}, {}])
@pytest.mark.parametrize("early", [True, False])
def test_the_end_of_a_window_is_answered_with_a_state_and_changes_nothing(
    function: Function, records: dict[str, Any], *, early: bool
) -> None:
    final = {name: value for name, value in event().items() if name != "Records"} | records
    final |= {"isFinalInvokeForWindow": True, "isWindowTerminatedEarly": early}
    assert function.invoke(final) == DONE
    assert function.heard.counts == []


def test_a_final_invocation_with_records_adds_them(function: Function) -> None:
    final = event(added(1, {NORTH: {}})) | {"isFinalInvokeForWindow": True}
    assert function.invoke(final) == DONE
    assert function.counted == {NORTH: 1}


def test_the_first_record_that_is_not_added_is_reported(function: Function) -> None:
    function.table.failing = {SOUTH[0]: "ThrottlingException"}
    batch = event(
        added(10, {NORTH: {}}),
        added(11, {SOUTH: {}}),
        added(12, {NORTH: {}}),
        added(13, {SOUTH: {}}),
    )
    answer = function.invoke(batch, seconds=RESERVE + 0.1)
    assert answer == {
        "state": {},
        "batchItemFailures": [{"itemIdentifier": f"{11:021d}"}],
    }
    assert function.heard.counts[0]["redelivered"] == 3
    assert function.heard.errors == ["ThrottlingException"]
    function.table.failing = {}
    again = event(*batch["Records"][1:], added(14, {NORTH: {}}))
    assert function.invoke(again) == DONE
    assert function.counted == {NORTH: 3, SOUTH: 2}


def test_a_function_without_time_leaves_all_of_its_records(function: Function) -> None:
    answer = function.invoke(event(added(10, {NORTH: {}})), seconds=RESERVE - 1)
    assert answer["batchItemFailures"] == [{"itemIdentifier": f"{10:021d}"}]
    assert function.table.items == {}


def test_records_that_move_no_total_are_done_even_without_time(function: Function) -> None:
    unmoved = record(1, row(None), row(None))
    assert function.invoke(event(unmoved), seconds=0) == DONE


def test_an_error_that_no_retry_cures_fails_the_invocation(function: Function) -> None:
    function.table.failing = {NORTH[0]: "AccessDeniedException"}
    with pytest.raises(ServiceError, match="AccessDeniedException"):
        function.invoke(event(added(1, {NORTH: {}})))


def test_what_is_skipped_is_counted(function: Function) -> None:
    function.table.failing = {SOUTH[0]: "ValidationException"}
    batch = event(added(1, {SOUTH: {}}), record(2, None, row({"S": "x"})), added(3, {NORTH: {}}))
    assert function.invoke(batch) == DONE
    counts = function.heard.counts[0]
    assert (counts["malformed"], counts["refused"], counts["redelivered"]) == (1, 1, 0)
    assert function.counted == {NORTH: 1}


def test_a_record_of_the_future_has_no_lag(function: Function) -> None:
    function.invoke(event(added(1, {NORTH: {}}, AT + 100)))
    assert function.heard.counts[0]["lag_seconds"] == 0


def test_the_log_and_the_metrics_hold_counts_and_no_data(
    function: Function, capsys: pytest.CaptureFixture[str]
) -> None:
    observer = TotalsObserver(service="test-totals")
    runtime = TotalsRuntime(function.runtime.table, observer, now=lambda: AT + 7.5)
    secret = ("Sales.1#secret-of-a-customer", "secret")
    add_up(event(added(1, {secret: {}}), record(2, None, row({"S": "secret"}))), Context(), runtime)
    out = capsys.readouterr().out
    assert "secret" not in out
    lines = [json.loads(line) for line in out.splitlines()]
    metrics = next(line for line in lines if "_aws" in line)
    assert metrics["TotalsLag"] == [7.5]
    assert metrics["TotalsUpdated"] == [1]
    assert metrics["TotalsSkipped"] == [1]
    [logged] = [line for line in lines if line.get("message") == "totals updated"]
    assert (logged["level"], logged["malformed"], logged["records"]) == ("ERROR", 1, 2)


def test_the_runtime_writes_to_the_table_of_its_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = TotalsSettings("dev-AdminViewTotals")
    for name, value in settings.to_env().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    totals.totals_runtime.cache_clear()
    runtime = totals.totals_runtime()
    totals.totals_runtime.cache_clear()
    assert runtime.table._name == "dev-AdminViewTotals"


def test_without_its_table_the_runtime_says_which_variable_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("ADMINVIEW_TOTALS_TABLE", raising=False)
    totals.totals_runtime.cache_clear()
    with pytest.raises(SettingsError, match="not set: ADMINVIEW_TOTALS_TABLE"):
        totals.totals_runtime()
