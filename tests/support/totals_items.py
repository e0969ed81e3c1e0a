"""The totals table in memory: UpdateItem with the expressions that the totals function uses."""

import re
from decimal import Context, Decimal, Inexact
from typing import Any

from botocore.exceptions import ClientError

from adminview.model.item import DIGITS
from tests.support.fakes import refusal

Wire = dict[str, Any]  # DynamoDB JSON as boto3 has it: binary as bytes
Key = tuple[str, str]

KEPT = Context(prec=DIGITS, traps=[Inexact])
CLAUSES = re.compile(r"\b(ADD|SET|REMOVE) ")
MOST_EXPRESSION = 4096  # bytes, set by DynamoDB


class TotalsItems:
    """Items by key. Its methods are boto3's."""

    def __init__(self) -> None:
        self.items: dict[Key, Wire] = {}

    def get_item(self, **request: Any) -> Wire:
        item = self.items.get(_key(request["Key"]))
        return {"Item": dict(item)} if item else {}

    def update_item(self, **request: Any) -> Wire:
        """Update an item if the condition is true; raises a ClientError if it is not."""
        key = _key(request["Key"])
        before = self.items.get(key)
        names: dict[str, str] = request["ExpressionAttributeNames"]
        values: dict[str, Wire] = request.get("ExpressionAttributeValues", {})
        if len(request["UpdateExpression"]) > MOST_EXPRESSION:
            raise _refusal("ValidationException")
        condition = request.get("ConditionExpression")
        if condition and not _holds(condition, before or {}, names, values):
            raise _condition_failed(request, before)
        after = dict(before or request["Key"])
        _, *clauses = CLAUSES.split(request["UpdateExpression"])
        for clause, actions in zip(clauses[::2], clauses[1::2], strict=True):
            for action in actions.split(","):
                _do(clause, action.split(), after, names, values)
        self.items[key] = after
        capacity = {"ConsumedCapacity": {"TableName": request["TableName"], "CapacityUnits": 1.0}}
        shown = {"Attributes": dict(after)} if request.get("ReturnValues") == "ALL_NEW" else {}
        return capacity | shown

    def delete_expired(self, now: float) -> list[Key]:
        """Delete what DynamoDB may delete by now, and return the keys."""
        over = [
            key
            for key, item in self.items.items()
            if "expires" in item and float(item["expires"]["N"]) <= now
        ]
        for key in over:
            del self.items[key]
        return over

    def amounts(self) -> dict[Key, dict[str, Decimal]]:
        """Return the numbers of each total that counts a row, without the time that it expires."""
        numbers = {
            key: {
                name: Decimal(value["N"])
                for name, value in item.items()
                if "N" in value and name != "expires"
            }
            for key, item in self.items.items()
        }
        return {key: amounts for key, amounts in numbers.items() if amounts["count"]}


def _key(item: Wire) -> Key:
    return item["PK"]["S"], item["SK"]["S"]


def _do(
    clause: str, action: list[str], item: Wire, names: dict[str, str], values: dict[str, Wire]
) -> None:
    name = names[action[0]]
    if name in ("PK", "SK"):
        raise _refusal("ValidationException")
    if clause == "REMOVE":
        item.pop(name, None)
    elif clause == "SET":
        assert action[1] == "="
        item[name] = values[action[2]]
    else:
        before, change = item.get(name, {"N": "0"}), values[action[1]]
        if "N" not in before or "N" not in change:
            raise _refusal("ValidationException")
        try:
            amount = KEPT.add(Decimal(before["N"]), Decimal(change["N"]))
        except Inexact:
            raise _refusal("ValidationException") from None
        item[name] = {"N": f"{amount.normalize(KEPT):f}" if amount else "0"}


def _holds(condition: str, item: Wire, names: dict[str, str], values: dict[str, Wire]) -> bool:
    """Evaluate terms joined by AND, in parts joined by OR."""
    return any(
        all(_term(term.split(), item, names, values) for term in part.split(" AND "))
        for part in condition.split(" OR ")
    )


def _term(term: list[str], item: Wire, names: dict[str, str], values: dict[str, Wire]) -> bool:
    if len(term) == 1:
        name = term[0].removeprefix("attribute_not_exists(").removesuffix(")")
        return names[name] not in item
    left, operator, right = term
    stored, bound = item.get(names[left]), values[right]
    if stored is None or stored.keys() != bound.keys():
        return False
    ((kind, low),), ((_, high),) = stored.items(), bound.items()
    if kind == "N":
        low, high = Decimal(low), Decimal(high)
    assert operator in ("<", "=")
    return bool(low < high if operator == "<" else low == high)


def _refusal(code: str) -> ClientError:
    return refusal(code, "UpdateItem")


def _condition_failed(request: Wire, item: Wire | None) -> ClientError:
    error = _refusal("ConditionalCheckFailedException")
    if item and request.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD":
        error.response["Item"] = dict(item)  # type: ignore[typeddict-unknown-key]
    return error
