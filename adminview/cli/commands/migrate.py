"""`adminview migrate`: set missing attributes on old items of a source table."""

import json
from dataclasses import replace
from functools import partial
from threading import Lock
from typing import Annotated

import typer

from adminview.aws.clients import Clients
from adminview.aws.rate_limit import RateLimiter
from adminview.aws.settings import MIGRATE_MACHINE_OUTPUT, Settings
from adminview.aws.table_scanner import TableScanner
from adminview.bulk.migrate import Migrate
from adminview.bulk.runs import MIGRATE, Bulk
from adminview.cli.bulk.migration_preview import Preview, Previewer
from adminview.cli.bulk.segment_pool import Limits, RunOptions, connect
from adminview.cli.bulk.state_machine import ExecutionRequest, as_event
from adminview.cli.commands.backfill import (
    Deployed,
    Restart,
    Segments,
    Tolerate,
    execute_run,
    run_on_aws,
)
from adminview.cli.deployment.deployment import Deployment
from adminview.cli.deployment.find import check_deployed, check_model, find_settings
from adminview.cli.deployment.stacks import RECOVERY
from adminview.cli.options import Json, MaxRcu, MaxWcu, Prefix, Stage, Yes
from adminview.cli.output.bulk import UNFINISHED
from adminview.cli.output.errors import exit_on_error
from adminview.cli.output.migrate import as_data, show, show_outcome, status
from adminview.cli.output.printing import Console, TextTable, confirm, doing
from adminview.cli.shutdown import graceful_shutdown
from adminview.model import Migration
from adminview.model.errors import RecordError, SettingsError
from adminview.model.row import Attributes
from adminview.sync.decode import routes
from adminview.views import migrations, migrations_package, registry

SAMPLE = 1000
LISTED = 20  # failing items to print


@exit_on_error(UNFINISHED)
def migrate(  # noqa: PLR0913 - a command's options
    name: Annotated[
        str | None, typer.Argument(help="Name of the migration; leave it out to list them all.")
    ] = None,
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be set and its cost; write nothing.")
    ] = False,
    sample: Annotated[
        int, typer.Option(min=1, metavar="ITEMS", help="Items to estimate from.")
    ] = SAMPLE,
    every: Annotated[bool, typer.Option("--all", help="Estimate from all items.")] = False,
    yes: Yes = False,
    segments: Segments = None,
    max_rcu: MaxRcu = None,
    max_wcu: MaxWcu = None,
    tolerate: Tolerate = 100,
    restart: Restart = False,
    deployed: Deployed = False,
    as_json: Json = False,
    stage: Stage = None,
    prefix: Prefix = "",
) -> None:
    """Set missing attributes on old items of a source table without stopping writes.

    An item is updated only if it has not changed since it was read, and no
    existing attribute is overwritten. It can be interrupted; the same command
    resumes it. A second run changes nothing.

    Exit status: 0 done, 1 done except for some items, 2 not finished.
    """
    if name is None:
        _list()
        return
    migration = _find(name)
    deployment = Deployment.from_options(stage, prefix)
    settings = find_settings(registry(), deployment)
    check_model(registry(), settings)
    console = Console()
    if dry_run or not yes:
        doing("reading items to estimate the migration")
        estimate = preview(migration, settings, max_rcu, None if every else sample)
        if dry_run and as_json:
            console.write_json(json.dumps(as_data(estimate), indent=2))
        elif dry_run or not as_json:
            show(estimate, max_wcu, console)
        if dry_run:
            return
        confirm("Update these items?", abort=True, err=True)
    options = RunOptions(segments, tolerate, restart, as_json)
    limits = Limits(max_rcu, max_wcu)
    if deployed:
        machine = deployment.output(RECOVERY, MIGRATE_MACHINE_OUTPUT)
        outcomes = run_on_aws(machine, settings, _order(migration, settings, options, limits))
        show_outcome(outcomes[0], [], console, as_json=as_json)
        raise typer.Exit(status(outcomes[0]))
    check = partial(check_deployed, registry(), deployment)
    _run(connect(registry(), settings, limits, check), name, options, console)


def _order(
    migration: Migration, settings: Settings, options: RunOptions, limits: Limits
) -> ExecutionRequest:
    event = {"task": MIGRATE, "migration": migration.name, **as_event(options, limits)}
    source = migration.source.name
    return ExecutionRequest(
        event, [f"{MIGRATE}/{migration.name}"], [settings.sources.get(source, source)]
    )


def preview(
    migration: Migration, settings: Settings, max_rcu: float | None, most: int | None
) -> Preview:
    """Estimate a migration from at most *most* items, or from all. Writes nothing."""
    by_source = {route.source: route for route in routes(registry(), settings.sources).values()}
    reader = TableScanner(Clients().dynamodb, RateLimiter(max_rcu))
    return Previewer(migration, by_source[migration.source], registry(), reader).preview(most)


class FailureList:
    """The first failing items. They are printed, and never logged."""

    def __init__(self) -> None:
        self.items: list[tuple[Attributes, RecordError]] = []
        self._lock = Lock()

    def __call__(self, key: Attributes, error: RecordError) -> None:
        with self._lock:
            if len(self.items) < LISTED:
                self.items.append((key, error))


def _run(bulk: Bulk, name: str, options: RunOptions, console: Console) -> None:
    """Execute the run, print its outcome, and exit with the status."""
    run = bulk.run(MIGRATE, name)
    failing = FailureList()
    worker = bulk.worker(run)
    assert isinstance(worker.task, Migrate)
    worker = replace(worker, task=replace(worker.task, report_error=failing))
    with graceful_shutdown() as stop:
        outcome = execute_run(bulk, run, options, stop, worker)
    show_outcome(outcome, failing.items, console, as_json=options.as_json)
    raise typer.Exit(status(outcome))


def _list() -> None:
    columns = ("name", "source", "sets", "what it does")
    listing = TextTable(f"Migrations declared in {migrations_package()}", *columns)
    for migration in migrations().values():
        sets = ", ".join(migration.sets)
        listing.add_row(migration.name, migration.source.name, sets, migration.about)
    Console().print(listing)


def _find(name: str) -> Migration:
    if name not in migrations():
        msg = f"no migration is named {name!r}; declared are {', '.join(migrations()) or 'none'}"
        raise SettingsError(msg)
    return migrations()[name]
