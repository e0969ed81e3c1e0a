"""Check the tables: their keys, streams and indexes, and that nobody can delete them."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from adminview.aws.table_description import TableDescription, TableIndex
from adminview.cli.deployment.deployment import Deployment
from adminview.cli.deployment.facts import Declared
from adminview.cli.deployment.stacks import API, SYNC, TABLE, VIEW
from adminview.cli.doctor.finding import Check, Fault, State, Verdict
from adminview.model.attribute import PK, SK
from adminview.model.row import OWNER_INDEX
from adminview.model.stream import VIEW_TYPE, replace, turn_on

KEY: Final = [[PK.name, PK.type], [SK.name, SK.type]]  # of the view table
WAIT: Final = "wait until it is active, and run this again"
AGAIN: Final = (
    "Then run this again: a stream that is turned on is a new one and needs a new mapping"
)


def source_checks(deployment: Deployment) -> Iterator[Check]:
    for source in deployment.settings.sources:
        yield Check(f"source {source}", partial(fetch_source, deployment, source))


def checks(deployment: Deployment) -> Iterator[Check]:
    """Yield the checks of the view table, and of the protection if the tables are retained."""
    if any(part.retains_tables for part in deployment.parts.values()):
        yield Check("protection", partial(fetch_protection, deployment))
    for table in deployment.part(VIEW).of(TABLE):
        yield Check(f"view {table.name}", partial(fetch_view, deployment, table.name))


def fetch_source(deployment: Deployment, source: str) -> Verdict:
    name = deployment.settings.sources[source]
    table = deployment.table(name)
    model = deployment.part(SYNC).description()
    keys = {shape["name"]: shape["key"] for shape in model["sources"]} if model else {}
    faults = evaluate_source(name, table, keys.get(source))
    return faults, f"table {name} is active, its stream {VIEW_TYPE}"


def evaluate_source(
    name: str, table: TableDescription | None, declared: list[list[str]] | None
) -> Iterator[Fault]:
    """Report what is wrong with a source's table; *declared* is its key, as names and types."""
    if table is None:
        yield Fault(f"table {name} does not exist", f"restore table {name} from a backup")
        return
    if not table.ready:
        yield Fault(f"table {name} is {table.status}", WAIT)
    if declared is not None and (key := key_of(table)) != declared:
        problem = f"table {name} has the key {_words(key)}, but {_words(declared)} is declared"
        yield Fault(problem, "declare the source with the key of its table, and deploy that")
    if (kind := table.stream_type) is None:
        problem = f"table {name} has no stream: no change reaches the view"
        yield Fault(problem, f"{turn_on(name)}. {AGAIN}")
    elif kind != VIEW_TYPE:
        problem = f"the stream of {name} carries {kind}, not {VIEW_TYPE}"
        yield Fault(problem, f"{replace(name)}. {AGAIN}")


def key_of(table: TableDescription) -> list[list[str]]:
    """Return the names and types of a table's key, in the form of a source's description."""
    return [list(key) for key in table.key]


def _words(key: list[list[str]]) -> str:
    return ", ".join(f"{name} ({kind})" for name, kind in key)


def fetch_view(deployment: Deployment, name: str) -> Verdict:
    table = deployment.table(name)
    if table is None:
        advice = f"restore it, or {_restore(deployment)} and backfill"
        return [Fault(f"table {name} does not exist", advice)], ""
    faults = [*_table_faults(table), *evaluate_indexes(table.indexes, deployment)]
    return faults, f"active, with all of its {len(table.indexes)} indexes"


def _table_faults(table: TableDescription) -> Iterator[Fault]:
    if not table.ready:
        yield Fault(f"it is {table.status}", WAIT)
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
        yield Fault(f"index {name} is {index.status}", WAIT, State.WARNING)
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


def fetch_protection(deployment: Deployment) -> Verdict:
    stacks = [part.name for part in deployment.parts.values() if part.stack and not part.protected]
    # A missing table is reported by its own check.
    described = (deployment.table(table.name) for _, table in deployment.of(TABLE))
    tables = [table.name for table in described if table and not table.protected]
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
