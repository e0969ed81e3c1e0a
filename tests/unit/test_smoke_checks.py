"""Each check passes on a sound deployment, and fails when that one thing is broken."""

import json
from collections.abc import Callable, Mapping
from json import dumps
from typing import Any

import pytest

from adminview.cli.smoke.catalogue import ALL
from adminview.cli.smoke.check import SmokeStatus
from adminview.cli.smoke.run import SmokeOptions, SmokeRun
from adminview.cli.smoke.wire import WireResponse
from adminview.model.delivery import IN_DOUBT_SECONDS
from tests.support.deployment import API, RECOVERY, SYNC, TOPIC, WATCH, Deployment, sound
from tests.support.deployment import TOTALS as TOTALS_STACK
from tests.support.deployment import with_totals as totals_deployment
from tests.support.fakes import refusal
from tests.support.smoke import MARK, NOW, FakeWire, Waiting, log, seen, smoke_run

PASSED, FAILED, UNKNOWN = SmokeStatus.PASSED, SmokeStatus.FAILED, SmokeStatus.UNKNOWN
OK: dict[str, Any] = {}
REPORT = (
    "REPORT RequestId: 1\tDuration: 12.40 ms\tBilled Duration: 13 ms\tMemory Size: 512 MB\t"
    "Max Memory Used: 80 MB\tInit Duration: 310.00 ms\t\n"
)
SHARD = "shardId-00000001"


# 3: the client


def logged(here: Deployment, lines: list[Any]) -> dict[str, Any]:
    for function in here.functions.values():
        function["LoggingConfig"] = {"LogGroup": "group"}
        function["LastModified"] = "2026-01-01T00:00:00.000+0000"
    return {"filter_log_events": {"events": lines}}


def test_the_direct_client_is_seen_with_its_figures() -> None:
    here = sound()
    found = seen(3, smoke_run(here, logged(here, [{"message": REPORT}])))
    assert found.status is PASSED
    assert "SyncFunction uses the direct client: 1 invocations" in found.seen
    assert "cold start 310 ms (at most 310), duration 12 ms (at most 12), memory 80 MB" in found.seen


def test_a_report_in_json_has_the_same_figures() -> None:
    here = sound()
    metrics = {"durationMs": 5.0, "initDurationMs": 99.0, "maxMemoryUsedMB": 61}
    line = log(type="platform.report", record={"metrics": metrics})
    found = seen(3, smoke_run(here, logged(here, [line])))
    assert "cold start 99 ms (at most 99), duration 5 ms" in found.seen


def test_a_fallback_that_no_setting_requires_fails() -> None:
    here = sound()
    message = "boto3 is used instead of the direct client"
    lines = [{"message": REPORT}, log(message=message, reason="AWS_NEW_THING is set")]
    found = seen(3, smoke_run(here, logged(here, lines)))
    assert (found.status, "boto3 (AWS_NEW_THING is set)" in found.seen) == (FAILED, True)


def test_without_reports_the_client_is_unknown() -> None:
    here = sound()
    assert seen(3, smoke_run(here, logged(here, []))).status is UNKNOWN


# 4: connections; 13: signatures


class Calls:
    """A client that opens a connection for each of its first calls."""

    def __init__(self, connections: int) -> None:
        self.connections, self.opened = connections, 0

    def call(self, operation: str, body: bytes) -> dict[str, Any]:
        assert (operation, json.loads(body)["TableName"]) == ("GetItem", "AdminViewTable")
        self.opened = min(self.opened + 1, self.connections)
        return {}


@pytest.mark.parametrize(("connections", "status"), [(1, PASSED), (2, FAILED), (20, FAILED)])
def test_one_connection_serves_all_calls(connections: int, status: SmokeStatus) -> None:
    found = seen(4, smoke_run(sound(), {}, FakeWire(client=Calls(connections))))
    assert (found.status, f"{connections} connections" in found.seen) == (status, True)


def test_without_tls_the_reuse_is_unknown() -> None:
    found = seen(4, smoke_run(sound(), {}, FakeWire(client=Calls(1), has_tls=False)))
    assert found.status is UNKNOWN


