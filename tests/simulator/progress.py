"""The progress table, and the conditions of its writes."""

from json import loads
from typing import Any

from adminview.bulk.lease_table import BUILT
from adminview.bulk.runs import BACKFILL
from adminview.model.readiness import FACTS, progress_table
from tests.simulator.calls import Calls
from tests.simulator.faults import Fault
from tests.support.fakes import TABLE, refusal

PROGRESS = progress_table(TABLE)
Attributes = dict[str, Any]


class ProgressRows:
    """Small items by run and segment. Its methods are boto3's."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._items: dict[tuple[str, str], Attributes] = {}

    @property
    def intent(self) -> set[str]:
        """The items in the intents of backfills: these are repaired in any case."""
        return {
            f"{run.partition('/')[2]}/{key['id']['S']}"
            for (run, _), item in self._items.items()
            if run.startswith(BACKFILL)
            for key in loads(item["state"]["S"])["intent"]
        }

    def completed_by(self, run: str) -> str:
        """Return the model whose code has completed a run last; "" if there is none."""
        item = self._items.get((BUILT, run))
        return str(loads(item[FACTS]["S"])["model"]) if item else ""

    def held_until(self, holder: str) -> float:
        """Return until when no other worker can take over a worker's segment."""
        held = [item for item in self._items.values() if item.get("holder") == {"S": holder}]
        return max((float(item["until"]["N"]) for item in held), default=0.0)

    def get(self, key: Attributes) -> Attributes:
        def effect(_: Fault | None) -> Attributes:
            item = self._items.get(_place(key))
            return {"Item": item, "shown": _intent(item)} if item else {"shown": "nothing"}

        return self._calls.make(f"GetItem {_name(key)}", effect)

    def query(self, request: Attributes) -> Attributes:
        assert request["ConsistentRead"]
        partition = request["ExpressionAttributeValues"][":pk"]["S"]

        def effect(_: Fault | None) -> Attributes:
            items = [self._items[place] for place in sorted(self._items) if place[0] == partition]
            return {"Items": items, "shown": str(len(items))}

        return self._calls.make(f"Query {partition}", effect)

    def put(self, item: Attributes, request: Attributes) -> Attributes:
        def effect(_: Fault | None) -> Attributes:
            self._check(item, request)
            self._items[_place(item)] = item
            return {}

        return self._calls.make(f"PutItem {_name(item)}, {_intent(item)}", effect)

    def delete(self, key: Attributes, request: Attributes) -> Attributes:
        def effect(_: Fault | None) -> Attributes:
            self._check(key, request)
            self._items.pop(_place(key), None)
            return {}

        return self._calls.make(f"DeleteItem {_name(key)}", effect)

    def _check(self, key: Attributes, request: Attributes) -> None:
        """Refuse a write whose condition does not hold."""
        item = self._items.get(_place(key), {})
        for condition in filter(None, request.get("ConditionExpression", "").split(" AND ")):
            if condition == "attribute_not_exists(#pk)":
                holds = not item
            else:
                name, value = condition.split(" = ")
                attribute = request["ExpressionAttributeNames"][name]
                holds = item.get(attribute) == request["ExpressionAttributeValues"][value]
            if not holds:
                raise refusal("ConditionalCheckFailedException")


def _place(key: Attributes) -> tuple[str, str]:
    return key["PK"]["S"], key["SK"]["S"]


def _name(key: Attributes) -> str:
    return f"{key['PK']['S']} {key['SK']['S'].lstrip('0') or '0'}"


def _intent(item: Attributes) -> str:
    return f"{item['state']['S']} by {item['holder']['S']}" if "state" in item else ""
