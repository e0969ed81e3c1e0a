"""Whether each source's table is there, with the key and the stream that are declared."""

from collections.abc import Iterator
from functools import partial
from typing import Final

from adminview.aws.table_description import TableDescription
from adminview.cli.deployment.aws_calls import Aws
from adminview.cli.deployment.deployment import Deployment
from adminview.cli.deployment.stacks import SYNC
from adminview.cli.doctor.finding import Check, Fault, Verdict
from adminview.model.stream import VIEW_TYPE, replace, turn_on

AGAIN: Final = "Then ask again: a stream that is turned on is a new one, and must be followed anew"


def checks(aws: Aws, deployment: Deployment) -> Iterator[Check]:
    """List what is to be looked at."""
    for source in deployment.settings.sources:
        yield Check(f"source {source}", partial(fetch_table, aws, deployment, source))


def fetch_table(aws: Aws, deployment: Deployment, source: str) -> Verdict:
    """Look at the table behind a source, and at its stream."""
    name = deployment.settings.sources[source]
    found = aws.find("dynamodb", "DescribeTable", TableName=name)
    table = TableDescription.of(found["Table"]) if found else None
    model = deployment.part(SYNC).description()
    keys = {one["name"]: one["key"] for one in model["sources"]} if model else {}
    faults = evaluate_table(name, table, keys.get(source))
    return faults, f"table {name} is active, its stream {VIEW_TYPE}"


def evaluate_table(
    name: str, table: TableDescription | None, declared: list[list[str]] | None
) -> Iterator[Fault]:
    """Find what is wrong with a source's table; *declared* are names and types of its key."""
    if table is None:
        yield Fault(f"there is no table {name}", f"restore table {name} from a backup")
        return
    if not table.ready:
        yield Fault(f"table {name} is {table.status}", "wait until it is active, and ask again")
    if declared is not None and (key := key_of(table)) != declared:
        seen = f"table {name} has the key {_words(key)}, and declared is {_words(declared)}"
        yield Fault(seen, "declare the source with the key that its table has, and deploy that")
    if (kind := table.stream_type) is None:
        seen = f"table {name} has no stream: no change of it is seen"
        yield Fault(seen, f"{turn_on(name)}. {AGAIN}")
    elif kind != VIEW_TYPE:
        seen = f"the stream of {name} carries {kind}, not {VIEW_TYPE}"
        yield Fault(seen, f"{replace(name)}. {AGAIN}")


def key_of(table: TableDescription) -> list[list[str]]:
    """List the names and types of a table's key, as a source is described."""
    return [list(key) for key in table.key]


def _words(key: list[list[str]]) -> str:
    return ", ".join(f"{name} ({kind})" for name, kind in key)
