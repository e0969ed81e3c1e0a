"""`adminview smoke`: check on a deployment what cannot be checked offline."""

import json
import os
import secrets
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from boto3.session import Session
from botocore.config import Config

from adminview.aws.aws_calls import Aws
from adminview.aws.boto3_clients import CLIENT, service_client, streams_client
from adminview.aws.clients import Clients
from adminview.aws.settings import ITEMS_FILE, PREFIX, SYNC_STACK
from adminview.aws.stack_outputs import STAGE
from adminview.aws.transport.eligibility import StaticCredentials
from adminview.checks.read_sample import read_sample
from adminview.checks.sampled import SampleItem
from adminview.cli.deployment.deployment import Deployment
from adminview.cli.deployment.find import (
    check_model,
    check_queue,
    find_settings,
    invoke,
    replay_function_name,
)
from adminview.cli.deployment.read import tables_of
from adminview.cli.endpoints import check_endpoints
from adminview.cli.errors import UsageError, usage_errors
from adminview.cli.options import Json, Stage, Yes
from adminview.cli.output.printing import confirm, echo, print_json
from adminview.cli.output.smoke import as_data, listing, markdown
from adminview.cli.planning.cdk import CdkDeployer
from adminview.cli.planning.steps import Phase
from adminview.cli.shutdown import graceful_shutdown
from adminview.cli.smoke.catalogue import ALL, RunEstimate, run_checks, select
from adminview.cli.smoke.check import SmokeResult, SmokeStatus
from adminview.cli.smoke.cost import dollars
from adminview.cli.smoke.letters import LetterQueue
from adminview.cli.smoke.run import SmokeOptions, SmokeRun
from adminview.cli.smoke.wire import Wire
from adminview.dead_letters.replay import make_replayer
from adminview.item_files import LINE
from adminview.model.errors import SettingsError
from adminview.views import registry

SCRATCH_PREFIX: Final = "smoke-"
PROD: Final = "prod"
PASSED, NOT_PASSED = 0, 1  # exit statuses
MARK_BYTES: Final = 4
CALL_SECONDS: Final = 30.0


