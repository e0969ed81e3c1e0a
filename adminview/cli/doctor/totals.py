"""Check the totals: their table, and the mapping through which the view's changes reach them."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

from adminview.aws.table_description import TableDescription, TableIndex
from adminview.cli.deployment.deployment import Deployment
from adminview.cli.deployment.stacks import TABLE, TOTALS, VIEW
from adminview.cli.doctor.finding import Check, Fault, State, Verdict
from adminview.cli.doctor.mappings import (
    MAPPING,
    evaluate_filters,
    evaluate_settings,
    evaluate_state,
)
from adminview.cli.doctor.tables import KEY, key_of
from adminview.model.stream import VIEW_TYPE
from adminview.model.total import EXPIRES, RANKING

UNREAD: Final = "no change reaches the totals"
ON, TURNING_ON = "ENABLED", "ENABLING"  # states of the TTL
REBUILD: Final = (
    "if changes were not read for 24 hours, declare a new epoch of each total, and apply it "
    "(docs/runbook.md#totals-lag)"
)


def checks(deployment: Deployment) -> Iterator[Check]:
    """List the checks of the Totals stack, if there is one."""
    part = deployment.part(TOTALS)
    for table in part.of(TABLE):
        yield Check(f"totals {table.name}", partial(fetch_table, deployment, table.name))
    for mapping in part.of(MAPPING):
        yield Check("mapping of the totals", partial(fetch_mapping, deployment, mapping.name))


def fetch_table(deployment: Deployment, name: str) -> Verdict:
    restore = deployment.restore(deployment.part(TOTALS))
    table = deployment.table(name)
    if table is None:
        advice = f"restore it from a backup, or {restore}; then declare a new epoch of each total"
        return [Fault(f"table {name} does not exist", advice)], ""
    expiry = deployment.aws.call("dynamodb", "DescribeTimeToLive", TableName=name)
    faults = evaluate_table(table, expiry.get("TimeToLiveDescription") or {}, restore)
    return faults, f"active, with index {RANKING.name}; empty totals expire"


def evaluate_table(
    table: TableDescription, expiry: Mapping[str, Any], restore: str
) -> Iterator[Fault]:
    """Report what is wrong with the totals table."""
    if not table.ready:
        yield Fault(f"it is {table.status}", "wait until it is active, and run this again")
    if (key := key_of(table)) != KEY:
        names = ", ".join(name for name, _ in key)
        problem = f"its key is {names}: this table is not a totals table"
        yield Fault(problem, "name the right deployment")
    index = table.index(RANKING.name)
    if index is None:
        yield Fault(f"index {RANKING.name} is deleted: ranked queries fail", restore)
    elif not index.ready:
        again = "wait until it is active, and run this again"
        yield Fault(f"index {RANKING.name} is {index.status}", again, State.WARNING)
    elif not index.is_equivalent(TableIndex.of(RANKING.shape())):
        yield Fault(
            f"index {RANKING.name} has another key or projection than was deployed", restore
        )
    status, attribute = expiry.get("TimeToLiveStatus"), expiry.get("AttributeName")
    if status not in (ON, TURNING_ON):
        problem = f"its TTL is {status or 'off'}: empty totals stay, and cost storage"
        yield Fault(problem, restore, State.WARNING)
    elif attribute != EXPIRES:
        yield Fault(f"its TTL is on {attribute}, not on {EXPIRES}: it deletes totals", restore)


def fetch_mapping(deployment: Deployment, uuid: str) -> Verdict:
    mapping = deployment.aws.find("lambda", "GetEventSourceMapping", UUID=uuid)
    (view,) = deployment.part(VIEW).of(TABLE)
    faults = evaluate_mapping(deployment, uuid, mapping, deployment.table(view.name))
    return faults, "enabled, with the deployed settings"


def evaluate_mapping(
    deployment: Deployment,
    uuid: str,
    mapping: Mapping[str, Any] | None,
    view: TableDescription | None,
) -> Iterator[Fault]:
    """Report what is wrong with the mapping, or with the stream that it reads."""
    part = deployment.part(TOTALS)
    restore = deployment.restore(part)
    if mapping is None:
        yield Fault(f"it is deleted: {UNREAD}", f"{restore}; {REBUILD}")
    if view is not None:  # a missing table is reported by its own check
        yield from _stream_faults(view, mapping)
    if mapping is None:
        return
    yield from evaluate_state(mapping, UNREAD)
    yield from evaluate_filters(mapping, REBUILD)
    yield from evaluate_settings(deployment, part, uuid, mapping)


def _stream_faults(view: TableDescription, mapping: Mapping[str, Any] | None) -> Iterator[Fault]:
    """Report a stream that is off, or another one: turning it off and on creates a new one."""
    again = "delete the Totals stack and its table, and follow docs/runbook.md#totals-silence"
    if view.stream_type is None:
        yield Fault(f"table {view.name} has no stream: {UNREAD}", again)
    elif view.stream_type != VIEW_TYPE:
        problem = f"the stream of {view.name} carries {view.stream_type}, not {VIEW_TYPE}"
        yield Fault(f"{problem}: totals are wrong", again)
    elif mapping is not None and mapping.get("EventSourceArn") != view.stream_arn:
        read = mapping.get("EventSourceArn")
        yield Fault(
            f"it reads {read}, but the table's stream is {view.stream_arn}: {UNREAD}", again
        )
