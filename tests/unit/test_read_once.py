"""A command reads what is deployed once: no call with the same parameters is made twice."""

import json
from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass, field
from json import dumps
from typing import Any

import boto3
import pytest
from typer.testing import CliRunner

from adminview.cli.main import app
from adminview.cli.planning.apply import PlanRunner
from tests.support.deployment import API, RECOVERY, SYNC, Client, Deployment, sound
from tests.support.model import registry

Calls = Counter[tuple[str, str]]  # operation and parameters


class FirstStep(BaseException):  # no error, which a command would explain
    """Raised in place of the first thing that a command does."""


@dataclass
class Recorder(Deployment):
    """A deployment that counts its calls."""

    calls: Calls = field(default_factory=Counter)

    def client(self, _: str, **__: Any) -> "RecordingClient":
        return RecordingClient(self)


class RecordingClient(Client):
    """Answers what commands read besides what a doctor does; all tables are empty."""

    here: Recorder

    def __getattribute__(self, name: str) -> Any:
        call = super().__getattribute__(name)
        if name == "here":
            return call

        def counted(**parameters: Any) -> Any:
            self.here.calls[name, dumps(parameters, sort_keys=True, default=str)] += 1
            return call(**parameters)

        return counted

    def scan(self, **_: Any) -> Any:
        return {"Items": [], "Count": 0, "ScannedCount": 0}

    def get_item(self, Key: Any, **_: Any) -> Any:  # noqa: N803 - boto3's
        return super().get_item(Key)

    def put_item(self, **_: Any) -> Any:
        return {}

    def describe_continuous_backups(self, **_: Any) -> Any:
        return {"ContinuousBackupsDescription": {}}

    def get_metric_data(self, **_: Any) -> Any:
        return {"MetricDataResults": []}

    def get_queue_attributes(self, QueueUrl: str, AttributeNames: list[str]) -> Any:  # noqa: N803
        if AttributeNames != ["All"]:
            return super().get_queue_attributes(QueueUrl, AttributeNames)
        names = ("", "NotVisible", "Delayed")
        return {"Attributes": {f"ApproximateNumberOfMessages{name}": "0" for name in names}}


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    """Deploy the shop with older code of its orders, and let commands find it."""
    reported = sound()
    recorder = Recorder(**{name: getattr(reported, name) for name in reported.__dataclass_fields__})
    older = registry().description()
    older["code"]["Orders"], older["fingerprint"] = "older", "older"
    for name in (SYNC, API):
        for resource in recorder.stacks[name]["template"]["Resources"].values():
            if "Metadata" in resource:
                resource["Metadata"]["AdminViewModel"] = json.dumps(older)
    recorder.output(SYNC, "SyncFunctionName", "sync")
    recorder.output(RECOVERY, "ReplayFunctionName", "replay")
    recorder.output(RECOVERY, "BackfillMachineArn", "arn:machine")
    recorder.output(RECOVERY, "MigrateMachineArn", "arn:machine")
    recorder.functions["sync"]["MemorySize"] = 512
    recorder.tables["AdminViewTableProgress"] = {}
    for name in ("AWS_ENDPOINT_URL", "ADMINVIEW_TABLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    monkeypatch.setattr(boto3, "client", recorder.client)
    monkeypatch.setattr("adminview.aws.boto3_clients.check_responses", lambda _: None)
    return recorder


def stop(*_: Any, **__: Any) -> Any:
    raise FirstStep


REPLAYED = {"outcomes": {}, "reasons": {}, "items": 0, "rows_put": 0, "rows_deleted": 0}
COMMANDS = "adminview.cli.commands"
STAGE = ("--stage", "dev")


def run(words: tuple[str, ...], answers: str = "", *, stopped: bool = False) -> None:
    with pytest.raises(FirstStep) if stopped else nullcontext():
        result = CliRunner().invoke(app, [*words, *STAGE], input=answers, env={"COLUMNS": "200"})
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception


@pytest.mark.parametrize(
    ("words", "first_step", "needed"),
    [
        (("doctor",), "", {"describe_stacks": 7, "get_template": 6, "describe_table": 5}),
        (("plan",), "", {"describe_stacks": 7, "get_template": 6}),
        (
            ("apply", "--yes"),
            "adminview.cli.planning.apply.PlanRunner._carry_out",
            {"describe_stacks": 7, "get_template": 6},
        ),
        (("backfill",), f"{COMMANDS}.backfill.execute_runs", {"describe_stacks": 1}),
        (("backfill", "--deployed"), f"{COMMANDS}.backfill.run_on_aws", {"describe_stacks": 2}),
        (("sweep",), f"{COMMANDS}.backfill.execute_runs", {"describe_stacks": 1}),
        (("verify",), f"{COMMANDS}.verify.verify_here", {"describe_stacks": 1}),
        (
            ("migrate", "orders-delivery-date", "--yes", "--deployed"),
            f"{COMMANDS}.migrate.run_on_aws",
            {"describe_stacks": 2},
        ),
        (
            ("query", "orders-of-user", "--user-id", "u"),
            "adminview.cli.querying.answer.Clients",
            {"describe_stacks": 2},
        ),
        (("dlq", "replay"), "adminview.cli.dead_letters.streams_client", {}),
        (("dlq", "list"), "adminview.cli.dead_letters.browse", {}),
        (("reconcile", "Orders", "x"), f"{COMMANDS}.item.make_reconciler", {}),
        (("sql", "SELECT * FROM AdminViewTable WHERE PK = 'x'"), f"{COMMANDS}.sql.Clients", {}),
        (("cost", "--measured"), f"{COMMANDS}.cost.compare_observed", {"describe_stacks": 2}),
        (("model", "diff"), "", {"describe_stacks": 1, "get_template": 1}),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, tuple) else "",
)
def test_no_call_is_made_twice_before_the_first_step(
    here: Recorder,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    first_step: str,
    needed: dict[str, int],
) -> None:
    if first_step:
        monkeypatch.setattr(first_step, stop)
    run(words, stopped=bool(first_step))
    assert [call for call, count in here.calls.items() if count > 1] == []
    by_operation = Counter(operation for operation, _ in here.calls)
    assert by_operation["describe_stacks"], "it was read"
    assert {name: by_operation[name] for name in needed} == needed


def test_after_a_prompt_the_deployment_is_read_again(
    here: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody may deploy while another thinks about the plan."""
    monkeypatch.setattr(PlanRunner, "_carry_out", stop)
    run(("apply",), "y\n", stopped=True)
    assert {count for (name, _), count in here.calls.items() if name == "describe_stacks"} == {2}


def test_what_a_deployed_replay_left_is_counted_in_the_queue_that_was_found(
    here: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{COMMANDS}.dlq.invoke", lambda *_: REPLAYED | {"complete": True})
    run(("dlq", "replay", "--deployed"))
    assert [call for call, count in here.calls.items() if count > 1] == []
    assert here.calls.total() == 3  # two stacks and the queue
