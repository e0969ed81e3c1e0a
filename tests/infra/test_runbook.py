"""Every alarm leads to a section of the runbook, whose commands exist and take these options."""

import re
import shlex
import subprocess
from functools import cache
from typing import Any

import pytest
from botocore import xform_name
from botocore.session import get_session
from typer.main import get_command

from adminview.cdk import DeploymentOptions
from adminview.cdk.monitoring.rules import RUNBOOK
from adminview.cli.main import app
from infra.stages import STAGES
from tests.infra.alarms import watched
from tests.support.shop import registry
from tests.support.synthesis import ROOT, Assembly

TEXT = (ROOT / RUNBOOK).read_text()
PREFACE, *PARTS = re.split(r"^## ", TEXT, flags=re.MULTILINE)
SECTIONS = {part.splitlines()[0]: part for part in PARTS}
COMMANDS = re.findall(r"^\$ (.*)$", TEXT, re.MULTILINE)
# Sections that `adminview doctor` leads to, not an alarm.
BY_DOCTOR = {"failed-first-deployment", "new-stream", "stale-references"}
EVERYWHERE = {"query", "output", "cli-binary-format"}  # options of any `aws` command
RENAMED = {"endpoint": "notification-endpoint"}  # by `aws`, which has an option of that name


def linked(assembly: Assembly) -> set[str]:
    """List the sections that alarms lead to."""
    printed = [alarm.properties["AlarmDescription"] for alarm in watched(assembly).values()]
    assert all(f" {RUNBOOK}#" in text for text in printed)
    return {text.rpartition("#")[2] for text in printed}


def test_every_alarm_has_a_section_and_every_other_section_is_named_by_the_doctor(
    dev: Assembly, prod: Assembly, mixed: Assembly, totals: Assembly
) -> None:
    assert linked(dev) == linked(prod) == linked(mixed)
    assert linked(dev) <= linked(totals) == SECTIONS.keys() - BY_DOCTOR
    sources = (ROOT / "adminview" / "cli").rglob("*.py")
    named = {
        name for file in sources for name in re.findall(r"runbook\.md#([\w-]+)", file.read_text())
    }
    assert named >= BY_DOCTOR
    assert named <= SECTIONS.keys()


@pytest.mark.parametrize("name", SECTIONS)
def test_a_section_says_what_it_means_how_to_see_it_what_to_run_and_what_not_to_do(
    name: str,
) -> None:
    parts = ["**What it means.**", "**See it.**", "**Repair it.**", "**Do not**"]
    places = [SECTIONS[name].find(part) for part in parts]
    assert -1 not in places
    assert places == sorted(places)
    assert "\n$ " in SECTIONS[name][places[1] : places[2]], "a command that shows it"
    assert "\n$ " in SECTIONS[name][places[2] : places[3]], "a command that repairs it"


def test_the_runbook_leads_from_an_unreadable_dead_letter_to_the_alarm_on_its_age() -> None:
    """SQS leaves a message out of its age that was received three times, as this one soon is."""
    assert "it cannot be parsed" in SECTIONS["oldest-letter"].replace("\n", " ")
    untouched = SECTIONS["untouched-letter"]
    assert "could not be parsed, triggers other alarms" in untouched.replace("\n", " ")
    assert "(#oldest-letter)" in untouched


def test_links_between_sections_lead_to_sections() -> None:
    links = set(re.findall(r"\]\(#([^)]+)\)", TEXT))
    assert links
    assert links <= SECTIONS.keys()


def test_lines_are_short() -> None:
    assert [line for line in TEXT.splitlines() if len(line) > 120] == []


def parse(words: list[str]) -> Any:
    """Let the command itself read its words, and do nothing."""
    command: Any = get_command(app)
    context = command.make_context("adminview", words)
    while hasattr(command, "commands"):
        name, command, rest = command.resolve_command(context, words)
        context = command.make_context(name, rest, parent=context)
        words = rest
    return context


@pytest.mark.parametrize("line", [line for line in COMMANDS if line.startswith("adminview ")])
def test_a_command_of_ours_takes_these_options(line: str) -> None:
    words = shlex.split(line)[1:]
    assert parse(words).command.name in words
    if "patterns" not in words:
        assert words[-2:] == ["--stage", "prod"], "or it would look at another deployment"


@pytest.mark.parametrize("wrong", [["verify", "--repiar"], ["dlq", "show"], ["repair"]])
def test_a_command_that_does_not_exist_so_would_be_noticed(wrong: list[str]) -> None:
    with pytest.raises(Exception, match=r"No such|Missing"):
        parse(wrong)


def assert_is_aws_command(line: str) -> None:
    """Compare a command line with the model of its service."""
    _, service, operation, *words = shlex.split(line)
    model = get_session().get_service_model(service)
    operations = {xform_name(name, "-"): name for name in model.operation_names}
    shape = model.operation_model(operations[operation]).input_shape
    taken = {xform_name(name, "-") for name in (shape.members if shape else ())}
    known = {RENAMED.get(name, name) for name in taken} | EVERYWHERE
    options = {word.removeprefix("--").removeprefix("no-") for word in words if word[:2] == "--"}
    assert options <= known


@pytest.mark.parametrize("line", [line for line in COMMANDS if line.startswith("aws ")])
def test_a_command_of_aws_exists_with_these_options(line: str) -> None:
    assert_is_aws_command(line)


@pytest.mark.parametrize("line", [line for line in COMMANDS if line.startswith("npx ")])
def test_a_deployment_is_of_a_stack_that_there_is_with_a_context_that_is_accepted(
    line: str, prod_totals: Assembly
) -> None:
    *words, stack = shlex.split(line)[:4]
    assert words == ["npx", "cdk", "deploy"]
    assert stack in {*prod_totals.templates, "--all"}
    options = shlex.split(line)[4:]
    flags = {word for word in options if word.startswith("--")}
    assert flags <= cdk_flags("deploy")
    pairs = [word for word in options if word not in flags]
    assert {*pairs[::2]} == {"-c"}
    context = dict(pair.split("=", 1) for pair in pairs[1::2])
    assert DeploymentOptions.read(context, registry(), stages=STAGES).stage.name == "prod"


@cache
def cdk_flags(command: str) -> set[str]:
    """List the options of the installed CDK command."""
    done = subprocess.run(
        [ROOT / "node_modules" / ".bin" / "cdk", command, "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(re.findall(r"(?<!\S)--[\w-]+", done.stdout))


def test_there_is_no_other_kind_of_command() -> None:
    assert {line.split()[0] for line in COMMANDS} == {"adminview", "aws", "npx"}
