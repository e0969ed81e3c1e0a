"""`adminview doctor`: check a deployment and print what to do."""

import json
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count
from typing import Final

import typer

from adminview.aws.aws_calls import UNREADABLE
from adminview.aws.concurrency import map_concurrently
from adminview.aws.endpoints import ENDPOINT, is_loopback
from adminview.aws.stack_outputs import STAGE
from adminview.cli.deployment.deployment import Deployment
from adminview.cli.deployment.stacks import SYNC
from adminview.cli.doctor import (
    alarms,
    bulk_work,
    dead_letters,
    functions,
    mappings,
    roles,
    schedules,
    stacks,
    tables,
    totals,
)
from adminview.cli.doctor.finding import Check, Finding, Verdict, run_check
from adminview.cli.endpoints import check_endpoints
from adminview.cli.options import Json, Prefix, Stage
from adminview.cli.output.doctor import as_data, show
from adminview.cli.output.printing import Console, counting, doing, print_json
from adminview.model import Registry
from adminview.model.errors import SettingsError
from adminview.views import migrations, registry

# Of engines on this machine: of `adminview dev`, and of others that respond in another format.
NO_CLOUDFORMATION: Final = ("UnsupportedService", UNREADABLE)
HEALTHY, UNHEALTHY = 0, 1  # exit statuses
NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9-]*")  # valid in the name of a stack


def doctor(*, as_json: Json = False, stage: Stage = None, prefix: Prefix = "") -> None:
    """Check a deployment and print what to do.

    Checks stacks, tables and streams, event source mappings, indexes, totals,
    dead letters, functions, roles, schedules, alarms and bulk work. It changes
    nothing, and reads no source item and no row.

    Each check is ok; a warning (it works, but needs attention: dead letters
    wait, alarms notify nobody, a model change is in progress, a role has more
    permissions than were deployed); a problem; or unknown (AWS refused the
    call).

    Exit status: 0 all checks are ok or warnings, 1 some are problems or unknown.
    """
    named = _name(stage or STAGE, "--stage")
    if prefix:
        _name(prefix, "--prefix")
    check_endpoints(os.environ, "CLOUDFORMATION")
    deployment = Deployment.from_options(named, prefix)
    doing("reading the stacks")
    _refuse_engine(deployment)
    findings = examine(deployment, registry(), tuple(migrations()))
    status = UNHEALTHY if any(finding.fails for finding in findings) else HEALTHY
    if as_json:
        print_json(json.dumps(as_data(findings, status), indent=2))
    else:
        show(f"Deployment {prefix}{named}", findings, Console())
    raise typer.Exit(status)


def _refuse_engine(deployment: Deployment) -> None:
    """Raise a SettingsError if the environment names an engine that can have no deployment."""
    code = getattr(deployment.part(SYNC).trouble, "code", "")
    endpoint = deployment.environ.get(ENDPOINT, "")
    if is_loopback(endpoint) and code in NO_CLOUDFORMATION:
        msg = (
            f"{endpoint} has no CloudFormation, so there is no deployment to check; unset "
            f"{ENDPOINT} to check one on AWS. For a local engine there are `adminview check`, "
            "`adminview dlq list` and `adminview verify`"
        )
        raise SettingsError(msg)


def _name(text: str, option: str) -> str:
    """Reject an invalid name: AWS would only report that there is no such stack."""
    if not NAME.fullmatch(text):
        msg = f"{text!r} is not valid in a stack name: use letters, digits and -, a letter first"
        raise typer.BadParameter(msg, param_hint=option)
    return text


def examine(
    deployment: Deployment,
    model: Registry,
    migrated: Sequence[str] = (),
    now: Callable[[], float] = time.time,
) -> list[Finding]:
    """Run all checks of a deployment concurrently."""
    checks = [*stacks.checks(deployment, model)]
    if deployment.part(SYNC).stack:  # its outputs list the sources
        checks += _list("sources", lambda: tables.source_checks(deployment))
        checks += _list("mappings", lambda: mappings.checks(deployment))
        checks += bulk_work.checks(deployment, migrated, now)
    for module in (tables, totals, dead_letters, functions, schedules):
        checks += module.checks(deployment)
    checks += (*alarms.checks(deployment, now), *roles.checks(deployment))
    done = count(1)

    def run(check: Check) -> Finding:
        finding = run_check(check)
        counting(f"{next(done)} of {len(checks)} checks done")
        return finding

    return map_concurrently(run, checks)


def _list(name: str, list_checks: Callable[[], Iterator[Check]]) -> list[Check]:
    """List checks. If that fails, return a check that raises the error."""
    try:
        return [*list_checks()]
    except Exception as error:  # noqa: BLE001 - `run_check` handles all errors
        return [Check(name, partial(_raise, error))]


def _raise(error: Exception) -> Verdict:
    raise error
