"""Check that the view table exists, with the indexes that its access patterns use."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from adminview.aws.table_description import TableDescription, TableIndex
from adminview.cli.deployment.aws_calls import Aws
from adminview.cli.deployment.deployment import Deployment
from adminview.cli.deployment.facts import Declared
from adminview.cli.deployment.stacks import API, TABLE, VIEW
from adminview.cli.doctor.finding import Check, Fault, State, Verdict
from adminview.cli.doctor.sources import key_of
from adminview.model.attribute import PK, SK
from adminview.model.row import OWNER_INDEX

KEY = [[PK.name, PK.type], [SK.name, SK.type]]


def checks(aws: Aws, deployment: Deployment) -> Iterator[Check]:
    for table in deployment.part(VIEW).of(TABLE):
        yield Check(f"view {table.name}", partial(fetch_view, aws, deployment, table.name))


def fetch_view(aws: Aws, deployment: Deployment, name: str) -> Verdict:
    described = aws.find("dynamodb", "DescribeTable", TableName=name)
    if described is None:
        advice = f"restore it, or {_restore(deployment)} and backfill"
        return [Fault(f"table {name} does not exist", advice)], ""
    table = TableDescription.of(described["Table"])
    faults = [*_table_faults(table), *evaluate_indexes(table.indexes, deployment)]
    return faults, f"active, with all of its {len(table.indexes)} indexes"


def _table_faults(table: TableDescription) -> Iterator[Fault]:
    if not table.ready:
        yield Fault(f"it is {table.status}", "wait until it is active, and run this again")
    if (key := key_of(table)) != KEY:
        names = ", ".join(name for name, _ in key)
        yield Fault(
            f"its key is {names}, not {PK.name}, {SK.name}",
            "this table is not a view table: name the right deployment",
        )


def evaluate_indexes(indexes: Sequence[TableIndex], deployment: Deployment) -> Iterator[Fault]:
    """Compare the indexes with the template, and with what the access patterns need."""
    stack = deployment.part(VIEW).stack
    deployed = {index.name: index for index in stack.indexes()} if stack else {}
    existing = {index.name: index for index in indexes}
    for name, expected in deployed.items():
        yield from _index_faults(name, expected, existing.get(name), deployment)
    for name in existing.keys() - deployed.keys():
        problem = f"index {name} was created by hand: it costs writes, and nothing uses it"
        yield Fault(problem, _delete(deployment, name), State.WARNING)
    yield from _pattern_faults(existing, deployed, deployment)


def _index_faults(
    name: str, expected: TableIndex, index: TableIndex | None, deployment: Deployment
) -> Iterator[Fault]:
    if index is None:
        yield Fault(f"index {name} is deleted", _restore(deployment))
        return
    if not index.ready:
        problem = f"index {name} is {index.status}"
        yield Fault(problem, "wait until it is active, and run this again", State.WARNING)
    if not index.is_equivalent(expected):
        problem = f"index {name} has another key or projection than was deployed"
        yield Fault(
            problem, f"delete it ({_delete(deployment, name)}), then {_restore(deployment)}"
        )


def _pattern_faults(
    existing: Mapping[str, TableIndex], deployed: Mapping[str, TableIndex], deployment: Deployment
) -> Iterator[Fault]:
    """Report indexes that the deployed access patterns need and the View stack does not have."""
    model = deployment.part(API).description()
    if model is None:
        return
    pending, apply = deployment.pending, f"adminview apply {deployment.options}"
    needed = {OWNER_INDEX.name: "repairs"}
    for shape in model["patterns"]:
        used = pending.get(shape["name"]) or shape["index"]
        if used and (shape["name"] not in pending or pending[shape["name"]]):
            needed.setdefault(used, f"access pattern {shape['name']}")
    declared = Declared(model).indexes
    for name, user in needed.items():
        if name not in existing and name not in deployed:
            yield Fault(f"index {name}, which {user} needs, does not exist", apply)
        elif (
            (index := existing.get(name))
            and name in declared
            and not index.is_equivalent(declared[name])
        ):
            if name in deployed and not index.is_equivalent(deployed[name]):
                continue  # reported by _index_faults
            yield Fault(f"index {name} differs from what {user} needs", apply)


def _restore(deployment: Deployment) -> str:
    return deployment.restore(deployment.part(VIEW))


def _delete(deployment: Deployment, name: str) -> str:
    table = deployment.part(VIEW).of(TABLE)[0].name
    update = f'[{{"Delete":{{"IndexName":"{name}"}}}}]'
    command = f"aws dynamodb update-table --table-name {table}"
    return f"{command} --global-secondary-index-updates '{update}'"
