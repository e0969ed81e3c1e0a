"""tests/infra/roles.md lists every permission, so that a change is read before it is deployed."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from tests.infra.roles import COMMAND, PAGE, page
from tests.support.synthesis import Assembly

Change = Callable[[dict[str, Any]], object]


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_every_role_may_do_exactly_what_its_table_says(
    stage: str, request: pytest.FixtureRequest
) -> None:
    assembly: Assembly = request.getfixturevalue(stage)
    assert page(assembly) == PAGE.read_text(), f"if that is meant, write it anew: {COMMAND}"


def statement_of(role: dict[str, Any]) -> dict[str, Any]:
    statement: dict[str, Any] = role["Properties"]["Policies"][0]["PolicyDocument"]["Statement"][1]
    return statement


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("SyncRole", lambda role: statement_of(role).update(Action="dynamodb:PutItem")),
        ("SyncRole", lambda role: statement_of(role).update(Resource="*")),
        (
            "SyncRole",
            lambda role: role["Properties"]["AssumeRolePolicyDocument"]["Statement"][0].update(
                Principal={"Service": "events.amazonaws.com"}
            ),
        ),
        (
            "BackfillSegmentsMachineRole",
            lambda role: role["Properties"]["AssumeRolePolicyDocument"]["Statement"][0].pop(
                "Condition"
            ),
        ),
    ],
    ids=["an action", "a resource", "who takes it", "on what condition"],
)
def test_a_table_changes_with(name: str, change: Change, dev: Assembly) -> None:
    changed = replace(dev, templates=deepcopy(dev.templates))
    change(changed.named("AWS::IAM::Role")[name])
    assert page(changed) != page(dev)


def test_the_page_changes_with_who_may_invoke_a_function(dev: Assembly) -> None:
    changed = replace(dev, templates=deepcopy(dev.templates))
    permission = changed.resources("AWS::Lambda::Permission")[0]["Properties"]
    permission["SourceArn"] = "*"
    assert page(changed) != page(dev)


@pytest.mark.parametrize(
    "change",
    [
        lambda role: statement_of(role).update(Condition={}),
        lambda role: statement_of(role).update(Effect="Deny"),
        lambda role: role["Properties"].update(ManagedPolicyArns=["arn:aws:iam::aws:policy/Any"]),
    ],
    ids=["a condition", "a denial", "a managed policy"],
)
def test_a_role_with_more_than_a_table_can_show_is_refused(change: Change, dev: Assembly) -> None:
    changed = replace(dev, templates=deepcopy(dev.templates))
    change(changed.named("AWS::IAM::Role")["SyncRole"])
    with pytest.raises(AssertionError):
        page(changed)
