"""Whether the view's table is there, with the indexes that its questions ask."""

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
    """List what is to be looked at."""
    for one in deployment.part(VIEW).of(TABLE):
        yield Check(f"view {one.name}", partial(fetch_view, aws, deployment, one.name))


def fetch_view(aws: Aws, deployment: Deployment, name: str) -> Verdict:
    """Look at the view's table, and at its indexes."""
    found = aws.find("dynamodb", "DescribeTable", TableName=name)
    if found is None:
        lost = Fault(
            f"there is no table {name}", f"restore it, or {_restore(deployment)} and backfill"
        )
        return [lost], ""
    table = TableDescription.of(found["Table"])
    faults = [*_table_faults(table), *evaluate_indexes(table.indexes, deployment)]
    return faults, f"active, with all of its {len(table.indexes)} indexes"


def _table_faults(table: TableDescription) -> Iterator[Fault]:
    if not table.ready:
        yield Fault(f"it is {table.status}", "wait until it is active, and ask again")
    if (key := key_of(table)) != KEY:
        names = ", ".join(name for name, _ in key)
        yield Fault(f"its key is {names}, not {PK.name}, {SK.name}", "this table is another's")


def evaluate_indexes(there: Sequence[TableIndex], deployment: Deployment) -> Iterator[Fault]:
    """Compare the indexes that are there with what was deployed, and with what is asked."""
    stack = deployment.part(VIEW).stack
    asked_for = {one.name: one for one in stack.indexes()} if stack else {}
    found = {one.name: one for one in there}
    for name, wanted in asked_for.items():
        yield from _index_faults(name, wanted, found.get(name), deployment)
    for name in found.keys() - asked_for.keys():
        seen = f"index {name} was made by hand: it costs writes, and nobody asks it"
        yield Fault(seen, _delete(deployment, name), State.WARNING)
    yield from _question_faults(found, asked_for, deployment)


def _index_faults(
    name: str, wanted: TableIndex, found: TableIndex | None, deployment: Deployment
) -> Iterator[Fault]:
    if found is None:
        yield Fault(f"index {name} is gone", _restore(deployment))
        return
    if not found.ready:
        state = f"index {name} is {found.status}"
        yield Fault(state, "wait until it is active, and ask again", State.WARNING)
    if not found.same(wanted):
        seen = f"index {name} has another key or carries other attributes than was deployed"
        yield Fault(seen, f"delete it ({_delete(deployment, name)}), then {_restore(deployment)}")


def _question_faults(
    found: Mapping[str, TableIndex], asked_for: Mapping[str, TableIndex], deployment: Deployment
) -> Iterator[Fault]:
    """Find indexes that the deployed questions need, and the View stack was never told of."""
    model = deployment.part(API).description()
    if model is None:
        return
    pending, apply = deployment.pending, f"adminview apply {deployment.options}"
    needed = {OWNER_INDEX.name: "repairs"}
    for shape in model["patterns"]:
        asked = pending.get(shape["name"]) or shape["index"]
        if asked and (shape["name"] not in pending or pending[shape["name"]]):
            needed.setdefault(asked, f"question {shape['name']}")
    declared = Declared(model).indexes
    for name, by in needed.items():
        if name not in found and name not in asked_for:
            yield Fault(f"there is no index {name}, which {by} needs", apply)
        elif (there := found.get(name)) and name in declared and not there.same(declared[name]):
            if name in asked_for and not there.same(asked_for[name]):
                continue  # said already
            yield Fault(f"index {name} is not as {by} needs it", apply)


def _restore(deployment: Deployment) -> str:
    return deployment.restore(deployment.part(VIEW))


def _delete(deployment: Deployment, name: str) -> str:
    table = deployment.part(VIEW).of(TABLE)[0].name
    update = f'[{{"Delete":{{"IndexName":"{name}"}}}}]'
    command = f"aws dynamodb update-table --table-name {table}"
    return f"{command} --global-secondary-index-updates '{update}'"
