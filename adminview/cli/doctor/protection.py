"""Check that a stage that keeps its data also refuses to delete it."""

from collections.abc import Iterator, Sequence
from functools import partial

from adminview.aws.aws_calls import Aws
from adminview.aws.table_description import TableDescription
from adminview.cli.deployment.deployment import DeployedStack, Deployment
from adminview.cli.deployment.stacks import RETAINED, TABLE
from adminview.cli.doctor.finding import Check, Fault, State, Verdict


def checks(aws: Aws, deployment: Deployment) -> Iterator[Check]:
    """Yield the check, if the tables are retained: other stages are not protected."""
    if any(_retains(part) for part in deployment.parts.values()):
        yield Check("protection", partial(fetch_protection, aws, deployment))


def fetch_protection(aws: Aws, deployment: Deployment) -> Verdict:
    stacks = [part.name for part in deployment.parts.values() if part.stack and not part.protected]
    tables = []
    for _, table in deployment.of(TABLE):
        described = aws.find("dynamodb", "DescribeTable", TableName=table.name)
        # A missing table is reported by its own check.
        if described and not TableDescription.of(described["Table"]).protected:
            tables.append(table.name)
    return evaluate_protection(deployment, stacks, tables), "stacks and tables refuse deletion"


def evaluate_protection(
    deployment: Deployment, stacks: Sequence[str], tables: Sequence[str]
) -> Iterator[Fault]:
    """Report the stacks and tables that anybody with access can delete."""
    unprotected = [
        f"{kind} {', '.join(names)}"
        for kind, names in (("stacks", stacks), ("tables", tables))
        if names
    ]
    if unprotected:
        yield Fault(
            f"not protected from deletion: {'; '.join(unprotected)}",
            'set "protect": true under "adminview" in cdk.json, then '
            f"{deployment.deploy()} (add --revert-drift if it was set before)",
            State.WARNING,
        )


def _retains(part: DeployedStack) -> bool:
    """Return whether the tables of a stack outlive it."""
    resources = part.stack.template.get("Resources", {}) if part.stack else {}
    return any(
        resource.get("DeletionPolicy") in RETAINED
        for resource in resources.values()
        if resource.get("Type") == TABLE
    )
