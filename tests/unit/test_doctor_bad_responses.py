"""The doctor reports findings, not tracebacks, for any response and any credentials."""

import json
from typing import Any

import boto3
import pytest
from botocore.exceptions import NoCredentialsError
from botocore.parsers import ResponseParserError
from typer.testing import CliRunner

from adminview.aws.error_hints import SIGN_IN
from adminview.cli.main import app
from tests.support.deployment import SYNC, Client, Deployment, sound
from tests.support.fakes import refusal
from tests.support.model import registry

PAGE = "<html>a proxy's page</html>"


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Deployment:
    """Begin with nothing wrong, and let the command find it."""
    deployment = sound()
    monkeypatch.setattr(boto3, "client", lambda service, **_: deployment.client(service))
    monkeypatch.setattr("adminview.cli.commands.doctor.registry", registry)
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    return deployment


def findings(*words: str) -> list[dict[str, Any]]:
    result = CliRunner().invoke(app, ["doctor", "--json", *words], catch_exceptions=False)
    assert PAGE not in result.output
    assert result.exit_code == 1
    listed: list[dict[str, Any]] = json.loads(result.stdout)["findings"]
    return listed


@pytest.mark.parametrize("call", ["describe_stacks", "get_template", "list_stack_resources"])
@pytest.mark.parametrize("answer", [PAGE, {}, {"Stacks": []}, {"Stacks": [{"StackId": "x"}]}, None])
@pytest.mark.usefixtures("here")
def test_an_answer_that_is_not_one_of_aws_is_unknown(
    monkeypatch: pytest.MonkeyPatch, call: str, answer: object
) -> None:
    monkeypatch.setattr(Client, call, lambda *_, **__: answer)
    stacks = [finding for finding in findings() if finding["name"].startswith("stack ")]
    # That CloudFormation answers nothing at all is taken for a stack that is not there.
    states = {"problem", "warning"} if answer is None and call == "describe_stacks" else {"unknown"}
    assert {finding["state"] for finding in stacks} == states


def test_a_page_that_cannot_be_parsed_is_unknown_and_not_quoted(here: Deployment) -> None:
    here.refused["describe_stacks"] = ResponseParserError(PAGE)
    for finding in findings():
        words = "cloudformation:DescribeStacks: AWS answered ResponseParserError"
        assert (finding["state"], finding["seen"]) == ("unknown", words)


@pytest.mark.parametrize(
    "template", [PAGE, "[]", '{"Resources": []}', '{"Resources": {"Role01234567": 1}}']
)
def test_a_template_that_is_none_of_ours_is_unknown(here: Deployment, template: str) -> None:
    here.stacks[SYNC]["template"] = template
    (stack,) = [finding for finding in findings() if finding["name"] == f"stack {SYNC}"]
    assert stack["state"] == "unknown"


@pytest.mark.parametrize("output", ["[]", "1", "{}"])
def test_outputs_of_another_shape_are_unknown(here: Deployment, output: str) -> None:
    here.output(SYNC, "Settings", output)
    (sources,) = [finding for finding in findings() if finding["name"] == "sources"]
    assert sources["state"] == "unknown"


SIGNED_OUT = [
    NoCredentialsError(),
    refusal("ExpiredToken", "DescribeStacks", 403),
    refusal("InvalidClientTokenId", "DescribeStacks", 403),
    refusal("UnrecognizedClientException", "DescribeStacks", 403),
]


@pytest.mark.parametrize("error", SIGNED_OUT)
def test_missing_credentials_are_reported_once(here: Deployment, error: Exception) -> None:
    here.refused["describe_stacks"] = error
    assert {(finding["state"], *finding["do"]) for finding in findings()} == {("unknown", SIGN_IN)}
    result = CliRunner().invoke(app, ["doctor"], catch_exceptions=False)
    assert result.stdout.count(SIGN_IN) == 1
    assert "local" not in result.stdout


def test_a_local_engine_is_only_spoken_of_to_who_names_one(
    here: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    here.refused["describe_stacks"] = NoCredentialsError()
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://localhost:1")
    monkeypatch.setattr("adminview.cli.commands.doctor.check_endpoints", lambda *_: None)
    assert {("a local engine" in finding["seen"], *finding["do"]) for finding in findings()} == {
        (True,)
    }


@pytest.mark.parametrize(
    "words", [("--stage", "de v"), ("--stage", "1"), ("--stage", "dev/x"), ("--prefix", "a_b")]
)
def test_a_name_that_no_stack_can_have_is_refused(here: Deployment, words: tuple[str, str]) -> None:
    result = CliRunner().invoke(app, ["doctor", *words])
    assert result.exit_code == 2
    assert "is not valid in a stack name" in " ".join(result.output.split())
    assert here.requests == []
