"""The items of the totals table: how an update changes one, its write units, the stub's response.

The name of a table says how many positions each of its items has: `Totals30`.
"""

import json
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, Final

from adminview.model.attribute import PK, SK
from adminview.model.item import normalize_number
from adminview.model.row import Attributes
from adminview.model.total import RANK, RANKING
from adminview.model.write_units import Units, write_units
from bench.totals.streams import item_before

TABLE: Final = "Totals"
ADDED: Final = re.compile(r"(#a\d+) (:a\d+)")
SET: Final = re.compile(r"(#p) = (:last)")
MARKER_UNITS: Final = 1  # of a marker that is put without a transaction


def table_with(positions: int) -> str:
    """Return the name of a table whose items have so many positions."""
    return f"{TABLE}{positions}"


def response(body: bytes) -> bytes:
    """Return the stub's response to an UpdateItem."""
    request = json.loads(body)
    content: dict[str, Any] = {
        "ConsumedCapacity": {"TableName": request["TableName"], "CapacityUnits": 1.0}
    }
    if request.get("ReturnValues") == "ALL_NEW":
        content["Attributes"] = updated(before(request), request)
    return json.dumps(content).encode()


def before(request: Mapping[str, Any]) -> Attributes:
    """Return the item that a request updates, as it was before the stream."""
    positions = int(request["TableName"].removeprefix(TABLE))
    is_ranked = RANK in request["ExpressionAttributeNames"].values()
    return item_before(request["Key"], positions, is_ranked=is_ranked)


def updated(item: Attributes, request: Mapping[str, Any]) -> Attributes:
    """Return an item after one of the benchmark's updates."""
    names, values = request["ExpressionAttributeNames"], request["ExpressionAttributeValues"]
    after = dict(item)
    for name, value in ADDED.findall(request["UpdateExpression"]):
        old = Decimal(after.get(names[name], {"N": "0"})["N"])
        after[names[name]] = {"N": normalize_number(old + Decimal(values[value]["N"]))}
    for name, value in SET.findall(request["UpdateExpression"]):
        after[names[name]] = values[value]
    return after


def units(requests: Iterable[Mapping[str, Any]]) -> Units:
    """Return the write units of updates and transactions, applied to items in memory."""
    items: dict[tuple[str, str], Attributes] = {}
    total = Units()
    for request in requests:
        if transaction := request.get("TransactItems"):
            consumed = Units(MARKER_UNITS)
            for update in (item["Update"] for item in transaction if "Update" in item):
                consumed += _update(items, update)
            total += consumed + consumed  # a write in a transaction takes twice as many units
        else:
            total += _update(items, request)
    return total


def _update(items: dict[tuple[str, str], Attributes], request: Mapping[str, Any]) -> Units:
    key = request["Key"][PK.name]["S"], request["Key"][SK.name]["S"]
    old = items.get(key) or before(request)
    items[key] = updated(old, request)
    return write_units(old, items[key], [RANKING])
