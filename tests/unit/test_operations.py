"""Settings, log lines and metrics, as operators use them."""

import json
import subprocess
import sys
from io import StringIO
from typing import Any
from uuid import uuid4

import pytest
from aws_lambda_powertools import Logger, Metrics

from adminview.aws.batch_writers import Boto3BatchWriter, HttpBatchWriter
from adminview.aws.boto3_clients import CLIENT
from adminview.aws.call_errors import CallErrors
from adminview.aws.deadline import Deadline
from adminview.aws.observability import Observability
from adminview.aws.settings import NAMESPACE, SERVICE, Settings
from adminview.aws.view_table import ViewTable
from adminview.handlers.sync import sync
from adminview.model.errors import SettingsError
from adminview.runtime import runtime
from adminview.sync.counts import BatchCounts
from tests.support.dynamodb_writers import client, make_http_client
from tests.support.fakes import (
    NO_WAIT,
    TABLE,
    Context,
    FakeDynamoDB,
    a_write,
    make_runtime,
    refusal,
)
from tests.support.faulty_server import Faulty, answer
from tests.support.model import USER, registry
from tests.support.stream_records import record

SETTINGS = Settings(
    "AdminViewTable",
    "https://queue",
    {"Orders": "prod-Orders"},
    "abc",
    tracing=True,
    service="team-a-AdminView-prod",
)


def test_settings_survive_the_environment() -> None:
    assert Settings.from_env(SETTINGS.to_env()) == SETTINGS


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"ADMINVIEW_TABLE": ""}, "not set: ADMINVIEW_TABLE"),
        ({"ADMINVIEW_SOURCES": "{"}, "must be a JSON object such as"),
        ({"ADMINVIEW_SOURCES": "[]"}, "must be a JSON object such as"),
    ],
)
def test_a_missing_or_malformed_setting_is_named(change: dict[str, str], why: str) -> None:
    with pytest.raises(SettingsError, match=why):
        Settings.from_env(SETTINGS.to_env() | change)


def test_no_retry_happens_behind_the_back_of_the_deadline() -> None:
    retries: Any = CLIENT.retries  # type: ignore[attr-defined]  # botocore sets it
    assert retries["total_max_attempts"] == 1  # a client adds its mode beside it


def test_the_runtime_is_made_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in (SETTINGS.to_env() | {"ADMINVIEW_TRACING": "false"}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "x")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    sync_runtime = runtime.__wrapped__()
    assert "prod-Orders" in sync_runtime.routes
    assert sync_runtime.model == registry().fingerprint
    sync_runtime.observer.synced(BatchCounts(source="Orders"), [], CallErrors())
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["service"] for line in lines] == ["team-a-AdminView-prod"] * 2, "log and metrics"


def observe(records: list[dict[str, Any]], capsys: Any, **with_: Any) -> tuple[list[Any], Any, str]:
    """Sync with Powertools listening: the log lines, the metrics, and all of it as text."""
    log = StringIO()
    logger = Logger(service=f"{SERVICE}-{uuid4()}", stream=log)  # loggers of one name are one
    metrics = Metrics(namespace=NAMESPACE, service=SERVICE)
    sync_runtime = make_runtime(registry(), observer=Observability(logger, metrics), **with_)
    sync({"Records": records}, Context(), sync_runtime)
    reported = capsys.readouterr().out
    return (
        [json.loads(line) for line in log.getvalue().splitlines()],
        json.loads(reported),
        reported,
    )


users = registry().source("Users")


def test_a_batch_is_one_log_line_and_its_metrics(capsys: Any) -> None:
    lines, metrics, _ = observe([record(users, None, USER)], capsys)
    assert lines[0]["message"] == "batch synced"
    assert (lines[0]["records"], lines[0]["rows_put"]) == (1, 3)
    assert lines[0]["function_request_id"] == "request-1"
    assert metrics["source"] == "Users"
    assert metrics["service"] == "adminview"
    names = {
        "Records",
        "RowsPut",
        "RowsDeleted",
        "Unchanged",
        "NoView",
        "Written",
        "DeadLettered",
        "Redelivered",
        "Letters",
        "LagOfNewestRecord",
    }
    assert names <= set(metrics)
    assert metrics["LagOfNewestRecord"] == [10.0]


