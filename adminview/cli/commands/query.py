"""`adminview query`: a command per access pattern, with an option per parameter."""

from collections.abc import MutableMapping
from dataclasses import fields
from difflib import get_close_matches
from functools import cache
from inspect import Parameter, Signature, signature
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from adminview.cli.output.printing import help_text
from adminview.cli.querying.answer import QueryOptions, run
from adminview.model import AccessPattern
from adminview.query.parameters import WORDS
from adminview.views import registry, views_package

PREFIX = "parameter_"  # a parameter may be named like a Python keyword or one of our options
OPTION_NAMES = [field.name for field in fields(QueryOptions)]
METAVARS = {"S": "TEXT", "N": "NUMBER", "B": "BASE64"}


class PatternCommands(TyperGroup):
    """The declared access patterns as commands, created on first use.

    A view file with an error must not break `adminview --help` or other commands.
    """

    _commands: dict[str, Any] | None = None

    @property
    def commands(self) -> MutableMapping[str, Any]:
        if self._commands is None:
            declared = sorted(registry().patterns, key=lambda pattern: pattern.name)
            self._commands = {pattern.name: command(pattern) for pattern in declared}
        return self._commands

    @commands.setter
    def commands(self, _: MutableMapping[str, Any]) -> None:
        """Ignore the commands that click sets in its constructor."""
        self._commands = None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command of an access pattern; refuse an unknown one in the words of the API."""
        name = args[0]
        if not name.startswith("-") and name not in self.commands:
            near = get_close_matches(name, self.commands)
            hint = f"Did you mean {' or '.join(map(repr, near))}? " if near else ""
            ctx.fail(
                f"No access pattern in {views_package()} is named {name!r}. "
                f"{hint}To list them, run: adminview patterns"
            )
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=PatternCommands,
    help="Run a declared access pattern on AdminViewTable.",
    no_args_is_help=True,
    subcommand_metavar="PATTERN [OPTIONS]",
)


@app.callback()
def query() -> None:
    """Run a declared access pattern on AdminViewTable."""


def command(pattern: AccessPattern) -> Any:
    """Return the click command of an access pattern."""

    def execute(**arguments: Any) -> None:
        options = QueryOptions(**{name: arguments[name] for name in OPTION_NAMES})
        texts = {
            name: arguments[PREFIX + name]
            for name in pattern.parameters
            if arguments[PREFIX + name] is not None
        }
        run(registry(), pattern, texts, options)

    own = [_parameter(pattern, name) for name in pattern.parameters]
    shared = signature(QueryOptions).parameters.values()
    execute.__signature__ = Signature([*own, *shared])  # type: ignore[attr-defined]  # typer reads it
    single = typer.Typer(add_completion=False)
    single.command(pattern.name, help=help_text(f"{pattern.about}, from {pattern.place}."))(execute)
    return get_command(single)


def option_of(name: str) -> str:
    """Return the option of a parameter: --name, or --parameter-name if every query has --name."""
    flag = _flag(name)
    return f"--parameter-{flag.removeprefix('--')}" if flag in _reserved() else flag


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


@cache
def _reserved() -> frozenset[str]:
    """Return the options that every query has."""

    def execute(**_: Any) -> None:
        """Take the options, and do nothing."""

    shared = signature(QueryOptions).parameters.values()
    execute.__signature__ = Signature([*shared])  # type: ignore[attr-defined]  # typer reads it
    single = typer.Typer(add_completion=False)
    single.command()(execute)
    options = [option for declared in get_command(single).params for option in declared.opts]
    return frozenset([*options, "--help"])


def _parameter(pattern: AccessPattern, name: str) -> Parameter:
    """Declare the option of one parameter. Its help shows the key conditions that use it."""
    shape = pattern.shape()["conditions"]
    conditions = [condition for (condition,) in shape if f"{{{name}}}" in condition]
    type_ = pattern.parameters[name]
    text = f"{WORDS[type_].capitalize()}, as in {' and '.join(conditions)}"
    if name in pattern.optional:
        text += "; optional"
    if option_of(name) != _flag(name):
        text += f". Not {_flag(name)}, which every query has"
    option = typer.Option(
        option_of(name),
        help=help_text(text),
        metavar=METAVARS[type_],
    )
    kind, prefixed = Parameter.KEYWORD_ONLY, PREFIX + name
    if name in pattern.optional:
        return Parameter(prefixed, kind, default=None, annotation=Annotated[str | None, option])
    return Parameter(prefixed, kind, annotation=Annotated[str, option])
