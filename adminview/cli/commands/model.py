"""`adminview model`: compare the declared model with another, and lock it."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from adminview.aws.clients import Clients
from adminview.aws.endpoints import ENDPOINT
from adminview.aws.error_hints import describe_error
from adminview.cli.deployment.deployment import Deployment
from adminview.cli.deployment.find import deployed_description, find_settings
from adminview.cli.deployment.stacks import SYNC
from adminview.cli.errors import EXPECTED_ERRORS, usage_errors
from adminview.cli.model_lock.lock import LOCK, Lock, read_description, validate_reason
from adminview.cli.model_lock.model_diff import Description, ModelDiff
from adminview.cli.options import Json, Prefix, Stage
from adminview.cli.output.errors import report_error
from adminview.cli.output.printing import Console, doing, echo, print_json, print_traceback
from adminview.cli.planning.cost import Estimate
from adminview.cli.planning.report import data, show
from adminview.cli.planning.sample import make_estimator
from adminview.model import Registry
from adminview.views import registry

SAME, DIFFERENT, TROUBLE = 0, 1, 2  # exit statuses, as of diff(1)
NO_TABLES = (
    "there are no tables to sample: name a deployment with --stage and --prefix, or set "
    f"{ENDPOINT} for a local engine"
)

app = typer.Typer(help="Compare the declared model with another, and lock it.")


@app.command()
def diff(
    *,
    against: Annotated[
        Path | None, typer.Option(help=f"Model file to compare with, in the format of {LOCK}.")
    ] = None,
    sample: Annotated[
        int,
        typer.Option(
            min=1, metavar="ITEMS", help="Items of each source to estimate the cost from."
        ),
    ] = 200,
    as_json: Json = False,
    stage: Stage = None,
    prefix: Prefix = "",
) -> None:
    """Show how the declared model differs from another, and what the change costs in write units.

    The other model is that of the deployment that --stage or --prefix names,
    of the --against file, or of model.lock.json. The cost is estimated from
    items of the deployment or of a local engine.

    Exit status: 0 the models are equal, 1 they differ, 2 an error occurred.
    """
    try:
        deployment = Deployment.from_options(stage, prefix)
        old, where = _other(against, deployment)
        change = ModelDiff.between(old, registry().description())
        estimate, trouble = _costs(change, registry(), deployment, sample)
        if as_json:
            print_json(json.dumps(data(change, estimate, trouble), indent=2))
        else:
            show(change, where, estimate, trouble, Console())
        status = SAME if change.is_empty else DIFFERENT
    except typer.BadParameter:
        raise
    except EXPECTED_ERRORS as error:
        report_error(error)
        status = TROUBLE  # 1 would mean that the models differ
    except Exception:  # noqa: BLE001 - likewise
        print_traceback()
        status = TROUBLE
    raise typer.Exit(status)


@app.command()
def lock(*, reason: Annotated[str, typer.Option(help="Why the model changes.")]) -> None:
    """Write the declared model to model.lock.json, and the reason to MODEL_CHANGES.md."""
    files = Lock()
    with usage_errors():
        reason = validate_reason(reason)
    files.write(registry().description(), reason, datetime.now(UTC).date())
    echo(f"wrote {files.path.name} and {files.changes.name}: commit both with the change")


def _other(against: Path | None, deployment: Deployment) -> tuple[Description | None, str]:
    """Return the model to compare with, and where it is from."""
    if against is not None:
        with usage_errors():
            return read_description(against), str(against)
    if deployment.named:
        return deployed_description(deployment), f"stack {deployment.name_of(SYNC)}"
    files = Lock()
    return files.read(), files.path.name


def _costs(
    change: ModelDiff, model: Registry, deployment: Deployment, sample: int
) -> tuple[Estimate | None, str]:
    """Return an estimate, or the reason why there is none: the diff is useful without it."""
    if change.is_empty:
        return None, ""
    if not deployment.named and not deployment.local:
        return None, NO_TABLES
    try:
        settings = find_settings(model, deployment)
        doing("reading items to estimate the cost")
        estimator = make_estimator(change, model, settings, Clients().dynamodb, sample)
        return estimator.estimate(), ""
    except EXPECTED_ERRORS as error:
        return None, describe_error(error)
