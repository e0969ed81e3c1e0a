"""Check that each source's table exists, with the declared key and stream."""

from collections.abc import Iterator
from functools import partial
from typing import Final

from adminview.aws.aws_calls import Aws
from adminview.aws.table_description import TableDescription
from adminview.cli.deployment.deployment import Deployment
from adminview.cli.deployment.stacks import SYNC
from adminview.cli.doctor.finding import Check, Fault, Verdict
from adminview.model.stream import VIEW_TYPE, replace, turn_on

AGAIN: Final = (
    "Then run this again: a stream that is turned on is a new one and needs a new mapping"
)


def checks(aws: Aws, deployment: Deployment) -> Iterator[Check]:
    for source in deployment.settings.sources:
        yield Check(f"source {source}", partial(fetch_table, aws, deployment, source))


def fetch_table(aws: Aws, deployment: Deployment, source: str) -> Verdict:
    name = deployment.settings.sources[source]
    described = aws.find("dynamodb", "DescribeTable", TableName=name)
    table = TableDescription.of(described["Table"]) if described else None
    model = deployment.part(SYNC).description()
    keys = {shape["name"]: shape["key"] for shape in model["sources"]} if model else {}
    faults = evaluate_table(name, table, keys.get(source))
    return faults, f"table {name} is active, its stream {VIEW_TYPE}"


def evaluate_table(
    name: str, table: TableDescription | None, declared: list[list[str]] | None
) -> Iterator[Fault]:
    """Report what is wrong with a source's table; *declared* is its key, as names and types."""
    if table is None:
        yield Fault(f"table {name} does not exist", f"restore table {name} from a backup")
        return
    if not table.ready:
        yield Fault(
            f"table {name} is {table.status}", "wait until it is active, and run this again"
        )
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
