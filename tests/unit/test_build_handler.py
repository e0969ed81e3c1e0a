"""The build function as CloudFormation and Lambda invoke it."""

import json
from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from typing import Any
from unittest.mock import Mock

import pytest

from adminview.handlers import build as function
from adminview.handlers.build import BuildDependencies
from adminview.model.errors import SettingsError
from tests.support.build_site import CONTEXT, THING, site_with_items
from tests.support.fakes import Context

EVENT = {
    "RequestType": "Create",
    "ResponseURL": "https://bucket.example/answer?signature",
    "StackId": "stack",
    "RequestId": "request",
    "LogicalResourceId": "BuildModel",
}


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Receive the answers to CloudFormation."""
    received: list[Any] = []

    def receive(request: Any, timeout: float) -> BytesIO:
        assert 0 < timeout < 15
        assert (request.method, request.full_url) == ("PUT", EVENT["ResponseURL"])
        assert request.get_header("Content-type") == "", "it is not part of the signature"
        received.append(json.loads(request.data))
        return BytesIO()

    monkeypatch.setattr("adminview.aws.custom_resource.urlopen", receive)
    return received


def handle_with(monkeypatch: pytest.MonkeyPatch, make: Callable[[], Any], **event: str) -> Any:
    monkeypatch.setattr(function, "dependencies", make)
    return function.handle(event, CONTEXT)


def test_cloudformation_gets_an_answer(answers: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    site = site_with_items()
    site.world.model = replace(site.world.model, patterns=(THING,)).known_as("a")
    deps = BuildDependencies(site.builds, site.start, Mock())
    handle_with(monkeypatch, lambda: deps, **EVENT)
    assert answers == [
        {
            "Status": "SUCCESS",
            "PhysicalResourceId": "build",
            "StackId": "stack",
            "RequestId": "request",
            "LogicalResourceId": "BuildModel",
        }
    ]
    assert site.started
    handle_with(monkeypatch, lambda: deps, **EVENT, PhysicalResourceId="as before")
    assert answers[1]["PhysicalResourceId"] == "as before", "another id would delete the resource"
    assert handle_with(monkeypatch, lambda: deps)["patterns"] == 1
    assert len(answers) == 2, "a schedule expects no answer"


def test_a_check_that_fails_does_not_fail_the_deployment_but_the_invocation(
    answers: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> Any:
        msg = "environment variables not set"
        raise SettingsError(msg)

    with pytest.raises(SettingsError):
        handle_with(monkeypatch, fail, **EVENT)
    assert [answer["Status"] for answer in answers] == ["SUCCESS"]


def test_a_check_that_takes_too_long_is_answered_in_time(
    answers: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(function, "dependencies", lambda: time_out(answers))
    with pytest.raises(TimeoutError):
        function.handle(EVENT, Context(int(function.ANSWER_SECONDS * 1000) + 50))
    assert len(answers) == 1


def time_out(answers: list[Any]) -> Any:
    """Return when the answer was sent."""
    while not answers:
        pass
    msg = "too late"
    raise SettingsError(msg)
