"""The build function: starts to build the rows of a model when it is deployed.

CloudFormation invokes it in each deployment that changes the model, and waits only for its answer.
A schedule invokes it too: it reports how long access patterns have not been ready, and starts a
build that could not be started before.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from json import dumps
from typing import Any, Final

from adminview.aws.clients import Clients
from adminview.aws.custom_resource import DELETE, REQUEST_TYPE, succeed
from adminview.aws.observability import BuildObserver
from adminview.aws.retry import Backoff
from adminview.aws.settings import BACKFILL_MACHINE
from adminview.aws.state_machine import StateMachine
from adminview.bulk.build import BUILD
from adminview.bulk.builds import DEPLOYMENT, PLAN, BuildRecord, Builds
from adminview.bulk.lease_table import LeaseTable
from adminview.model.readiness import progress_table
from adminview.runtime import InvocationContext, read_settings
from adminview.views import registry

OWNERS: Final = (DEPLOYMENT, PLAN)
ANSWER_SECONDS: Final = 15.0  # to answer CloudFormation before Lambda ends the invocation


@dataclass(frozen=True, slots=True)
class BuildDependencies:
    """What the function needs; tests pass their own."""

    builds: Builds
    start: Callable[[str, str], str]  # name and input of an execution -> its ARN
    observer: BuildObserver


def handle(event: Mapping[str, Any], context: InvocationContext) -> dict[str, Any]:
    """Check, and always answer CloudFormation that the resource is as requested.

    A deployment neither fails nor hangs if the build cannot be started: its rollback would fail for
    the same reason. The invocation fails after the answer, and Lambda repeats it twice.
    """
    with ThreadPoolExecutor(1) as pool:
        try:
            seconds = context.get_remaining_time_in_millis() / 1000 - ANSWER_SECONDS
            return pool.submit(lambda: run(event, context, dependencies())).result(seconds)
        finally:
            if REQUEST_TYPE in event:
                succeed(event, BUILD)


@cache
def dependencies() -> BuildDependencies:
    """Build the dependencies of this container from its environment, once."""
    settings, clients = read_settings(), Clients()
    table = LeaseTable(clients.dynamodb, progress_table(settings.view_table), Backoff())
    machine = StateMachine.from_env(BACKFILL_MACHINE)
    observer = BuildObserver(service=settings.service)
    return BuildDependencies(
        Builds(table, registry().description(), table.now), machine.start, observer
    )


def run(
    event: Mapping[str, Any], context: InvocationContext, dependencies: BuildDependencies
) -> dict[str, Any]:
    """Check for an event of CloudFormation, or of the schedule."""
    dependencies.observer.invoked(context.aws_request_id)
    if event.get(REQUEST_TYPE) == DELETE:
        return {}
    owner = event.get("ResourceProperties", {}).get("Owner")
    stack = str(event.get("StackId", ""))
    return _check(owner if owner in OWNERS else None, stack, dependencies)


def _check(owner: str | None, stack: str, dependencies: BuildDependencies) -> dict[str, Any]:
    """Start a build if rows are missing and none was started; report what is not ready."""
    builds = dependencies.builds
    record, missing = builds.deployed(owner, stack), builds.missing()
    if missing and record.owner == DEPLOYMENT and not record.execution:
        execution = dependencies.start(_name_of(record), dumps(_input_of(record)))
        builds.started(execution)
    waited = builds.now() - record.since if missing else 0.0
    report = {
        "model": record.model,
        "owner": record.owner,
        "unbuilt": len(missing.unbuilt),
        "stale": len(missing.stale),
        "patterns": len(missing.patterns),
    }
    dependencies.observer.checked(report, waited)
    return report


def _name_of(record: BuildRecord) -> str:
    """Return the same name for each attempt to start the build of one deployment."""
    return f"{BUILD}-{record.model}-{record.since:.0f}"


def _input_of(record: BuildRecord) -> dict[str, str]:
    return {"task": BUILD, "model": record.model}
