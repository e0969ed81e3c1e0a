"""Options of different commands: one name per concept."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from rich.markup import render
from typer.main import get_command

from adminview.cli.main import app

HELP_WIDTH = 78  # of a terminal with 80 columns


def options(command: Any, name: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield every option with its command and what its value is."""
    for option in command.params:
        for flag in option.opts:
            yield flag, name, option.metavar or ""
    if name != "query":  # its commands are the access patterns
        for inner, nested in getattr(command, "commands", {}).items():
            yield from options(nested, f"{name} {inner}".strip())


def help_texts(command: Any, name: str = "adminview") -> Iterator[tuple[str, str]]:
    """Yield the help of every command and option, as they are declared."""
    yield name, command.help or ""
    for option in command.params:
        yield f"{name} {option.name}", getattr(option, "help", "") or ""
    if name != "adminview query":
        for inner, nested in getattr(command, "commands", {}).items():
            yield from help_texts(nested, f"{name} {inner}")


ALL = [*options(get_command(app))]


@pytest.mark.parametrize(
    ("flag", "value", "commands"),
    [
        ("--items-file", "FILE", {"check", "cost", "dev", "smoke"}),
        ("--load", "FILE", {"cost"}),
        ("--sample", "ITEMS", {"migrate", "model diff"}),
        ("--share", "SHARE", {"verify"}),
    ],
)
def test_an_option_means_the_same_in_every_command(
    flag: str, value: str, commands: set[str]
) -> None:
    values = {name: written for option, name, written in ALL if option == flag}
    assert {name for name, written in values.items() if written == value} == {*values}
    assert commands == {*values}


def test_help_is_printed_whole() -> None:
    """Typer reads brackets as markup, and keeps the line breaks of all paragraphs but the first."""
    texts = [*help_texts(get_command(app))]
    assert len(texts) > len(ALL)
    assert [where for where, text in texts if render(text).plain != text] == []
    wrapped = [
        (where, paragraph.splitlines())
        for where, text in texts
        for paragraph in text.split("\n\n")[1:]
        if "\n" in paragraph.strip()
    ]
    assert [where for where, lines in wrapped if max(map(len, lines)) > HELP_WIDTH] == []


def test_no_command_has_two_options_of_one_name() -> None:
    counts = Counter((name, flag) for flag, name, _ in ALL)
    assert [repeated for repeated, count in counts.items() if count > 1] == []
