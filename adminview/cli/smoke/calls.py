"""Checks 4, 13 and 14: how DynamoDB treats connections, old signatures and transactions."""

from json import dumps
from typing import Any, Final

from adminview.cli.smoke.check import Cleanup, Seen, SmokeCheck, UnknownError, failed, passed
from adminview.cli.smoke.run import SmokeRun
from adminview.model.delivery import IN_DOUBT_SECONDS
from adminview.model.row import DATA, OWNER_INDEX, RECONCILED, key_image, provenance

CALLS: Final = 20
IDLE_SECONDS: Final = 5.0  # between the two halves: longer than a read timeout of the functions
RECENT_SECONDS: Final = 120.0  # a request of this age is accepted
OK: Final = 200
TRANSACTION_UNITS: Final = 2.0  # as DynamoDB Local counts a small row: the table and each index


def reuse_connection(run: SmokeRun, _: Cleanup) -> Seen:
    """Make calls one after the other with the functions' own client, and count connections."""
    if not run.wire.has_tls:
        msg = "the endpoint of DynamoDB has no TLS"
        raise UnknownError(msg)
    client = run.wire.direct_client()
    body = _get_item(run)
    seconds = []
    for call in range(CALLS):
        if call == CALLS // 2:
            run.pause(IDLE_SECONDS)
        began = run.clock()
        client.call("GetItem", body)
        run.calls["dynamodb:GetItem"] += 1
        seconds.append(run.clock() - began)
    first, rest = seconds[0] * 1000, sorted(seconds[1:])[CALLS // 2] * 1000
    line = (
        f"{CALLS} calls, {IDLE_SECONDS:.0f} s idle after half of them: {client.opened} "
        f"connections; the first call took {first:.0f} ms, the others {rest:.0f} ms"
    )
    if client.opened == 1:
        return passed(line)
    advice = "check for a proxy between you and DynamoDB; if there is none, report it"
    return failed(line, advice)


def refuse_old_request(run: SmokeRun, _: Cleanup) -> Seen:
    """Send requests that were signed some minutes ago."""
    body = _get_item(run)
    recent, old = (
        run.wire.post("GetItem", body, run.now() - age).status
        for age in (RECENT_SECONDS, IN_DOUBT_SECONDS)
    )
    run.calls["dynamodb:GetItem"] += 2
    line = (
        f"a request signed {RECENT_SECONDS:.0f} s ago: status {recent}; "
        f"one signed {IN_DOUBT_SECONDS} s ago: status {old}"
    )
    if recent != OK:
        msg = f"{line}; so this shows nothing"
        raise UnknownError(msg, "check the clock of this machine, and dynamodb:GetItem")
    if old == OK:
        advice = "report it: a late call could arrive after its in-doubt dead letter was replayed"
        return failed(line, advice)
    return passed(line)


def measure_transaction(run: SmokeRun, cleanup: Cleanup) -> Seen:
    """Put a small row in a transaction, and read the units of its owner index."""
    table, key = run.settings.view_table, (f"SMOKE#{run.mark}", "TRANSACTION")
    stamp = provenance(f"smoke/{run.mark}", RECONCILED, run.now(), run.model.fingerprint)
    cleanup.add(
        "a row of the view",
        lambda: run.delete_row(key),
    )
    row = {**key_image(key), DATA: {"M": {}}, **stamp}
    response = run.call(
        "dynamodb",
        "TransactWriteItems",
        TransactItems=[{"Put": {"TableName": table, "Item": row}}],
        ReturnConsumedCapacity="INDEXES",
    )
    if not response.get("ConsumedCapacity"):
        msg = "the response does not state the consumed units"
        raise UnknownError(msg)
    (consumed,) = response["ConsumedCapacity"]
    units = _units(consumed["Table"])
    indexes = consumed.get("GlobalSecondaryIndexes", {})
    of_index = _units(indexes.get(OWNER_INDEX.name, {}))
    line = f"the table {units:g} units, its owner index {of_index:g}"
    if (units, of_index) == (TRANSACTION_UNITS, TRANSACTION_UNITS):
        return passed(line)
    return failed(line, "report it: the comparison of totals in docs/scale.md is then wrong")


def _units(consumed: dict[str, Any]) -> float:
    return float(consumed.get("WriteCapacityUnits") or consumed.get("CapacityUnits") or 0)


def _get_item(run: SmokeRun) -> bytes:
    """Return the body of a small read: a row that does not exist."""
    key = key_image((f"SMOKE#{run.mark}", "NONE"))
    request = {"TableName": run.settings.view_table, "Key": key, "ReturnConsumedCapacity": "TOTAL"}
    return dumps(request).encode()


CHECKS: Final = (
    SmokeCheck(
        4,
        "DynamoDB keeps a TLS connection for the next call",
        f"one connection serves {CALLS} calls of the functions' own client",
        reuse_connection,
        minutes=0.2,
        cents=0.1,
        only_on_aws=True,
    ),
    SmokeCheck(
        13,
        "DynamoDB refuses a request that was signed six minutes ago",
        "no call arrives after its in-doubt dead letter is replayed",
        refuse_old_request,
        minutes=0.1,
        cents=0.1,
        only_on_aws=True,
    ),
    SmokeCheck(
        14,
        "A transaction consumes as many units of an index as DynamoDB Local counts",
        f"{TRANSACTION_UNITS:g} write units of the table and {TRANSACTION_UNITS:g} of the index",
        measure_transaction,
        minutes=0.1,
        cents=0.1,
        only_on_aws=True,
    ),
)
