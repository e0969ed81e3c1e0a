"""`adminview doctor`: look at a deployment, and say what to do."""

import json
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

import typer

from adminview.aws.concurrency import map_concurrently
from adminview.cli.deployment.deployment import STAGE, Deployment
from adminview.cli.deployment.stacks import SYNC
from adminview.cli.doctor import (
    alarms,
    callers,
    functions,
    mappings,
    roles,
    schedules,
    sources,
    stacks,
    view,
)
from adminview.cli.doctor import bulk_work as work
from adminview.cli.doctor import dead_letters as letters
from adminview.cli.doctor.finding import Check, Finding, Verdict, run_check
from adminview.cli.endpoints import check_endpoints
from adminview.cli.options import Json, Prefix, Stage
from adminview.cli.output.doctor import as_data, show
from adminview.cli.output.printing import Console, print_json
from adminview.model import Registry
from adminview.views import migrations, registry

SOUND, UNSOUND = 0, 1
NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9-]*")  # what can be part of the name of a stack


def doctor(*, as_json: Json = False, stage: Stage = None, prefix: Prefix = "") -> None:
    """Check a deployment, and print what to do.

    Looked at: stacks, tables and streams, mappings, indexes, letters,
    functions, roles, schedules, alarms, bulk work. Nothing is changed, and no
    item of a source or of the view is read.

    Each check is ok; a warning (it works, and somebody should know: letters
    wait, nobody hears of alarms, a change of the model is under way, a role
    may do more than was deployed); a problem; or unknown (AWS would not tell).

    Exit status: 0 all is ok or a warning, 1 something is a problem or unknown.
    """
    named = _name(stage or STAGE, "--stage")
    if prefix:
        _name(prefix, "--prefix")
    check_endpoints(os.environ, "CLOUDFORMATION")
    deployment = Deployment.from_options(named, prefix, os.environ)
    findings = examine(deployment, registry(), tuple(migrations()))
    status = UNSOUND if any(one.fails for one in findings) else SOUND
    if as_json:
        print_json(json.dumps(as_data(findings, status), indent=2))
    else:
        show(f"Deployment {prefix}{named}", findings, Console())
    raise typer.Exit(status)


def _name(given: str, option: str) -> str:
    """Refuse what no stack can be called: to AWS there merely is no such stack."""
    if not NAME.fullmatch(given):
        msg = f"{given!r} can be in no stack's name: use letters, digits and -, a letter first"
        raise typer.BadParameter(msg, param_hint=option)
    return given


def examine(
    deployment: Deployment,
    model: Registry,
    migrated: Sequence[str] = (),
    now: Callable[[], float] = time.time,
) -> list[Finding]:
    """Make all checks of a deployment, some at once."""
    aws = deployment.aws
    found = [*stacks.checks(deployment, model)]
    if deployment.part(SYNC).stack:  # it tells what the sources are
        found += _known("sources", lambda: sources.checks(aws, deployment))
        found += _known("mappings", lambda: mappings.checks(aws, deployment))
        found += work.checks(aws, deployment, migrated, now)
    for module in (view, letters, functions, callers, schedules):
        found += module.checks(aws, deployment)
    found += (*alarms.checks(aws, deployment, now), *roles.checks(aws, deployment))
    return map_concurrently(run_check, found)


def _known(name: str, list_checks: Callable[[], Iterator[Check]]) -> list[Check]:
    """List checks; that they cannot be listed is found by a check of its own."""
    try:
        return [*list_checks()]
    except Exception as error:  # noqa: BLE001 - `run_check` tells what is known from a surprise
        return [Check(name, partial(_raise, error))]


def _raise(error: Exception) -> Verdict:
    raise error
