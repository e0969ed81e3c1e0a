"""The `adminview` command."""

import os
import signal
import sys
from importlib.metadata import version as installed_version
from pathlib import Path
from threading import Event
from typing import Annotated

import typer

from adminview.aws.settings import QUEUE_URL
from adminview.cli.commands import dlq, item, model, query
from adminview.cli.commands.backfill import backfill, sweep
from adminview.cli.commands.cost import cost
from adminview.cli.commands.doctor import doctor
from adminview.cli.commands.init import init
from adminview.cli.commands.migrate import migrate
from adminview.cli.commands.plan import apply, plan
from adminview.cli.commands.serve import serve
from adminview.cli.commands.sql import sql
from adminview.cli.commands.verify import verify
from adminview.cli.endpoints import use_region
from adminview.cli.errors import EXPLAINED, Commands, report_error
from adminview.cli.output import catalogue
from adminview.cli.output.printing import Console, echo, print_traceback
from adminview.local.engines import EngineName
from adminview.model.row import VIEW_TABLE
from adminview.views import registry

app = typer.Typer(
    cls=Commands,
    help="Keep a DynamoDB read model in sync with many source tables.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
)


def _print_version(asked: bool) -> None:  # noqa: FBT001 - typer's
    if asked:
        echo(installed_version("adminview"))
        raise typer.Exit


@app.callback()
def adminview(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", is_eager=True, callback=_print_version, help="Print the version."
        ),
    ] = False,
) -> None:
    """Keep a DynamoDB read model in sync with many source tables."""


@app.command()
def demo(
    engine: Annotated[
        EngineName, typer.Option(help="Which local engine to run on.")
    ] = EngineName.MOTO,
    *,
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave it running, for the other commands to ask.")
    ] = False,
) -> None:
    """Show the product at work: a small shop on an embedded engine, in under a minute."""
    from adminview.cli.commands.demo import demo as play  # noqa: PLC0415 - engines are slow to import

    play(engine, Console(), keep=keep)


@app.command()
def patterns(
    *, markdown: Annotated[bool, typer.Option(help="As docs/patterns.md has them.")] = False
) -> None:
    """Print the questions that AdminViewTable answers."""
    if markdown:
        echo(catalogue.markdown(registry()))
    else:
        Console().print(catalogue.catalogue(registry()))


@app.command()
def local(
    *,
    view_table: Annotated[str, typer.Option(help="The view's table.")] = VIEW_TABLE,
    queue_url: Annotated[str, typer.Option(help="Where dead letters go.", envvar=QUEUE_URL)] = "",
    letters: Annotated[
        Path, typer.Option(help="Where dead letters go if there is no queue: a line each.")
    ] = Path("dead-letters.jsonl"),
    create: Annotated[bool, typer.Option(help="Create the tables that are missing.")] = False,
) -> None:
    """Follow every source's stream at AWS_ENDPOINT_URL with the real sync, until stopped."""
    from adminview.cli.commands import local as follower  # noqa: PLC0415 - clients are slow to import

    settings = follower.settings_for(registry(), os.environ, view_table, queue_url)
    if create:
        for name in follower.create_missing(registry(), settings):
            echo(f"created {name}")
    stop = Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    follower.follow(registry(), settings, letters, echo, stop)
    echo("stopped; nothing is lost: the next start begins at the oldest record")


app.command()(init)
app.add_typer(query.app, name="query")
app.command()(sql)
app.command()(serve)
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
app.command()(cost)


def main() -> None:
    """Run the command; an error that can be explained is explained, not traced."""
    use_region(os.environ)
    sys.path.insert(0, os.getcwd())  # noqa: PTH109 - the app's own packages: views and migrations
    try:
        app()
    except EXPLAINED as error:
        report_error(error)
        raise SystemExit(1) from None
    except Exception:  # noqa: BLE001 - Python itself would print its text unescaped
        print_traceback()
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
