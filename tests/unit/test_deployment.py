"""A deployment is found by the outputs of its stacks; the error names what is missing."""

import json
from collections.abc import Mapping
from dataclasses import replace
from io import BytesIO
from typing import TYPE_CHECKING, Any

import boto3
import pytest

from adminview.aws.aws_calls import AwsCallError
from adminview.aws.settings import Settings
from adminview.aws.stack_outputs import find_pending
from adminview.cli.deployment.deployment import Deployment
from adminview.cli.deployment.find import (
    check_model,
    check_queue,
    find_settings,
    invoke,
    known_source,
    replay_function_name,
)
from adminview.dead_letters.letter_filter import LetterFilter
from adminview.local.settings import declared
from adminview.model.errors import QueryError, SettingsError
from tests.support.fakes import refusal
from tests.support.model import registry
from tests.support.readiness import record_item

if TYPE_CHECKING:
    from botocore.exceptions import ClientError

SETTINGS = Settings("the-view", "https://queue", {"Orders": "prod-Orders"}, "abc")
ENDPOINT = {"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}


@pytest.fixture(autouse=True)
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every endpoint count as one that answers."""
    for module in ("deployment", "find"):
        monkeypatch.setattr(f"adminview.cli.deployment.{module}.check_endpoints", lambda *_: None)


def named(
    stage: str | None, prefix: str = "", environ: Mapping[str, str] | None = None
) -> Deployment:
    return Deployment.from_options(stage, prefix, environ or {})


class FakeAws:
    """Stacks with outputs, and a function with an answer."""

    def __init__(self) -> None:
        self.stacks: dict[str, dict[str, str]] = {}
        self.answer: Any = {}
        self.function_error: dict[str, str] = {}
        self.refusal: ClientError | None = None
        self.invoked: list[tuple[str, Any]] = []
        self.configs: dict[str, Any] = {}
        self.unbuilt: tuple[str, ...] = ()  # access patterns

    def client(self, service: str, config: Any = None) -> "FakeAws":
        self.configs[service] = config
        return self

    def get_item(self, **_: Any) -> Any:
        return {"Item": record_item(registry(), without=self.unbuilt)}

    def describe_stacks(self, StackName: str) -> Any:  # noqa: N803 - boto3's
        if self.refusal:
            raise self.refusal
        if StackName not in self.stacks:
            raise refusal("ValidationError", "DescribeStacks")
        stack = self.stacks[StackName]
        outputs = [{"OutputKey": key, "OutputValue": value} for key, value in stack.items()]
        return {"Stacks": [{"Outputs": outputs} if outputs else {}]}

    def invoke(self, FunctionName: str, Payload: bytes) -> Any:  # noqa: N803 - boto3's
        self.invoked.append((FunctionName, json.loads(Payload)))
        return {"Payload": BytesIO(json.dumps(self.answer).encode()), **self.function_error}


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> FakeAws:
    """Begin with nothing deployed."""
    fake = FakeAws()
    monkeypatch.setattr(boto3, "client", fake.client)
    return fake


def test_settings_come_from_the_outputs_of_the_stage_that_is_named(aws: FakeAws) -> None:
    aws.stacks["team-AdminView-prod-Sync"] = {"Settings": json.dumps(SETTINGS.to_env())}
    assert find_settings(registry(), named("prod", "team-", {})) == SETTINGS


def test_the_stage_is_dev_unless_it_is_named(aws: FakeAws) -> None:
    aws.stacks["AdminView-dev-Sync"] = {"Settings": json.dumps(SETTINGS.to_env())}
    assert find_settings(registry(), named(None, "", {})) == SETTINGS


def test_a_functions_own_environment_comes_first(aws: FakeAws) -> None:
    assert find_settings(registry(), named("prod", "", SETTINGS.to_env() | ENDPOINT)) == SETTINGS
    assert aws.configs == {}


def test_a_local_engine_has_the_names_of_the_view_files(aws: FakeAws) -> None:
    queue = {"ADMINVIEW_DEAD_LETTER_QUEUE_URL": "http://queue"}
    settings = find_settings(registry(), named(None, "", ENDPOINT | queue))
    assert settings == declared(registry(), "http://queue")
    assert settings.sources["Orders"] == "Orders"
    assert settings.model == registry().fingerprint
    assert aws.configs == {}


def test_a_local_engine_that_was_deployed_to_is_asked_for_its_stacks(aws: FakeAws) -> None:
    aws.stacks["AdminView-dev-Sync"] = {"Settings": json.dumps(SETTINGS.to_env())}
    assert find_settings(registry(), named("dev", "", ENDPOINT)) == SETTINGS


def test_a_stack_that_is_not_there_is_named_with_what_to_do(aws: FakeAws) -> None:
    with pytest.raises(
        SettingsError, match=r"no stack 'AdminView-prod-Sync'.*--stage and --prefix"
    ):
        find_settings(registry(), named("prod", "", {}))
    assert "cloudformation" in aws.configs


def test_other_trouble_with_cloudformation_is_not_taken_for_a_missing_stack(aws: FakeAws) -> None:
    aws.refusal = refusal("AccessDenied", "DescribeStacks")
    with pytest.raises(AwsCallError, match="AccessDenied"):
        find_settings(registry(), named("prod", "", {}))


@pytest.mark.parametrize("outputs", [{}, {"Another": "x"}])
def test_a_stack_without_the_output_is_of_another_version(
    aws: FakeAws, outputs: dict[str, str]
) -> None:
    aws.stacks["AdminView-dev-Recovery"] = outputs
    with pytest.raises(SettingsError, match="has no output 'ReplayFunctionName': deploy"):
        replay_function_name(named(None))


def test_the_replay_function_is_found(aws: FakeAws) -> None:
    aws.stacks["AdminView-prod-Recovery"] = {"ReplayFunctionName": "replay-1"}
    assert replay_function_name(named("prod")) == "replay-1"


def test_the_function_is_asked_for_what_was_chosen_and_given_all_the_time_it_has(
    aws: FakeAws,
) -> None:
    aws.answer = {"outcomes": {"reconciled": 1}}
    answer = invoke("replay-1", LetterFilter(source="Orders", older_than=60.0))
    assert answer == aws.answer
    assert aws.invoked == [("replay-1", {"source": "Orders", "older_than": 60.0})]
    assert aws.configs["lambda"].read_timeout == 900


def test_a_function_that_fails_is_an_error_and_no_summary(aws: FakeAws) -> None:
    aws.answer = {"errorType": "SettingsError", "errorMessage": "not set: ADMINVIEW_TABLE"}
    aws.function_error = {"FunctionError": "Unhandled"}
    with pytest.raises(SettingsError, match="the function failed: SettingsError: not set"):
        invoke("replay-1", LetterFilter())


def test_rows_are_not_written_by_another_model_than_the_deployed_one() -> None:
    settings = replace(SETTINGS, model=registry().fingerprint)
    check_model(registry(), settings)
    with pytest.raises(SettingsError, match="model abc is deployed: check out the deployed model"):
        check_model(registry(), SETTINGS)


def questions(**settings: Any) -> dict[str, str]:
    right = {"model": registry().fingerprint, "pending": {}}
    return {"AccessPatterns": json.dumps(right | settings)}


def test_pending_patterns_are_read_from_the_api_of_the_named_stage(aws: FakeAws) -> None:
    pending = {"orders-by-status": None, "order-by-payment": "GSI3"}
    aws.stacks["team-AdminView-prod-Api"] = questions(pending=pending)
    aws.stacks["AdminView-dev-Api"] = questions()
    for name in ("team-AdminView-prod-Sync", "AdminView-dev-Sync"):
        aws.stacks[name] = {"Settings": json.dumps(SETTINGS.to_env())}
    assert find_pending(registry(), named("prod", "team-", {})) == pending
    assert find_pending(registry(), named(None, "", {})) == {}
    aws.unbuilt = ("orders-of-user", "order-by-payment")
    unbuilt = dict.fromkeys(aws.unbuilt)
    assert find_pending(registry(), named("prod", "team-", {})) == unbuilt | pending


def test_access_patterns_of_another_model_are_not_sent_to_a_deployment(aws: FakeAws) -> None:
    aws.stacks["AdminView-dev-Api"] = questions(model="abc")
    here = registry().fingerprint
    with pytest.raises(SettingsError) as caught:
        find_pending(registry(), named("dev", "", {}))
    assert str(caught.value) == (
        f"the local access patterns are of model {here}, but model abc is deployed: "
        "check out the deployed model, or deploy the local one"
    )


@pytest.mark.parametrize("output", ["not JSON", "[]", "{}", '{"model": "abc"}', "7"])
def test_an_output_without_access_patterns_is_named(aws: FakeAws, output: str) -> None:
    aws.stacks["AdminView-dev-Api"] = {"AccessPatterns": output}
    with pytest.raises(SettingsError, match="the output 'AccessPatterns' of stack"):
        find_pending(registry(), named(None, "", {}))


@pytest.mark.parametrize("environ", [ENDPOINT, SETTINGS.to_env()])
def test_without_a_deployment_pending_patterns_come_from_the_environment(
    aws: FakeAws, environ: dict[str, str]
) -> None:
    assert find_pending(registry(), named(None, "", environ)) == {}
    environment = environ | {"ADMINVIEW_PENDING_PATTERNS": '{"orders-by-status": null}'}
    assert find_pending(registry(), named(None, "", environment)) == {"orders-by-status": None}
    assert aws.configs == {}


def test_dead_letters_need_a_queue() -> None:
    check_queue(SETTINGS)
    with pytest.raises(SettingsError, match="set ADMINVIEW_DEAD_LETTER_QUEUE_URL") as refused:
        check_queue(replace(SETTINGS, dead_letter_queue_url=""))
    for remedy in ("`adminview dev` has one", "AWS_ENDPOINT_URL_SQS"):
        assert remedy in str(refused.value)


def test_a_source_that_is_not_declared_is_refused_with_those_that_are() -> None:
    assert known_source(registry(), "Orders").name == "Orders"
    with pytest.raises(QueryError, match="Orders"):
        known_source(registry(), "Order")
