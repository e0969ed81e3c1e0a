"""The progress table, and the conditions of its writes."""

from json import loads
from typing import Any

from adminview.bulk.lease_table import progress_table
from adminview.bulk.runs import BACKFILL
from tests.simulator.calls import Calls
from tests.simulator.faults import Fault
from tests.support.fakes import TABLE, refusal

PROGRESS = progress_table(TABLE)
Wire = dict[str, Any]


class ProgressRows:
    """Small items by run and segment. Its methods are boto3's."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._items: dict[tuple[str, str], Wire] = {}

    @property
    def intent(self) -> set[str]:
        """The items in the intents of backfills: these are repaired in any case."""
        return {
            f"{run.partition('/')[2]}/{key['id']['S']}"
            for (run, _), item in self._items.items()
            if run.startswith(BACKFILL)
            for key in loads(item["state"]["S"])["intent"]
        }

    def held_until(self, holder: str) -> float:
        """Return until when no other worker can take over a worker's segment."""
        held = [one for one in self._items.values() if one.get("holder") == {"S": holder}]
        return max((float(one["until"]["N"]) for one in held), default=0.0)

    def get(self, key: Wire) -> Wire:
        def effect(_: Fault | None) -> Wire:
            item = self._items.get(_place(key))
            return {"Item": item, "shown": _noted(item)} if item else {"shown": "nothing"}

        return self._calls.make(f"GetItem {_name(key)}", effect)

    def query(self, asked: Wire) -> Wire:
        assert asked["ConsistentRead"]
        partition = asked["ExpressionAttributeValues"][":pk"]["S"]

        def effect(_: Fault | None) -> Wire:
            found = [self._items[place] for place in sorted(self._items) if place[0] == partition]
            return {"Items": found, "shown": str(len(found))}

        return self._calls.make(f"Query {partition}", effect)

    def put(self, item: Wire, asked: Wire) -> Wire:
        def effect(_: Fault | None) -> Wire:
            self._check(item, asked)
            self._items[_place(item)] = item
            return {}

        return self._calls.make(f"PutItem {_name(item)}, {_noted(item)}", effect)

    def delete(self, key: Wire, asked: Wire) -> Wire:
        def effect(_: Fault | None) -> Wire:
            self._check(key, asked)
            self._items.pop(_place(key), None)
            return {}

        return self._calls.make(f"DeleteItem {_name(key)}", effect)

    def _check(self, key: Wire, asked: Wire) -> None:
        """Refuse a write whose condition does not hold."""
        item = self._items.get(_place(key), {})
        for condition in filter(None, asked.get("ConditionExpression", "").split(" AND ")):
            if condition == "attribute_not_exists(#pk)":
                holds = not item
            else:
                name, value = condition.split(" = ")
                attribute = asked["ExpressionAttributeNames"][name]
                holds = item.get(attribute) == asked["ExpressionAttributeValues"][value]
            if not holds:
                raise refusal("ConditionalCheckFailedException")


def _place(key: Wire) -> tuple[str, str]:
    return key["PK"]["S"], key["SK"]["S"]


def _name(key: Wire) -> str:
    return f"{key['PK']['S']} {key['SK']['S'].lstrip('0') or '0'}"


def _noted(item: Wire) -> str:
    return f"{item['state']['S']} by {item['holder']['S']}" if "state" in item else ""
