"""docs/deploy.md names the permissions that the commands need, and the exit statuses they have."""

import re

from botocore.session import get_session
from typer.main import get_command

from adminview.cli.main import app
from tests.support.synthesis import ROOT, Assembly

TEXT = (ROOT / "docs" / "deploy.md").read_text()
SERVICES = {"states": "stepfunctions"}  # by the prefix of their actions


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
        model = get_session().get_service_model(SERVICES.get(service, service))
        assert operation in model.operation_names, action


def test_the_doctor_calls_nothing_else() -> None:
    folders = [ROOT / "adminview" / "cli" / "doctor", ROOT / "adminview" / "cli" / "deployment"]
    files = [file for folder in folders for file in folder.glob("*.py")]
    call = re.compile(r'aws\.(?:find|call|run)\(\s*"(\w+)",\s*"(\w+)"')
    calls = {found for file in files for found in call.findall(file.read_text())}
    by_service = {name: prefix for prefix, name in SERVICES.items()}
    made = {f"{by_service.get(service, service)}:{operation}" for service, operation in calls}
    # The plan reads how late the totals are.
    assert made - {"cloudwatch:GetMetricData"} == permissions()["`doctor`"]


def test_whoever_applies_a_plan_may_do_what_the_backfill_function_may(dev: Assembly) -> None:
    """`apply` backfills with the caller's credentials."""
    granted = {
        action
        for actions, _ in dev.statements("Backfill")
        for action in actions
        if not action.startswith("logs:")
    }
    named = permissions()
    assert granted <= named["`apply`, `backfill`, `sweep`"]


def test_exit_statuses_are_those_of_the_help_texts() -> None:
    rows = re.findall(r"^\| `adminview ([a-z ]+)` \| (0 .*) \|$", TEXT, re.MULTILINE)
    assert len(rows) > 5
    for words, statuses in rows:
        command = get_command(app)
        for word in words.split():
            command = command.commands[word]  # type: ignore[attr-defined]
        assert f"Exit status: {statuses}." in " ".join((command.help or "").split())