@pytest.mark.parametrize(
    ("limit", "status"), [(300.0, PASSED), (IN_DOUBT_SECONDS + 1, FAILED), (60.0, UNKNOWN)]
)
def test_a_request_that_was_signed_too_long_ago_must_be_refused(
    limit: float, status: SmokeStatus
) -> None:
    """*limit* is for how many seconds DynamoDB accepts a signature."""
    over = FakeWire(post_status=lambda signed: 200 if NOW - signed <= limit else 400)
    assert seen(13, smoke_run(sound(), {}, over)).status is status


# 5: a megabyte; 6: paths


class Rows:
    """The view's rows, read by the API and by the direct client."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str], Any] = {}
        self.most_bytes = 10**9  # of a response of the API
        self.direct_bytes = 10**9
        self.decode: Callable[[str], str] = _unquoted

    @property
    def answers(self) -> dict[str, Any]:
        return {"put_item": self.put_item, "delete_item": self.delete_item}

    def put_item(self, Item: Any, **_: Any) -> Any:  # noqa: N803 - boto3's, as below
        self.rows[Item["PK"]["S"], Item["SK"]["S"]] = Item
        return {}

    def delete_item(self, Key: Any, **_: Any) -> Any:  # noqa: N803
        del self.rows[Key["PK"]["S"], Key["SK"]["S"]]
        return {}

    def call(self, _: str, body: bytes) -> dict[str, Any]:
        request = json.loads(body)["RequestItems"]["AdminViewTable"]["Keys"]
        found = [self.rows[key["PK"]["S"], key["SK"]["S"]] for key in request]
        while len(dumps(found)) > self.direct_bytes:
            found.pop()
        return {"Responses": {"AdminViewTable": found}}

    def get(self, url: str) -> WireResponse:
        path, _, query = url.removeprefix("https://api.example").partition("?")
        if path.startswith("/patterns/"):
            rows = [{"data": row["data"]} for row in self.rows.values()]
            while len(dumps(rows)) > self.most_bytes:
                rows.pop()
            return WireResponse(200, dumps({"rows": rows}).encode())
        if query:
            key = tuple(_unquoted(pair.partition("=")[2]) for pair in query.split("&"))
            return self._row(key)
        pieces = self.decode(path.removeprefix("/rows/")).split("/")
        for place in range(1, len(pieces)):
            key = "/".join(pieces[:place]), "/".join(pieces[place:])
            if key in self.rows:
                return self._row(key)
        return WireResponse(404, b"{}")

    def _row(self, key: Any) -> WireResponse:
        if key not in self.rows:
            return WireResponse(404, b"{}")
        return WireResponse(200, dumps({"key": dict(zip(("PK", "SK"), key, strict=True))}).encode())

    def run(self) -> SmokeRun:
        """Return a run against these rows."""
        here = sound()
        here.output(API, "ApiUrl", "https://api.example")
        return smoke_run(here, self.answers, FakeWire(self.get, client=self))


def _unquoted(text: str) -> str:
    from urllib.parse import unquote_plus  # noqa: PLC0415 - only here

    return unquote_plus(text)


def test_a_megabyte_arrives_and_its_rows_are_deleted() -> None:
    rows = Rows()
    assert seen(5, rows.run()).status is PASSED
    assert rows.rows == {}


@pytest.mark.parametrize("broken", ["most_bytes", "direct_bytes"])
def test_a_response_that_is_cut_fails(broken: str) -> None:
    rows = Rows()
    setattr(rows, broken, 900_000)
    assert seen(5, rows.run()).status is FAILED
    assert rows.rows == {}


def test_keys_in_paths_arrive_decoded_once() -> None:
    rows = Rows()
    found = seen(6, rows.run())
    assert (found.status, found.seen.count("by path found, by query found")) == (PASSED, 3)
    assert rows.rows == {}


@pytest.mark.parametrize(
    "decode",
    [
        lambda path: path,  # not at all
        lambda path: path.replace("%23", "#"),  # not the slash
        lambda path: _unquoted(_unquoted(path)),  # twice
    ],
)
def test_a_gateway_that_decodes_paths_otherwise_fails(decode: Callable[[str], str]) -> None:
    rows = Rows()
    rows.decode = decode
    found = seen(6, rows.run())
    assert (found.status, "by path not found" in found.seen) == (FAILED, True)
    assert rows.rows == {}


def test_an_api_that_refuses_the_credentials_is_unknown() -> None:
    here = sound()
    here.output(API, "ApiUrl", "https://api.example")
    rows = Rows()
    over = FakeWire(lambda _: WireResponse(403, b"{}"), client=rows)
    assert [seen(one, smoke_run(here, rows.answers, over)).status for one in (5, 6)] == [UNKNOWN] * 2


# 7, 8: metrics


class Metrics:
    """CloudWatch, without the metrics that *absent* names."""

    def __init__(self, *absent: str) -> None:
        self.absent, self.silent = absent, [0.0, 1.0]

    def get_metric_data(self, MetricDataQueries: Any, **_: Any) -> Any:  # noqa: N803 - boto3's
        return {"MetricDataResults": [*map(self._result, MetricDataQueries)]}

    def _result(self, query: Any) -> Any:
        if "Expression" in query:
            return {"Id": query["Id"], "Values": self.silent if query["Id"] == "silent" else []}
        name = query["MetricStat"]["Metric"]["MetricName"]
        return {"Id": query["Id"], "Values": [] if name in self.absent else [3.0]}

    def run(self, *used: str) -> SmokeRun:
        """Return a run on a deployment whose alarms use metrics."""
        here = sound()
        for table in here.tables.values():
            table["LatestStreamLabel"] = "label"
        here.output(SYNC, "SyncFunctionName", "sync")
        alarm = here.stacks[WATCH]["template"]["Resources"]["Age"]["Properties"]
        alarm["Metrics"] = [{"MetricName": name} for name in used]
        answers = {"get_metric_data": self.get_metric_data, "put_item": OK, "delete_item": OK}
        return smoke_run(here, answers)


def test_the_metrics_of_the_alarms_exist_after_five_minutes() -> None:
    run = Metrics("DroppedEventCount").run("ReturnedRecordsCount")
    found = seen(7, run)
    assert (found.status, run.clock() >= 300) == (PASSED, True)
    assert "with data: ConsumedWriteCapacityUnits, ReturnedRecordsCount" in found.seen


@pytest.mark.parametrize("absent", ["ReturnedRecordsCount", "PolledEventCount", "Records"])
def test_a_metric_that_an_alarm_uses_and_cloudwatch_has_not_fails(absent: str) -> None:
    found = seen(7, Metrics(absent).run(absent))
    assert (found.status, f"without: {absent}" in found.seen) == (FAILED, True)


def test_a_metric_that_no_alarm_uses_is_named() -> None:
    found = seen(7, Metrics("PolledEventCount").run("ReturnedRecordsCount"))
    assert (found.status, "without: PolledEventCount" in found.seen) == (PASSED, True)


def test_fill_of_a_metric_without_data_is_evaluated() -> None:
    assert seen(8, Metrics().run()).status is PASSED


@pytest.mark.parametrize("silent", [[], [0.0, 0.0]])
def test_an_expression_that_does_not_fill_fails(silent: list[float]) -> None:
    metrics = Metrics()
    metrics.silent = silent
    assert seen(8, metrics.run()).status is FAILED


def test_without_the_write_in_cloudwatch_fill_is_unknown() -> None:
    assert seen(8, Metrics("ConsumedWriteCapacityUnits").run()).status is UNKNOWN


# 10: the state machine


class Machine:
    """Executions of a state machine; a redriven one ends as *after* says."""

    def __init__(self, after: str = "SUCCEEDED", ends: str = "RUNNING") -> None:
        self.after, self.ends, self.status, self.redriven = after, ends, "", 0
        self.others: list[Any] = []

    @property
    def answers(self) -> dict[str, Any]:
        return {
            "list_executions": lambda **_: {"executions": self.others},
            "start_execution": self.start,
            "list_map_runs": {"mapRuns": [{}]},
            "stop_execution": self.stop,
            "describe_execution": lambda **_: {"status": self.status, "redriveCount": self.redriven},
            "redrive_execution": self.redrive,
        }

    def start(self, input: str, **_: Any) -> Any:  # noqa: A002 - boto3's
        assert json.loads(input)["task"] == "backfill"
        self.status = self.ends
        return {"executionArn": "arn"}

    def stop(self, **_: Any) -> Any:
        if self.status == "RUNNING":
            self.status = "ABORTED"
        return {}

    def redrive(self, **_: Any) -> Any:
        self.redriven, self.status = self.redriven + 1, self.after
        return {}

    def run(self) -> SmokeRun:
        here = sound()
        here.output(RECOVERY, "BackfillMachineArn", "machine")
        return smoke_run(here, self.answers)


def test_a_run_that_was_stopped_is_redriven() -> None:
    machine = Machine()
    found = seen(10, machine.run())
    assert (found.status, found.seen) == (
        PASSED,
        "stopped in its map; redriven 1 times, then SUCCEEDED",
    )


@pytest.mark.parametrize("after", ["FAILED", "ABORTED"])
def test_a_redrive_that_does_not_succeed_fails(after: str) -> None:
    assert seen(10, Machine(after).run()).status is FAILED


def test_a_redriven_run_that_does_not_end_fails_and_is_stopped() -> None:
    machine = Machine("RUNNING")
    assert seen(10, machine.run()).status is FAILED
    assert machine.status == "ABORTED"


def test_a_run_that_ends_too_soon_and_one_of_others_are_unknown() -> None:
    busy = Machine()
    busy.others = [{}]
    for machine in (Machine(ends="SUCCEEDED"), busy):
        assert seen(10, machine.run()).status is UNKNOWN


def test_a_cloud_without_redrive_is_unknown() -> None:
    machine = Machine()
    run = smoke_run(sound(), {**machine.answers, "redrive_execution": refusal("InvalidAction")})
    assert seen(10, run).status is UNKNOWN


# 11: windows


def windows(*shards: str | None, listed: tuple[str, ...] = (SHARD,)) -> SmokeRun:
    here = totals_deployment()
    here.output(TOTALS_STACK, "TotalsFunctionName", "totals")
    lines = [log(message="totals updated", shard=shard, final=False, outside=1) for shard in shards]
    answers = logged(here, lines)
    stream = {"Shards": [{"ShardId": shard} for shard in listed]}
    answers["describe_stream"] = {"StreamDescription": stream}
    run = smoke_run(here, answers)
    run.written_at = run.now()
    return run


def test_the_shards_of_the_windows_are_those_of_the_stream() -> None:
    found = seen(11, windows(SHARD, SHARD))
    assert (found.status, "2 batches of 1 shards" in found.seen) == (PASSED, True)
    assert "2 records outside of their window" in found.seen


def test_a_shard_that_the_stream_does_not_list_fails() -> None:
    assert seen(11, windows(SHARD, "another")).status is FAILED


def test_events_without_shards_in_the_log_are_unknown() -> None:
    assert [seen(11, windows(*shards)).status for shards in ((None,), ())] == [UNKNOWN] * 2


def test_without_totals_the_windows_are_skipped() -> None:
    assert seen(11, smoke_run(sound(), {})).status is SmokeStatus.SKIPPED


# 12: alarms


def alarm(
    summary: str = f"Successfully executed action {TOPIC}",
    reply: bool | None = True,
    subscribed: str = "1",
) -> tuple[SmokeRun, list[str]]:
    """Return a run, and the states that the alarm gets in it."""
    here, states = sound(), []
    here.output(WATCH, "AlarmTopicArn", TOPIC)
    here.topics[TOPIC]["SubscriptionsConfirmed"] = subscribed
    items = [{"HistorySummary": summary}] if summary else []
    answers: Mapping[str, Any] = {
        "describe_alarms": {"MetricAlarms": [here.alarms["age"]]},
        "describe_alarm_history": {"AlarmHistoryItems": items},
        "set_alarm_state": lambda StateValue, **_: states.append(StateValue),  # noqa: N803
    }
    confirm = None if reply is None else lambda _: reply
    return smoke_run(here, answers, options=SmokeOptions(confirm=confirm)), states


def test_an_alarm_rings_arrives_and_is_set_back() -> None:
    run, states = alarm()
    assert seen(12, run).status is PASSED
    assert states == ["ALARM", "OK"]


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"summary": f"Failed to execute action {TOPIC}"}, FAILED),
        ({"summary": ""}, FAILED),
        ({"reply": False}, FAILED),
        ({"reply": None}, UNKNOWN),
        ({"subscribed": "0"}, UNKNOWN),
    ],
)
def test_an_alarm_that_reaches_nobody_does_not_pass(changes: Any, status: SmokeStatus) -> None:
    run, states = alarm(**changes)
    assert seen(12, run).status is status
    assert states == ["ALARM", "OK"]


# 14: units; 15: the owner index


def units(index: float) -> dict[str, Any]:
    consumed = {"Table": {"CapacityUnits": 2.0}, "GlobalSecondaryIndexes": {}}
    consumed["GlobalSecondaryIndexes"] = {"Owner": {"CapacityUnits": index}}
    return {"transact_write_items": {"ConsumedCapacity": [consumed]}, "delete_item": OK}


@pytest.mark.parametrize(("index", "status"), [(2.0, PASSED), (1.0, FAILED), (4.0, FAILED)])
def test_a_transaction_consumes_the_expected_units(index: float, status: SmokeStatus) -> None:
    found = seen(14, smoke_run(sound(), units(index)))
    assert (found.status, f"its owner index {index:g}" in found.seen) == (status, True)


@pytest.mark.parametrize(("after", "status"), [(0.0, PASSED), (20.0, PASSED), (70.0, FAILED)])
def test_the_owner_index_lists_a_row_within_a_minute(after: float, status: SmokeStatus) -> None:
    waiting = Waiting()

    def query(**_: Any) -> Any:
        return {"Items": [{}] if waiting.time >= after else []}

    run = smoke_run(
        sound(), {"put_item": OK, "delete_item": OK, "query": query}, stop=waiting
    )
    assert seen(15, run).status is status


# All of them


@pytest.mark.parametrize("number", [n for n, check in ALL.items() if check.only_on_aws])
def test_what_a_local_cloud_cannot_show_never_passes(number: int) -> None:
    run = PASSING[number]()
    run.deployment.environ["AWS_ENDPOINT_URL_DYNAMODB"] = "http://127.0.0.1:4566"  # type: ignore[index]
    found = seen(number, run)
    assert (found.status, "a local cloud does not show" in found.seen) == (UNKNOWN, True)


def _logged_run() -> SmokeRun:
    here = sound()
    return smoke_run(here, logged(here, [{"message": REPORT}]))


def _listed_run() -> SmokeRun:
    return smoke_run(sound(), {"put_item": OK, "delete_item": OK, "query": {"Items": [{}]}})


PASSING: dict[int, Callable[[], SmokeRun]] = {
    3: _logged_run,
    4: lambda: smoke_run(sound(), {}, FakeWire(client=Calls(1))),
    5: lambda: Rows().run(),
    6: lambda: Rows().run(),
    7: lambda: Metrics().run("ReturnedRecordsCount"),
    8: lambda: Metrics().run(),
    10: lambda: Machine().run(),
    11: lambda: windows(SHARD),
    12: lambda: alarm()[0],
    13: lambda: smoke_run(
        sound(), {}, FakeWire(post_status=lambda at: 200 if NOW - at < 300 else 400)
    ),
    14: lambda: smoke_run(sound(), units(2.0)),
    15: _listed_run,
}


def test_scratch_rows_have_the_mark_of_their_run() -> None:
    rows = Rows()
    seen(6, rows.run())
    run = rows.run()
    rows.delete_item = lambda **_: {}  # type: ignore[method-assign,assignment]
    seen(6, run)
    assert all(MARK in "".join(key) for key in rows.rows)
