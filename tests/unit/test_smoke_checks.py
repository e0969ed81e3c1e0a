"""Each check passes on a sound deployment, and fails when that one thing is broken."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from adminview.cli.smoke.catalogue import ALL
from adminview.cli.smoke.check import SmokeStatus
from adminview.cli.smoke.run import SmokeOptions, SmokeRun
from adminview.model.delivery import IN_DOUBT_SECONDS
from tests.support.deployment import TOPIC, WATCH, Deployment, sound
from tests.support.deployment import TOTALS as TOTALS_STACK
from tests.support.deployment import with_totals as totals_deployment
from tests.support.fakes import refusal
from tests.support.smoke import NOW, FakeWire, Waiting, log, seen, smoke_run
from tests.support.smoke_services import OK, Calls, Machine, Metrics, Rows

PASSED, FAILED, UNKNOWN = SmokeStatus.PASSED, SmokeStatus.FAILED, SmokeStatus.UNKNOWN
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
    result = seen(3, smoke_run(here, logged(here, [{"message": REPORT}])))
    assert result.status is PASSED
    assert "SyncFunction uses the direct client: 1 invocations" in result.seen
    assert (
        "cold start 310 ms (at most 310), duration 12 ms (at most 12), memory 80 MB" in result.seen
    )


def test_a_report_in_json_has_the_same_figures() -> None:
    here = sound()
    metrics = {"durationMs": 5.0, "initDurationMs": 99.0, "maxMemoryUsedMB": 61}
    line = log(type="platform.report", record={"metrics": metrics})
    result = seen(3, smoke_run(here, logged(here, [line])))
    assert "cold start 99 ms (at most 99), duration 5 ms" in result.seen


def test_a_fallback_that_no_setting_requires_fails() -> None:
    here = sound()
    message = "boto3 is used instead of the direct client"
    lines = [{"message": REPORT}, log(message=message, reason="AWS_NEW_THING is set")]
    result = seen(3, smoke_run(here, logged(here, lines)))
    assert (result.status, "boto3 (AWS_NEW_THING is set)" in result.seen) == (FAILED, True)


def test_a_fallback_that_a_setting_requires_is_stated_with_the_setting() -> None:
    here = sound()
    for function in here.functions.values():
        function.setdefault("Environment", {}).setdefault("Variables", {})["ADMINVIEW_TRACING"] = (
            "true"
        )
    result = seen(3, smoke_run(here, logged(here, [{"message": REPORT}])))
    assert (result.status, "uses boto3 (ADMINVIEW_TRACING is set)" in result.seen) == (PASSED, True)


def test_functions_without_a_report_are_named() -> None:
    here = sound()
    first, *others = here.functions.values()
    answers = logged(here, [])
    for function in others:
        function["LoggingConfig"] = {"LogGroup": "empty"}

    def events(logGroupName: str, **_: Any) -> Any:  # noqa: N803 - boto3's
        return {"events": [{"message": REPORT}] if logGroupName == "group" else []}

    result = seen(3, smoke_run(here, answers | {"filter_log_events": events}))
    assert result.status is PASSED
    assert "no report of " in result.seen
    assert first["LoggingConfig"]["LogGroup"] == "group"


def test_without_reports_the_client_is_unknown() -> None:
    here = sound()
    assert seen(3, smoke_run(here, logged(here, []))).status is UNKNOWN


# 4: connections; 13: signatures


@pytest.mark.parametrize(("connections", "status"), [(1, PASSED), (2, FAILED), (20, FAILED)])
def test_one_connection_serves_all_calls(connections: int, status: SmokeStatus) -> None:
    result = seen(4, smoke_run(sound(), {}, FakeWire(client=Calls(connections))))
    assert (result.status, f"{connections} connections" in result.seen) == (status, True)


def test_without_tls_the_reuse_is_unknown() -> None:
    result = seen(4, smoke_run(sound(), {}, FakeWire(client=Calls(1), has_tls=False)))
    assert result.status is UNKNOWN


@pytest.mark.parametrize(
    ("limit", "status"), [(300.0, PASSED), (IN_DOUBT_SECONDS + 1, FAILED), (60.0, UNKNOWN)]
)
def test_a_request_that_was_signed_too_long_ago_must_be_refused(
    limit: float, status: SmokeStatus
) -> None:
    """*limit* is for how many seconds DynamoDB accepts a signature."""
    over = FakeWire(post_status=lambda signed: 200 if NOW - signed <= limit else 400)
    assert seen(13, smoke_run(sound(), {}, over)).status is status


# 10: the state machine


def test_a_run_that_was_stopped_is_redriven() -> None:
    machine = Machine()
    result = seen(10, machine.run())
    assert (result.status, result.seen) == (
        PASSED,
        "stopped in its map; redriven 1 times, then SUCCEEDED",
    )
    assert (machine.started, machine.status) == (1, "SUCCEEDED"), "nothing is left to complete"


def test_a_redrive_that_cannot_be_seen_at_once_is_awaited() -> None:
    """DescribeExecution is eventually consistent."""
    machine = Machine()
    older: list[Any] = [{"status": "ABORTED", "redriveCount": 0}] * 3

    def describe(**_: Any) -> Any:
        if machine.redriven and older:
            return older.pop()
        return {"status": machine.status, "redriveCount": machine.redriven}

    assert seen(10, machine.run(describe_execution=describe)).status is PASSED


@pytest.mark.parametrize("after", ["FAILED", "ABORTED"])
def test_a_redrive_that_does_not_succeed_fails(after: str) -> None:
    assert seen(10, Machine(after).run()).status is FAILED


def test_a_redriven_run_that_does_not_end_fails_and_is_stopped() -> None:
    machine = Machine("RUNNING")
    stopped: list[str] = []

    def stop(**_: Any) -> Any:
        machine.stop()
        stopped.append(machine.status)
        return {}

    assert seen(10, machine.run(stop_execution=stop)).status is FAILED
    assert stopped == ["ABORTED", "ABORTED"], "by the check, then by the cleanup"


@pytest.mark.parametrize("after", ["FAILED", "RUNNING"])
def test_a_run_that_was_not_completed_is_started_again_and_left_to_its_end(after: str) -> None:
    """Else the next backfill would continue it, and skip what this one has read."""
    machine = Machine(after)
    seen(10, machine.run())
    assert (machine.started, machine.status) == (2, "RUNNING")


def test_an_interrupted_run_is_started_again_too() -> None:
    machine = Machine()

    def begin(**arguments: Any) -> Any:
        run.stop.event.set()
        return machine.start(**arguments)

    run = machine.run(start_execution=begin, list_map_runs={"mapRuns": []})
    assert seen(10, run).status is UNKNOWN
    assert (machine.started, machine.status) == (2, "RUNNING")


def test_a_run_that_ends_too_soon_and_one_of_others_are_unknown() -> None:
    busy = Machine()
    busy.others = [{}]
    for machine in (Machine(ends="SUCCEEDED"), busy):
        assert seen(10, machine.run()).status is UNKNOWN


def test_a_run_that_cannot_be_stopped_is_unknown_and_one_that_has_ended_need_not_be() -> None:
    for ends, words in (("RUNNING", "AccessDenied"), ("SUCCEEDED", "ended before it could be")):
        machine = Machine(ends=ends)
        run = machine.run(stop_execution=refusal("AccessDeniedException"))
        result = seen(10, run)
        assert (result.status is PASSED, words in result.seen) == (False, True), result


def test_a_cloud_without_redrive_is_unknown() -> None:
    run = Machine().run(redrive_execution=refusal("InvalidAction"))
    assert seen(10, run).status is UNKNOWN


# 11: windows


def windows(
    *shards: str | None, listed: tuple[str, ...] = (SHARD,), disorder: float = 1.0
) -> SmokeRun:
    here = totals_deployment()
    here.output(TOTALS_STACK, "TotalsFunctionName", "totals")
    facts = {"final": False, "outside": 1, "disorder_seconds": disorder}
    lines = [log(message="totals updated", shard=shard, **facts) for shard in shards]
    answers = logged(here, lines)
    stream = {"Shards": [{"ShardId": shard} for shard in listed]}
    answers["describe_stream"] = {"StreamDescription": stream}
    run = smoke_run(here, answers)
    run.written_at = run.now()
    return run


def test_the_shards_of_the_windows_are_those_of_the_stream() -> None:
    result = seen(11, windows(SHARD, SHARD))
    assert (result.status, "2 batches of 1 shards" in result.seen) == (PASSED, True)
    assert "2 records outside of their window" in result.seen


def test_a_shard_that_the_stream_does_not_list_fails() -> None:
    assert seen(11, windows(SHARD, "another")).status is FAILED


def test_record_times_that_are_far_out_of_order_fail() -> None:
    assert "out of order by up to 1 s" in seen(11, windows(SHARD)).seen
    assert seen(11, windows(SHARD, disorder=899)).status is PASSED
    assert seen(11, windows(SHARD, disorder=900)).status is FAILED


def test_events_without_shards_in_the_log_are_unknown() -> None:
    assert [seen(11, windows(*shards)).status for shards in ((None,), ())] == [UNKNOWN] * 2


def test_without_totals_the_windows_are_skipped() -> None:
    assert seen(11, smoke_run(sound(), {})).status is SmokeStatus.SKIPPED


# 12: alarms


def alarm(
    *,
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
    consumed = {
        "Table": {"CapacityUnits": 2.0},
        "GlobalSecondaryIndexes": {"Owner": {"CapacityUnits": index}},
    }
    return {"transact_write_items": {"ConsumedCapacity": [consumed]}, "delete_item": OK}


@pytest.mark.parametrize(("index", "status"), [(2.0, PASSED), (1.0, FAILED), (4.0, FAILED)])
def test_a_transaction_consumes_the_expected_units(index: float, status: SmokeStatus) -> None:
    result = seen(14, smoke_run(sound(), units(index)))
    assert (result.status, f"its owner index {index:g}" in result.seen) == (status, True)


def test_units_that_are_not_stated_are_unknown() -> None:
    run = smoke_run(sound(), {"transact_write_items": {}, "delete_item": OK})
    assert seen(14, run).status is UNKNOWN


@pytest.mark.parametrize(("after", "status"), [(0.0, PASSED), (20.0, PASSED), (70.0, FAILED)])
def test_the_owner_index_lists_a_row_within_a_minute(after: float, status: SmokeStatus) -> None:
    waiting = Waiting()

    def query(**_: Any) -> Any:
        return {"Items": [{}] if waiting.time >= after else []}

    run = smoke_run(sound(), {"put_item": OK, "delete_item": OK, "query": query}, stop=waiting)
    assert seen(15, run).status is status


# All of them


@pytest.mark.parametrize("number", [n for n, check in ALL.items() if check.only_on_aws])
def test_what_a_local_cloud_cannot_show_never_passes(number: int) -> None:
    run = PASSING[number]()
    run.deployment.environ["AWS_ENDPOINT_URL_DYNAMODB"] = "http://127.0.0.1:4566"  # type: ignore[index]
    result = seen(number, run)
    assert (result.status, "a local cloud does not show" in result.seen) == (UNKNOWN, True)


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
