"""Checks 5 to 8 of `adminview smoke`: the API, and the metrics."""

from collections.abc import Callable
from urllib.parse import unquote_plus

import pytest

from adminview.cli.smoke.check import SmokeStatus
from adminview.cli.smoke.wire import WireResponse
from tests.support.deployment import API, sound
from tests.support.smoke import MARK, FakeWire, seen, smoke_run
from tests.support.smoke_services import Metrics, Rows

PASSED, FAILED, UNKNOWN = SmokeStatus.PASSED, SmokeStatus.FAILED, SmokeStatus.UNKNOWN


# 5: a megabyte; 6: paths


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
    result = seen(6, rows.run())
    assert (result.status, result.seen.count("by path found, by query found")) == (PASSED, 3)
    assert rows.rows == {}


@pytest.mark.parametrize(
    "decode",
    [
        lambda path: path,  # not at all
        lambda path: path.replace("%23", "#"),  # not the slash
        lambda path: unquote_plus(unquote_plus(path)),  # twice
    ],
)
def test_a_gateway_that_decodes_paths_otherwise_fails(decode: Callable[[str], str]) -> None:
    rows = Rows()
    rows.decode = decode
    result = seen(6, rows.run())
    assert (result.status, "by path not found" in result.seen) == (FAILED, True)
    assert rows.rows == {}


def test_an_api_that_refuses_the_credentials_is_unknown() -> None:
    here = sound()
    here.output(API, "ApiUrl", "https://api.example")
    rows = Rows()
    over = FakeWire(lambda _: WireResponse(403, b"{}"), client=rows)
    assert [seen(number, smoke_run(here, rows.answers, over)).status for number in (5, 6)] == [
        UNKNOWN
    ] * 2


# 7, 8: metrics


def test_the_metrics_of_the_alarms_exist_after_five_minutes() -> None:
    run = Metrics("DroppedEventCount").run("ReturnedRecordsCount")
    result = seen(7, run)
    assert (result.status, run.clock() >= 300) == (PASSED, True)
    assert "with data: ConsumedWriteCapacityUnits, ReturnedRecordsCount" in result.seen


@pytest.mark.parametrize("absent", ["ReturnedRecordsCount", "PolledEventCount", "Records"])
def test_a_metric_that_an_alarm_uses_and_cloudwatch_has_not_fails(absent: str) -> None:
    result = seen(7, Metrics(absent).run(absent))
    assert (result.status, f"without: {absent}" in result.seen) == (FAILED, True)


def test_a_mapping_that_counts_no_empty_polls_fails_if_an_alarm_uses_them() -> None:
    metrics = Metrics()
    metrics.polled = [3.0]
    result = seen(7, metrics.run("PolledEventCount"))
    assert (result.status, "empty polls in 0 minutes" in result.seen) == (FAILED, True)
    assert seen(7, metrics.run("ReturnedRecordsCount")).status is PASSED


def test_a_metric_that_no_alarm_uses_is_named() -> None:
    result = seen(7, Metrics("PolledEventCount").run("ReturnedRecordsCount"))
    assert (result.status, "without: PolledEventCount" in result.seen) == (PASSED, True)


def test_fill_of_a_metric_without_data_is_evaluated() -> None:
    assert seen(8, Metrics().run()).status is PASSED


@pytest.mark.parametrize("sum_", [[], [0.0, 0.0]])
def test_an_expression_that_does_not_fill_fails(sum_: list[float]) -> None:
    metrics = Metrics()
    metrics.sum = sum_
    assert seen(8, metrics.run()).status is FAILED


def test_without_the_write_in_cloudwatch_fill_is_unknown() -> None:
    assert seen(8, Metrics("ConsumedWriteCapacityUnits").run()).status is UNKNOWN


def test_scratch_rows_have_the_mark_of_their_run() -> None:
    rows = Rows()
    seen(6, rows.run())
    run = rows.run()
    rows.delete_item = lambda **_: {}  # type: ignore[method-assign]
    seen(6, run)
    assert all(MARK in "".join(key) for key in rows.rows)
