"""The `adminview` command."""

import os
import sys
from importlib.metadata import version as installed_version
from json import dumps
from typing import Annotated

import typer

from adminview.aws.endpoints import use_local_defaults, use_region
from adminview.cli.commands import dlq, item, model, query
from adminview.cli.commands.backfill import backfill, sweep
from adminview.cli.commands.check import check
from adminview.cli.commands.console import console
from adminview.cli.commands.cost import cost
from adminview.cli.commands.dev import dev
from adminview.cli.commands.doctor import doctor
from adminview.cli.commands.init import init
from adminview.cli.commands.migrate import migrate
from adminview.cli.commands.plan import apply, plan
from adminview.cli.commands.preview import preview
from adminview.cli.commands.serve import serve
from adminview.cli.commands.smoke import smoke
from adminview.cli.commands.sql import sql
from adminview.cli.commands.verify import verify
from adminview.cli.errors import EXPECTED_ERRORS, is_usage_error
from adminview.cli.options import Json
from adminview.cli.output.errors import EscapingGroup, report_error
from adminview.cli.output.printing import Console, activity, echo, print_json, print_traceback
from adminview.cli.output.tables import patterns_data, patterns_markdown, patterns_table
from adminview.local.engines import EngineName
from adminview.views import registry

app = typer.Typer(
    cls=EscapingGroup,
    help="Keep AdminViewTable in sync with your source tables, and query it.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
)


def _print_version(requested: bool) -> None:  # noqa: FBT001 - typer's
    if requested:
        echo(installed_version("adminview"))
        raise typer.Exit


@app.callback()
def adminview(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", is_eager=True, callback=_print_version, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Keep AdminViewTable in sync with your source tables, and query it."""


@app.command()
def demo(
    engine: Annotated[EngineName, typer.Option(help="Local engine to run on.")] = EngineName.MOTO,
    *,
    everything: Annotated[
        bool, typer.Option("--all", help="Print the rows of every access pattern.")
    ] = False,
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep running until Ctrl-C, for use by other commands.")
    ] = False,
) -> None:
    """Run a small shop on a local engine: changes, queries, a dead letter and its replay.

    Takes under a minute and needs no AWS account.
    """
    from adminview.cli.commands.demo import run_demo  # noqa: PLC0415 - engines are slow to import

    run_demo(engine, Console(), keep=keep, everything=everything)


@app.command()
def patterns(
    *,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print Markdown, as in docs/patterns.md.")
    ] = False,
    as_json: Json = False,
) -> None:
    """List the declared access patterns."""
    if markdown and as_json:
        msg = "--markdown and --json exclude each other"
        raise typer.BadParameter(msg)
    if as_json:
        print_json(dumps(patterns_data(registry()), indent=2, ensure_ascii=False))
    elif markdown:
        echo(patterns_markdown(registry()))
    else:
        Console().print(patterns_table(registry()))


app.command()(init)
app.command()(dev)
app.command()(preview)
app.command()(check)
app.add_typer(query.app, name="query")
app.command()(sql)
app.command()(serve)
app.command()(console)
app.add_typer(dlq.app, name="dlq")
app.command()(item.explain)
app.command()(item.reconcile)
app.command()(verify)
app.command()(backfill)
app.command()(sweep)
app.command()(migrate)
app.add_typer(model.app, name="model")
app.command()(plan)
app.command()(apply)
app.command()(doctor)
app.command()(smoke)
app.command()(cost)


def main() -> None:
    """Run the command. Print an expected error as one message, any other as a traceback.

    A usage error exits with status 2, as in click; any other error with 1.
    """
    use_region(os.environ)
    sys.path.insert(0, os.getcwd())  # noqa: PTH109 - views and migrations of the app
    try:
        use_local_defaults(os.environ)
        with activity():
            app()
    except EXPECTED_ERRORS as error:
        report_error(error)
        raise SystemExit(2 if is_usage_error(error) else 1) from None
    except Exception:  # noqa: BLE001 - Python would print its text unescaped
        print_traceback()
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
