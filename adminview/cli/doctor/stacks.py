"""Check that the stacks exist, are stable, and run one model."""

from collections.abc import Iterator
from functools import partial
from typing import Final

from adminview.cli.deployment.deployment import DeployedStack, Deployment
from adminview.cli.deployment.stacks import (
    API,
    FAILED,
    NOTHING,
    RECOVERY,
    SOURCES,
    SYNC,
    TOTALS,
    WATCH,
)
from adminview.cli.doctor.finding import Check, Fault, State, Verdict
from adminview.model import Registry
from adminview.model.errors import AdminViewError

SETTLED: Final = ("CREATE_COMPLETE", "UPDATE_COMPLETE", "IMPORT_COMPLETE")
# The update was rolled back completely.
ROLLED_BACK: Final = ("UPDATE_ROLLBACK_COMPLETE", "IMPORT_ROLLBACK_COMPLETE")
STREAM: Final = "AWS::Lambda::EventSourceMapping"


def checks(deployment: Deployment, registry: Registry) -> Iterator[Check]:
    for name, part in deployment.parts.items():
        absent = not part.id and not part.trouble
        if absent and name == SOURCES and not _needed(deployment):
            continue
        if absent and name == TOTALS and not _has_totals(deployment, registry):
            continue
        yield Check(f"stack {part.name}", partial(evaluate_stack, part, deployment))
    if deployment.part(SYNC).stack:
        yield Check("model", partial(evaluate_model, deployment))
        yield Check("view files", partial(evaluate_files, deployment, registry))
    if deployment.part(API).stack:
        yield Check("access patterns", partial(evaluate_patterns, deployment))


def evaluate_stack(part: DeployedStack, deployment: Deployment) -> Verdict:
    """Report a stack that is missing, in progress, or rolled back."""
    if part.trouble:
        raise part.trouble
    return _stack_faults(part, deployment), part.status


def _stack_faults(part: DeployedStack, deployment: Deployment) -> Iterator[Fault]:
    status, again = part.status, deployment.deploy()
    if status in FAILED:
        yield Fault(
            f"{status}: its first deployment failed",
            f"{_events(part)} shows why; then {deployment.retry(part)} "
            "(docs/runbook.md#failed-first-deployment)",
        )
    elif not status or status in NOTHING:
        problem = f"it is {status}: it was never created" if status else "it does not exist"
        problem = f"{problem} in this account and region"
        if part.name == deployment.part(WATCH).name:  # the others work without it
            yield Fault(f"{problem}: there are no alarms", deployment.deploy(part), State.WARNING)
            return
        yield Fault(problem, again)
    elif status in ROLLED_BACK:
        problem = f"{status}: the last deployment failed and was rolled back"
        yield Fault(problem, f"{_events(part)} shows why; then {again}", State.WARNING)
    elif status.endswith("_IN_PROGRESS"):
        yield Fault(
            f"{status}: a deployment is in progress", "wait until it has ended, and run this again"
        )
    elif status == "UPDATE_ROLLBACK_FAILED":
        resume = f"aws cloudformation continue-update-rollback --stack-name {part.name}"
        yield Fault(f"{status}: partly updated", f"{_events(part)} shows why; then {resume}")
    elif status not in SETTLED:
        yield Fault(f"it is {status}", f"{_events(part)} shows why")


def evaluate_model(deployment: Deployment) -> Verdict:
    """Report functions of different models."""
    models = {
        part: model
        for part in (SYNC, RECOVERY, API)
        if (stack := deployment.part(part).stack) and (model := stack.fingerprint())
    }
    listed = ", ".join(f"{part} {model}" for part, model in models.items())
    faults = []
    if len(set(models.values())) > 1:
        changing = bool(deployment.part(API).stack and deployment.pending)
        state = State.WARNING if changing else State.PROBLEM
        faults = [Fault(f"the stacks run several models: {listed}", _apply(deployment), state)]
    elif SYNC not in models:
        faults = [Fault(f"the functions of {SYNC} have no or several models", deployment.deploy())]
    return faults, f"all run {models.get(SYNC)}"


def evaluate_files(deployment: Deployment, registry: Registry) -> Verdict:
    """Warn if the local view files are not the deployed model."""
    stack, local = deployment.part(SYNC).stack, registry.fingerprint
    deployed = stack.fingerprint() if stack else None
    problem = f"the local ones are model {local}, but model {deployed} is deployed"
    plan = f"adminview plan {deployment.options} shows what a deployment would change"
    faults = [] if local == deployed else [Fault(problem, plan, State.WARNING)]
    return faults, f"as deployed: {local}"


def evaluate_patterns(deployment: Deployment) -> Verdict:
    """Report the access patterns that are not ready, and what builds their rows."""
    pending = sorted({*deployment.pending, *deployment.unbuilt})
    problem = f"not ready: {', '.join(pending)}"
    faults = [Fault(problem, how_to_build(deployment), State.WARNING)] if pending else []
    return faults, "all are ready"


def how_to_build(deployment: Deployment) -> str:
    """Return the command that shows the build, and the one that completes it."""
    apply = f"adminview apply {deployment.options}"
    if not (execution := deployment.built.get("execution")):
        return f"{apply} builds their rows"
    status = f"aws stepfunctions describe-execution --execution-arn {execution}"
    return f"{status} shows whether a build is running; if not, {apply} completes it"


def _needed(deployment: Deployment) -> bool:
    """Return whether there must be a Sources stack: not if all tables are imported."""
    mappings = deployment.part(SYNC).of(STREAM)
    streams = [mapping.properties.get("EventSourceArn") for mapping in mappings]
    return not streams or not all(isinstance(arn, str) for arn in streams)


def _has_totals(deployment: Deployment, registry: Registry) -> bool:
    """Return whether the deployed model has totals; if there is none, the local one."""
    try:
        model = deployment.part(SYNC).description() or registry.description()
    except (AdminViewError, ValueError):
        return False  # reported by the check of the model
    return bool(model.get("totals"))


def _apply(deployment: Deployment) -> str:
    return f"adminview apply {deployment.options} deploys the model of the local view files"


def _events(part: DeployedStack) -> str:
    return f"aws cloudformation describe-stack-events --stack-name {part.name}"