def test_metrics_of_two_batches_do_not_mix(capsys: Any) -> None:
    observability = Observability(
        Logger(service=f"{SERVICE}-{uuid4()}", stream=StringIO()),
        Metrics(namespace=NAMESPACE, service=SERVICE),
    )
    sync_runtime = make_runtime(registry(), observer=observability)
    for source, item in (("Users", USER), ("Orders", {"CustomerId": "u", "SK": "NOTE#1"})):
        change = record(registry().source(source), None, item)
        sync({"Records": [change]}, Context(), sync_runtime)
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert (first["source"], second["source"]) == ("Users", "Orders")
    assert (first["Written"], second["NoView"]) == ([1.0], [1.0])


def test_neither_images_nor_keys_reach_a_log_line_or_a_metric(capsys: Any) -> None:
    broken = USER | {"addresses": [{"city": "Hanoi"}]}
    lines, _, reported = observe([record(users, None, broken)], capsys)
    assert lines[0]["message"] == "dead letter sent"
    assert lines[0]["error"] == "MissingAttributeError"
    assert "view 'profile' at tests.support.views.users:" in lines[0]["reason"]
    everything = json.dumps(lines) + reported
    for secret in ("user-123", "Ada", "ada@shop.example", "Hanoi"):
        assert secret not in everything


def test_a_batch_that_is_returned_is_an_error_line_that_says_what_stood_in_the_way(
    capsys: Any,
) -> None:
    dynamodb = FakeDynamoDB([refusal("AccessDeniedException")])
    lines, _, _ = observe([record(users, None, USER)], capsys, dynamodb=dynamodb)
    assert lines[0]["level"] == "ERROR"
    assert lines[0]["errors"] == [{"code": "AccessDeniedException", "calls": 1}]


def test_rows_that_stay_unprocessed_are_logged_as_throttling(capsys: Any) -> None:
    dynamodb = FakeDynamoDB(
        [lambda requests: requests, lambda requests: requests, refusal("AccessDeniedException")]
    )
    lines, _, _ = observe([record(users, None, USER)], capsys, dynamodb=dynamodb)
    assert {"code": "UnprocessedItems", "calls": 2} in lines[0]["errors"]


@pytest.mark.parametrize(
    ("code", "member"),
    [
        ("ThrottlingException", "throttlingReasons"),
        ("ProvisionedThroughputExceededException", "ThrottlingReasons"),
    ],
)
@pytest.mark.parametrize("client_kind", ["direct", "boto3"])
def test_the_log_keeps_request_ids_and_throttling_reasons(
    client_kind: str, code: str, member: str
) -> None:
    reason = "IndexWriteKeyRangeThroughputExceeded"
    index = "arn:aws:dynamodb:eu-west-1:111122223333:table/AdminViewTable/index/GSI1"
    throttled = {
        "__type": f"com.amazonaws.dynamodb.v20120810#{code}",
        "message": "quoting customer data",
        member: [{"reason": reason, "resource": index}],
    }
    left = json.dumps({"UnprocessedItems": {TABLE: [DELETION]}})
    faults = [
        answer(400, json.dumps(throttled), x_amzn_requestid="id-1"),
        answer(200, left, x_amzn_requestid="id-2"),
    ]
    with Faulty(faults) as server:
        writer: Any = (
            HttpBatchWriter(make_http_client(server.url))
            if client_kind == "direct"
            else Boto3BatchWriter(client(server.url))
        )
        view = ViewTable(writer, TABLE, NO_WAIT)
        outcome = view.write([a_write(("P", "S"), None)], deadline=Deadline.after(60))
    assert outcome.errors.as_list() == [
        {
            "code": code,
            "calls": 1,
            "request_ids": ["id-1"],
            "throttling_reasons": [f"{reason} {index}"],
        },
        {"code": "UnprocessedItems", "calls": 1, "request_ids": ["id-2"]},
    ]


DELETION = {"DeleteRequest": {"Key": {"PK": {"S": "P"}, "SK": {"S": "S"}}}}
SLOW_TO_LOAD = {"boto3", "urllib3", "s3transfer", "dateutil", "importlib.metadata", "asyncio"}


def test_what_a_first_write_does_without_is_not_imported() -> None:
    """Each of these takes longer to load than the sync itself."""
    code = "import sys, lambdas.sync, adminview.aws.transport.http_client; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "adminview.handlers.sync" in loaded
    assert loaded & SLOW_TO_LOAD == set()
    theirs = {name for name in loaded if name.startswith("botocore.")}
    assert {name for name in theirs if not name.startswith("botocore.vendored")} == {
        "botocore.exceptions"
    }


def test_the_tracer_is_not_imported_unless_it_is_switched_on() -> None:
    code = (
        "import sys, lambdas.sync; print([m for m in sys.modules if 'xray' in m or 'aiohttp' in m])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
