"""`adminview doctor`: look at a deployment, and say what to do."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import typer
from rich.console import Console

from cli.deployment import STAGE
from cli.doctor_report import as_data, show
from cli.doctoring import functions, letters, mappings, roles, sources, stacks, view, work
from cli.doctoring.asking import Aws, look
from cli.doctoring.finding import Check, Finding, Verdict
from cli.doctoring.site import Site
from cli.evolution.step import SYNC
from cli.options import Json, Prefix, Stage
from lambdas.aws.together import together
from lambdas.migrations import migrations
from lambdas.model import Registry
from lambdas.model.errors import SettingsError
from lambdas.views import registry

SOUND, UNSOUND = 0, 1


def doctor(*, as_json: Json = False, stage: Stage = None, prefix: Prefix = "") -> None:
    """Check a deployment, and print what to do.

    Looked at: stacks, tables and streams, mappings, indexes, letters,
    functions, roles, schedules, alarms, bulk work. Nothing is changed, and no
    item of a source or of the view is read.

    Each check is ok; a warning (it works, and somebody should know: letters
    wait, a change of the model is under way, a role may do more than was
    deployed); a problem; or unknown (AWS would not tell).

    Exit status: 0 all is ok or a warning, 1 something is a problem or unknown.
    """
    named = stage or STAGE
    aws = Aws()
    findings = examine(aws, Site.read(aws, named, prefix), registry(), tuple(migrations()))
    status = UNSOUND if any(one.fails for one in findings) else SOUND
    if as_json:
        typer.echo(json.dumps(as_data(findings, status), indent=2))
    else:
        show(f"Deployment {prefix}{named}", findings, Console())
    raise typer.Exit(status)


def examine(
    aws: Aws,
    site: Site,
    model: Registry,
    migrated: Sequence[str] = (),
    now: Callable[[], float] = time.time,
) -> list[Finding]:
    """Make all checks of a deployment, some at once."""
    found = [*stacks.checks(site, model)]
    if site.part(SYNC).stack:  # it tells what the sources are
        found += _known("sources", lambda: sources.checks(aws, site))
        found += _known("mappings", lambda: mappings.checks(aws, site))
        found += work.checks(aws, site, migrated, now)
    for module in (view, letters, functions, roles):
        found += module.checks(aws, site)
    return together(look, found)


def _known(name: str, list_checks: Callable[[], Iterator[Check]]) -> list[Check]:
    """List checks; that they cannot be listed is found by a check of its own."""
    try:
        return [*list_checks()]
    except SettingsError as error:
        return [Check(name, partial(_raise, error))]


def _raise(error: SettingsError) -> Verdict:
    raise error
