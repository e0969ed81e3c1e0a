"""The model: how it differs from another, and the lock that says which one was agreed on."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from adminview.aws.clients import Clients
from adminview.cli.deployment.deployment import Deployment
from adminview.cli.deployment.find import deployed_description, find_settings
from adminview.cli.deployment.stacks import SYNC
from adminview.cli.errors import EXPLAINED, explained, report_error
from adminview.cli.model_lock.lock import LOCK, Lock, read_description
from adminview.cli.model_lock.model_diff import Description, ModelDiff
from adminview.cli.options import Json, Prefix, Stage
from adminview.cli.output.printing import Console, echo, print_json, print_traceback
from adminview.cli.planning.cost import Estimate
from adminview.cli.planning.report import data, show
from adminview.cli.planning.sample import make_estimator
from adminview.local.settings import ENDPOINT
from adminview.model import Registry
from adminview.views import registry

SAME, DIFFERENT, TROUBLE = 0, 1, 2  # exit statuses, as of `diff`
NO_TABLES = (
    f"no tables were named: name a deployment with --stage and --prefix, or set {ENDPOINT} for a "
    "local engine"
)

app = typer.Typer(help="Compare the declared model with another, and lock it.")


@app.command()
def diff(
    *,
    against: Annotated[
        Path | None, typer.Option(help=f"A description such as {LOCK}, to compare with.")
    ] = None,
    sample: Annotated[
        int, typer.Option(min=1, help="Items of each source to reckon the costs from.")
    ] = 200,
    as_json: Json = False,
    stage: Stage = None,
    prefix: Prefix = "",
) -> None:
    """Say how the declared model differs, and what the change costs in write units.

    The other model is that of model.lock.json, or of a file, or what a named
    deployment has. The costs are reckoned from the deployment's own items, or
    from those of a local engine. Exit status: 0 the same, 1 another, 2 trouble.
    """
    try:
        deployment = Deployment.from_options(stage, prefix, os.environ)
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
    except EXPLAINED as error:
        report_error(error)
        status = TROUBLE  # 1 would say that the model is another
    except Exception:  # noqa: BLE001 - likewise
        print_traceback()
        status = TROUBLE
    raise typer.Exit(status)


@app.command()
def lock(
    *, reason: Annotated[str, typer.Option(help="Why the model changes, in some words.")]
) -> None:
    """Agree on the declared model: write model.lock.json, and its reason into MODEL_CHANGES.md."""
    files = Lock()
    files.write(registry().description(), reason, datetime.now(UTC).date())
    echo(f"wrote {files.path.name} and {files.changes.name}: commit both with the change")


def _other(against: Path | None, deployment: Deployment) -> tuple[Description | None, str]:
    """Find the model to compare with, and say where it is."""
    if against is not None:
        return read_description(against), str(against)
    if deployment.named:
        return deployed_description(deployment), f"stack {deployment.name_of(SYNC)}"
    files = Lock()
    return files.read(), files.path.name


def _costs(
    change: ModelDiff, model: Registry, deployment: Deployment, sample: int
) -> tuple[Estimate | None, str]:
    """Reckon the costs, or say why that cannot be done: the rest is worth showing."""
    if change.is_empty:
        return None, ""
    if not deployment.named and not deployment.local:
        return None, NO_TABLES
    try:
        settings = find_settings(model, deployment)
        estimator = make_estimator(change, model, settings, Clients().dynamodb, sample)
        return estimator.estimate(), ""
    except EXPLAINED as error:
        return None, explained(error)
