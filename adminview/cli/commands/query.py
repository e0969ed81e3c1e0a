"""`adminview query`: a command for each declared question, with an option for each parameter."""

from collections.abc import MutableMapping
from dataclasses import fields
from inspect import Parameter, Signature, signature
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from adminview.cli.output.printing import help_text
from adminview.cli.querying.answer import QueryOptions, run
from adminview.model import AccessPattern
from adminview.query.parameters import WORDS
from adminview.views import registry

GIVEN = "given_"  # before a parameter's name: it may be a word of Python, or an option of ours
METAVARS = {"S": "TEXT", "N": "NUMBER", "B": "BASE64"}


class Questions(TyperGroup):
    """The declared questions as commands, which are made when one is looked for.

    Not before: a view file with an error must not keep `adminview --help` or another command
    from working.
    """

    _made: dict[str, Any] | None = None

    @property
    def commands(self) -> MutableMapping[str, Any]:
        """Make the commands, once."""
        if self._made is None:
            declared = sorted(registry().patterns, key=lambda pattern: pattern.name)
            self._made = {pattern.name: command(pattern) for pattern in declared}
        return self._made

    @commands.setter
    def commands(self, _: MutableMapping[str, Any]) -> None:
        """Have none yet: they are not given, but made."""
        self._made = None


app = typer.Typer(
    cls=Questions,
    help="Ask AdminViewTable one of its declared questions.",
    no_args_is_help=True,
    subcommand_metavar="QUESTION [OPTIONS]",
)


@app.callback()
def query() -> None:
    """Ask AdminViewTable one of its declared questions."""


def command(pattern: AccessPattern) -> Any:
    """Make the command of one question."""

    def ask(**asked: Any) -> None:
        options = QueryOptions(**{one.name: asked[one.name] for one in fields(QueryOptions)})
        given = {
            name: asked[GIVEN + name]
            for name in pattern.parameters
            if asked[GIVEN + name] is not None
        }
        run(registry(), pattern, given, options)

    own = [_parameter(pattern, name) for name in pattern.parameters]
    shared = signature(QueryOptions).parameters.values()
    ask.__signature__ = Signature([*own, *shared])  # type: ignore[attr-defined]  # typer reads it
    single = typer.Typer(add_completion=False)
    single.command(pattern.name, help=help_text(f"{pattern.about}, from {pattern.place}."))(ask)
    return get_command(single)


def option_of(name: str) -> str:
    """Name the option of a parameter."""
    flag = f"--{name.replace('_', '-')}"
    taken = {"--all", "--help", *(f"--{one.name}" for one in fields(QueryOptions))}
    return f"--parameter-{flag.removeprefix('--')}" if flag in taken else flag


def _parameter(pattern: AccessPattern, name: str) -> Parameter:
    """Declare the option of one parameter; its help shows the key that it is part of."""
    conditions = [one for (one,) in pattern.shape()["conditions"] if f"{{{name}}}" in one]
    type_ = pattern.parameters[name]
    option = typer.Option(
        option_of(name),
        help=help_text(f"{WORDS[type_].capitalize()}, as in {' and '.join(conditions)}"),
        metavar=METAVARS[type_],
    )
    kind, named = Parameter.KEYWORD_ONLY, GIVEN + name
    if name in pattern.optional:
        return Parameter(named, kind, default=None, annotation=Annotated[str | None, option])
    return Parameter(named, kind, annotation=Annotated[str, option])
