"""Commands in README and docs have the arguments and options that the tools have."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import botocore.session
import pytest
from botocore import xform_name
from typer.main import get_command

from adminview.cli.main import app
from lambdas.migrations.orders_delivery_date import delivery_date
from tests.support.shop import registry

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]
BLOCK = re.compile(r"^ *```console\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
GLOBAL_AWS = {"query", "output", "region", "profile", "cli-binary-format"}
PAGER = {"max-items"}  # of every command that reads pages
RENAMED = {"notification-endpoint"}  # the AWS CLI renames `endpoint` of `sns subscribe`


def lines(page: Path) -> Iterator[str]:
    """Yield the commands in the blocks of a page, with their continuation lines, and inline."""
    text = page.read_text()
    for block in BLOCK.findall(text):
        for command in re.findall(r"^(?:\$ )?((?:[^\n]*\\\n)*[^\n]*)", block, re.MULTILINE):
            yield command.replace("\\\n", " ")
    yield from re.findall(r"`((?:adminview|aws) [a-z][^`\n]*)`", text)


def commands(tool: str) -> list[tuple[str, str]]:
    pairs = [
        (page.name, part.strip())
        for page in PAGES
        for line in lines(page)
        for part in re.split(r" [|>] ", line)
        if part.strip().startswith(f"{tool} ")
    ]
    return list(dict.fromkeys(pairs))


OURS, AWS, CDK = commands("adminview"), commands("aws"), commands("npx cdk")


def words_of(line: str) -> list[str]:
    return shlex.split(line, comments=True)[1:]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_commands_are_in_blocks_that_are_tested(page: Path) -> None:
    blocks = re.findall(r"^ *```(\w*)\n(.*?)^ *```", page.read_text(), re.DOTALL | re.MULTILINE)
    commands = [text for kind, text in blocks if kind != "console"]
    assert [text for text in commands if re.search(r"^ *\$ ", text, re.MULTILINE)] == []


def test_there_are_commands_of_each_tool() -> None:
    assert min(len(OURS) - 100, len(AWS) - 20, len(CDK) - 10) > 0


@pytest.mark.parametrize(("page", "line"), OURS)
def test_a_command_has_the_options_that_the_page_gives_it(page: str, line: str) -> None:
    command: Any = get_command(app)
    words = words_of(line)
    while hasattr(command, "commands") and words and words[0] in command.commands:
        command = command.commands[words.pop(0)]
    if hasattr(command, "commands"):  # a group, or an access pattern of another app
        assert not words or line.startswith("adminview query "), line
        return
    options = {option for parameter in command.params for option in parameter.opts}
    options |= {option for parameter in command.params for option in parameter.secondary_opts}
    flags = {word.split("=")[0] for word in words if re.match(r"--?[a-z]", word)}
    assert flags <= options | {"--help"}, page


@pytest.mark.shop
@pytest.mark.parametrize(("page", "line"), OURS)
def test_a_source_or_migration_in_a_command_is_one_of_the_shop(page: str, line: str) -> None:
    sources = {source.name for source in registry().sources}
    assert set(re.findall(r"--source ([A-Z][a-z]+)", line)) <= sources, page
    migrations = set(re.findall(r"migrate ([a-z]+(?:-[a-z]+)+)", line))
    assert migrations <= {delivery_date.name}, page


@pytest.mark.parametrize(("page", "line"), AWS)
def test_a_command_of_aws_has_the_options_that_the_page_gives_it(page: str, line: str) -> None:
    service, operation, *rest = words_of(line)
    session = botocore.session.get_session()
    model = session.get_service_model(service)
    names = {xform_name(name, "-"): name for name in model.operation_names}
    assert operation in names, page
    shape = model.operation_model(names[operation]).input_shape
    members = {xform_name(name, "-") for name in shape.members} if shape else set()
    flags = {word[2:].split("=")[0] for word in rest if word.startswith("--")}
    known = members | {f"no-{name}" for name in members} | GLOBAL_AWS | PAGER | RENAMED
    assert flags <= known, page


@pytest.mark.parametrize(("page", "line"), CDK)
def test_a_deployment_sets_options_that_exist(page: str, line: str) -> None:
    text = (ROOT / "docs/configuration.md").read_text()
    keys = {*re.findall(r"^#+ `?(\w+)`?$", text, re.MULTILINE)}
    assert set(re.findall(r"adminview:(\w+)", line)) <= keys, page
