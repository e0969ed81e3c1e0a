"""Whether the stacks are there, settled, and of one model."""

from collections.abc import Iterator
from functools import partial
from typing import Final

from adminview.cli.deployment.deployment import DeployedStack, Deployment
from adminview.cli.deployment.stacks import API, NOTHING, RECOVERY, SOURCES, SYNC, WATCH
from adminview.cli.doctor.finding import Check, Fault, State, Verdict
from adminview.model import Registry

SETTLED: Final = ("CREATE_COMPLETE", "UPDATE_COMPLETE", "IMPORT_COMPLETE")
# The change was taken back whole: what was there before is there again.
TAKEN_BACK: Final = ("UPDATE_ROLLBACK_COMPLETE", "IMPORT_ROLLBACK_COMPLETE")
STREAM: Final = "AWS::Lambda::EventSourceMapping"


def checks(deployment: Deployment, registry: Registry) -> Iterator[Check]:
    """List what is to be looked at."""
    for part, one in deployment.parts.items():
        if part == SOURCES and not one.id and not one.trouble and not _needed(deployment):
            continue
        yield Check(f"stack {one.name}", partial(evaluate_stack, one, deployment))
    if deployment.part(SYNC).stack:
        yield Check("model", partial(evaluate_model, deployment))
        yield Check("view files", partial(evaluate_files, deployment, registry))
    if deployment.part(API).stack:
        yield Check("questions", partial(evaluate_patterns, deployment))


def evaluate_stack(part: DeployedStack, deployment: Deployment) -> Verdict:
    """Tell whether a stack is there, and not in the middle of something."""
    if part.trouble:
        raise part.trouble
    return _stack_faults(part, deployment), part.status


def _stack_faults(part: DeployedStack, deployment: Deployment) -> Iterator[Fault]:
    status, again = part.status, deployment.deploy()
    if not status or status in NOTHING:
        seen = f"it is {status}: it was never made" if status else "there is no such stack"
        seen = f"{seen} in this account and region"
        if part.name == deployment.part(WATCH).name:  # the rest works without
            silent = f"{seen}: nobody is told of anything"
            yield Fault(silent, deployment.deploy(part), State.WARNING)
            return
        yield Fault(seen, again)
    elif status in TAKEN_BACK:
        seen = f"{status}: the last deployment failed, and was taken back"
        yield Fault(seen, f"{_events(part)} says why; then {again}", State.WARNING)
    elif status.endswith("_IN_PROGRESS"):
        yield Fault(f"{status}: somebody changes it now", "wait until it has ended, and ask again")
    elif status == "UPDATE_ROLLBACK_FAILED":
        resume = f"aws cloudformation continue-update-rollback --stack-name {part.name}"
        yield Fault(f"{status}: half changed", f"{_events(part)} says why; then {resume}")
    elif status not in SETTLED:
        yield Fault(f"it is {status}", f"{_events(part)} says why")


def evaluate_model(deployment: Deployment) -> Verdict:
    """Tell whether all functions are of one model."""
    found = {
        part: model
        for part in (SYNC, RECOVERY, API)
        if (stack := deployment.part(part).stack) and (model := stack.fingerprint())
    }
    each = ", ".join(f"{part} {model}" for part, model in found.items())
    faults = []
    if len(set(found.values())) > 1:
        changing = bool(deployment.part(API).stack and deployment.pending)
        state = State.WARNING if changing else State.PROBLEM
        faults = [Fault(f"the stacks are of several models: {each}", _go_on(deployment), state)]
    elif SYNC not in found:
        faults = [
            Fault("the functions of the sync do not say which model they are", deployment.deploy())
        ]
    return faults, f"all are {found.get(SYNC)}"


def evaluate_files(deployment: Deployment, registry: Registry) -> Verdict:
    """Tell whether the view files here are what is deployed; only a note if not."""
    stack, here = deployment.part(SYNC).stack, registry.fingerprint
    deployed = stack.fingerprint() if stack else None
    seen = f"here they are model {here}, and deployed is {deployed}"
    plan = f"adminview plan {deployment.options} says what a deployment would change"
    faults = [] if here == deployed else [Fault(seen, plan, State.WARNING)]
    return faults, f"those deployed: {here}"


def evaluate_patterns(deployment: Deployment) -> Verdict:
    """Tell which questions are not answered yet."""
    pending = sorted(deployment.pending)
    seen = f"being built: {', '.join(pending)}"
    faults = [Fault(seen, _go_on(deployment), State.WARNING)] if pending else []
    return faults, "none is being built"


def _needed(deployment: Deployment) -> bool:
    """Tell whether there must be a stack of sources: not if all of them are others' tables."""
    streams = [one.properties.get("EventSourceArn") for _, one in deployment.of(STREAM)]
    return not streams or not all(isinstance(one, str) for one in streams)


def _go_on(deployment: Deployment) -> str:
    return f"adminview apply {deployment.options} brings all to the model of the view files here"


def _events(part: DeployedStack) -> str:
    return f"aws cloudformation describe-stack-events --stack-name {part.name}"