def smoke(  # noqa: PLR0913 - the command's options
    *,
    only: Annotated[
        str | None, typer.Option(metavar="NUMBERS", help="Only these checks, such as 3,7.")
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the checks and exit.")] = False,
    items: Annotated[
        list[str] | None,
        typer.Option(
            "--items-file",
            metavar="FILE",
            help=f"Sample items, one per line: {LINE}; may be repeated. By default the file that "
            f"{ITEMS_FILE} names.",
        ),
    ] = None,
    imported: Annotated[
        bool, typer.Option("--imported", help="Write scratch items to imported tables too.")
    ] = False,
    allow_prod: Annotated[
        bool, typer.Option("--allow-prod", help="Run on the stage prod.")
    ] = False,
    api_url: Annotated[
        str, typer.Option(help="URL of the API, if it has a domain of its own.")
    ] = "",
    as_json: Json = False,
    yes: Yes = False,
    stage: Stage = None,
    prefix: Annotated[
        str, typer.Option(help="Prefix of the deployment, as in cdk.json.", envvar=PREFIX)
    ] = SCRATCH_PREFIX,
) -> None:
    """Check with scratch items that a deployment works on AWS.

    Writes scratch items and rows under keys of their own, reads logs and
    metrics, and deletes everything again, also after Ctrl-C. By default it uses
    the deployment with the prefix smoke-; `--prefix ""` names one without a
    prefix. It refuses prod unless you allow it.

    The report is Markdown, or JSON, without account numbers and data. A whole
    run takes less than 20 minutes, unless a deployment is slow, and costs a
    few cents.

    Exit status: 0 all checks passed or were skipped, 1 some failed or are unknown.
    """
    checks = select(_numbers(only))
    if list_:
        echo(listing([*ALL.values()]))
        return
    samples = _samples(items)
    # Searching a log takes longer than other calls.
    patient = partial(service_client, config=CLIENT.merge(Config(read_timeout=CALL_SECONDS)))
    aws = Aws(patient, timeout=2 * CALL_SECONDS)
    deployment = Deployment(aws, stage or STAGE, prefix, os.environ)
    _check_stage(deployment, allow_prod=allow_prod)
    interactive = sys.stdin.isatty() and not as_json
    options = SmokeOptions(
        imported, api_url, confirm if interactive else None, _deployer(deployment)
    )
    run = _prepare(deployment, samples, options)
    estimate = RunEstimate.of(checks)
    most = f"about {estimate.minutes:.0f} minutes, at most {estimate.cents:.0f} cents"
    echo(f"{len(checks)} checks of {prefix}{deployment.stage}: {most}", err=True)
    if interactive and not yes:
        confirm("Write scratch items and run the checks?", abort=True)
    with graceful_shutdown(run.stop):
        results = [*run_checks(checks, run, partial(echo, err=True))]
    status = _status(results)
    facts = _facts(run)
    if as_json:
        print_json(json.dumps(as_data(results, facts, status), indent=2))
    else:
        echo(markdown(results, facts))
    raise typer.Exit(status)


def _numbers(only: str | None) -> list[int] | None:
    if only is None:
        return None
    numbers = []
    for word in only.split(","):
        if not word.strip().isdecimal():
            msg = f"{word.strip()!r} is not the number of a check; expected numbers such as 3,7"
            raise typer.BadParameter(msg, param_hint="--only")
        numbers.append(int(word))
    return numbers


def _check_stage(deployment: Deployment, *, allow_prod: bool) -> None:
    """Raise an error for prod, and for a deployment that does not exist."""
    check_endpoints(deployment.environ, "CLOUDFORMATION")
    described = deployment.described(SYNC_STACK)
    if described is None:
        msg = (
            f"there is no stack {deployment.name_of(SYNC_STACK)!r}: deploy a scratch copy with "
            f"`{deployment.deploy()}`, or name another deployment with --stage and --prefix"
        )
        raise SettingsError(msg)
    protected = bool(described.get("EnableTerminationProtection"))
    if (deployment.stage == PROD or protected) and not allow_prod:
        msg = "this deployment is in production use: smoke runs on it only with --allow-prod"
        raise UsageError(msg)


def _prepare(
    deployment: Deployment, samples: Sequence[SampleItem], options: SmokeOptions
) -> SmokeRun:
    """Connect to the deployment; raises a SettingsError if its model is not the local one."""
    model = registry()
    settings = find_settings(model, deployment)
    check_model(model, settings)
    check_queue(settings)
    replayer = make_replayer(model, settings, Clients(), streams_client())
    queue = LetterQueue(replayer, partial(invoke, replay_function_name(deployment)))
    mark = f"smoke-{secrets.token_hex(MARK_BYTES)}"
    return SmokeRun(deployment, model, settings, samples, mark, _wire(), queue, options)


def _samples(items: Sequence[str] | None) -> list[SampleItem]:
    """Read the sample items before anything is called: a wrong file is a usage error."""
    named = os.environ.get(ITEMS_FILE)
    files = items or ([named] if named and Path(named).exists() else [])
    with usage_errors():
        return read_sample(files, registry())


def _wire() -> Wire:
    session, client = Session(), service_client("dynamodb")
    credentials = session.get_credentials()
    keys = credentials.get_frozen_credentials() if credentials else None
    if keys is None or not keys.access_key or not keys.secret_key:
        msg = "there are no AWS credentials"
        raise SettingsError(msg)
    static = StaticCredentials(keys.access_key, keys.secret_key, keys.token)
    return Wire(static, client.meta.region_name, client.meta.endpoint_url)


def _deployer(deployment: Deployment) -> Any:
    tables = tables_of(deployment)

    def deploy(folder: Path, stacks: Sequence[str]) -> None:
        CdkDeployer(deployment.stage, deployment.prefix, tables, folder).deploy(stacks, Phase())

    return deploy


def _facts(run: SmokeRun) -> Mapping[str, Any]:
    """Return what the report says about the run: no name, no account, no data."""
    seconds = run.now() - run.began_at
    cost = dollars(run.calls, run.sent_bytes)
    where = "a local cloud" if run.on_local_cloud else run.wire.region
    installed = "unknown"
    with suppress(LookupError, ImportError):
        installed = version("adminview")
    return {
        "AdminView": installed,
        "model": run.model.fingerprint,
        "region": where,
        "minutes": round(seconds / 60, 1),
        "calls": run.calls.total(),
        "dollars, at most": round(cost + 0.005, 2),
    }


def _status(results: Sequence[SmokeResult]) -> int:
    passed = (SmokeStatus.PASSED, SmokeStatus.SKIPPED)
    return PASSED if all(result.seen.status in passed for result in results) else NOT_PASSED
