"""docs/deploy.md and docs/smoke.md have commands that exist, and the permissions that they need."""

import json
import re
import shlex

import pytest
from botocore.session import get_session
from typer.main import get_command

from adminview.cli.main import app
from tests.infra.test_runbook import assert_is_aws_command, cdk_flags, parse
from tests.support.synthesis import ROOT, Assembly

TEXT = (ROOT / "docs" / "deploy.md").read_text()
SMOKE = (ROOT / "docs" / "smoke.md").read_text()
COMMANDS = re.findall(r"^\$ (.*)$", TEXT + SMOKE, re.MULTILINE)
SERVICES = {"states": "stepfunctions"}  # by the prefix of their actions
# With another name than their action.
OPERATIONS = {"InvokeFunction": "Invoke", "PartiQLSelect": "ExecuteStatement"}
ALSO = {"dynamodb": "dynamodbstreams"}  # has the same prefix


def permissions() -> dict[str, set[str]]:
    """Return the actions of the table, by the command; an empty cell repeats the one above."""
    section = TEXT.partition("<!-- permissions -->")[2].partition("\n\n`doctor`")[0]
    rows = re.findall(r"^\| (.*?) ?\| .* \| (`.*) \|$", section, re.MULTILINE)
    named: dict[str, set[str]] = {}
    command = ""
    for cell, actions in rows:
        command = cell or command
        named.setdefault(command, set()).update(re.findall(r"`(\w+:\w+)`", actions))
    return named


def test_every_action_is_one_of_aws() -> None:
    for action in set().union(*permissions().values()):
        service, _, operation = action.partition(":")
        names = [SERVICES.get(service, service), ALSO.get(service, SERVICES.get(service, service))]
        models = [get_session().get_service_model(name) for name in names]
        known = {name for model in models for name in model.operation_names}
        assert OPERATIONS.get(operation, operation) in known, action


def test_the_execution_role_is_named_what_the_templates_need(dev: Assembly) -> None:
    """An execution role that is no administrator needs more than the resources suggest."""
    needed = {
        "Fn::GetStackOutput": "cloudformation:DescribeStacks",
        "Custom::AdminViewBuild": "lambda:InvokeFunction",
        "AccessLogSettings": "logs:CreateLogDelivery",
    }
    templates = json.dumps(dev.templates)
    policies = TEXT.partition("--cloudformation-execution-policies")[2].partition("The commands")[0]
    for feature, action in needed.items():
        assert (feature in templates, f"`{action}`" in policies) == (True, True), feature


def test_the_doctor_calls_nothing_else() -> None:
    folders = [ROOT / "adminview" / "cli" / "doctor", ROOT / "adminview" / "cli" / "deployment"]
    files = [file for folder in folders for file in folder.glob("*.py")]
    call = re.compile(r'aws\.(?:find|call|run)[(,]\s*"(\w+)",\s*"(\w+)"')
    calls = {match for file in files for match in call.findall(file.read_text())}
    by_service = {name: prefix for prefix, name in SERVICES.items()}
    permitted = {f"{by_service.get(service, service)}:{operation}" for service, operation in calls}
    # The plan reads how late the totals are.
    assert permitted - {"cloudwatch:GetMetricData"} == permissions()["`doctor`"]


@pytest.mark.parametrize(
    ("function", "commands"),
    [
        ("Backfill", "`apply`, `backfill`, `sweep`; `verify --totals --repair`"),
        ("Verify", "`verify`"),
        ("Migrate", "`migrate`"),
        ("Replay", "`dlq`"),
    ],
)
def test_a_command_needs_what_the_function_that_does_the_same_may(
    dev: Assembly, function: str, commands: str
) -> None:
    """Commands work with the caller's credentials. The backfill's function also verifies."""
    granted = {
        action
        for actions, _ in dev.statements(function)
        for action in actions
        if not action.startswith("logs:")
    }
    needed = [permissions()[command] for command in commands.split("; ")]
    assert granted <= set().union(*needed)


def test_following_the_state_machine_calls_nothing_else() -> None:
    text = (ROOT / "adminview" / "cli" / "bulk" / "state_machine.py").read_text()
    calls = re.findall(r'_call\(\s*"(\w+)"', text)
    operations = {f"states:{''.join(map(str.capitalize, call.split('_')))}" for call in calls}
    assert operations == {
        action
        for action in permissions()["with `--deployed` instead"]
        if action.startswith("states:")
    }


def test_one_item_is_reconciled_with_what_the_replay_needs_for_it(dev: Assembly) -> None:
    granted = {action for actions, _ in dev.statements("Replay") for action in actions}
    of_items = {"BatchGetItem", "DeleteItem", "GetItem", "PutItem", "Query"}
    needed = granted & {f"dynamodb:{operation}" for operation in of_items}
    assert permissions()["`explain`"] | permissions()["`reconcile`"] == needed
    assert permissions()["`explain`"].isdisjoint({"dynamodb:PutItem", "dynamodb:DeleteItem"})


def test_exit_statuses_are_those_of_the_help_texts() -> None:
    rows = re.findall(r"^\| `adminview ([a-z ]+)` \| (0 .*) \|$", TEXT, re.MULTILINE)
    assert len(rows) > 5
    for words, statuses in rows:
        command = get_command(app)
        for word in words.split():
            command = command.commands[word]  # type: ignore[attr-defined]
        assert f"Exit status: {statuses}." in " ".join((command.help or "").split())


def of(program: str) -> list[str]:
    return [line for line in COMMANDS if line.startswith(f"{program} ")]


@pytest.mark.parametrize("line", of("aws"))
def test_a_command_of_aws_is_one(line: str) -> None:
    assert_is_aws_command(line)


@pytest.mark.parametrize("line", of("adminview"))
def test_a_command_of_ours_is_one(line: str) -> None:
    words = shlex.split(line.partition(" > ")[0])[1:]
    assert parse(words).command.name in words


@pytest.mark.parametrize("line", of("npx"))
def test_a_command_of_the_cdk_is_one(line: str) -> None:
    _, program, command, *words = shlex.split(line)
    assert (program, command) in {("cdk", "deploy"), ("cdk", "destroy")}
    assert {word for word in words if word.startswith("--")} <= cdk_flags(command)


def test_smoke_calls_nothing_that_its_page_does_not_name() -> None:
    """The permissions of the doctor are needed too."""
    files = (ROOT / "adminview" / "cli" / "smoke").glob("*.py")
    call = re.compile(r'\b(?:run|self)\.call\(\s*"(\w+)",\s*"(\w+)"')
    operations = {operation for file in files for _, operation in call.findall(file.read_text())}
    assert len(operations) >= 20
    named = {action.partition(":")[2] for action in permissions()["`doctor`"]}
    table = SMOKE.partition("## Permissions")[2]
    named |= {word.rpartition(":")[2] for word in re.findall(r"`([\w:-]+)`", table)}
    # A transaction has no permission of its own.
    assert operations - {"TransactWriteItems"} <= named
