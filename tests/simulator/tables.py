"""DynamoDB: source tables, and the AdminViewTable with its owner index that lags."""

from collections.abc import Callable
from typing import Any

from lambdas.model.row import RowKey
from tests.fakes import TABLE, refusal
from tests.simulator.calls import Calls
from tests.simulator.faults import Fault
from tests.simulator.model import REFUSED, deployed
from tests.simulator.shards import SourceStream

LAG_SECONDS = 55.0  # at most: see the package
Wire = dict[str, Any]


class ViewRows:
    """The rows of the AdminViewTable, and what its owner index may still show of them."""

    def __init__(self, calls: Calls, lag_percent: int) -> None:
        self._calls = calls
        self._lag_percent = lag_percent
        self.rows: dict[RowKey, Wire] = {}
        self._owners: dict[RowKey, list[tuple[float, str | None]]] = {}

    def put(self, item: Wire) -> None:
        """Write a row, if DynamoDB takes it."""
        if is_refused(item):
            raise refusal("ValidationException")
        key = _key(item)
        if key not in self.rows:
            self._note(key, item["_owner"]["S"])
        self.rows[key] = item

    def delete(self, key: RowKey) -> None:
        """Delete a row, if it is there."""
        if self.rows.pop(key, None):
            self._note(key, None)

    def owner(self, key: RowKey) -> Wire | None:
        """Say whose a row is."""
        return self.rows.get(key, {}).get("_owner")

    def found(self, owner: str) -> list[RowKey]:
        """Ask the owner index: each row is shown as it was at some moment not long ago."""
        return [key for key in sorted(self._owners) if self._shown(key, owner) == owner]

    def _note(self, key: RowKey, owner: str | None) -> None:
        self._owners.setdefault(key, [(0.0, None)]).append((self._calls.fibers.now, owner))

    def _shown(self, key: RowKey, owner: str) -> str | None:
        states = self._owners[key]
        oldest = self._calls.fibers.now - LAG_SECONDS
        while len(states) > 1 and states[1][0] < oldest:
            states.pop(0)
        older = [state for _, state in states[-2::-1]]
        if owner in (states[-1][1], *older) and older:
            choices = self._calls.choices
            if choices.happens(self._lag_percent):
                return choices.pick(older)
        return states[-1][1]


class DynamoDB:
    """A client for all tables of a history. Its methods are boto3's."""

    def __init__(self, calls: Calls, view: ViewRows, sources: dict[str, SourceStream]) -> None:
        self._calls = calls
        self._view = view
        self._sources = sources
        self.reads = 0  # of items

    def get_item(self, TableName: str, Key: Wire, ConsistentRead: bool) -> Wire:  # noqa: FBT001, N803
        assert ConsistentRead

        def effect(_: Fault | None) -> Wire:
            self.reads += 1
            item = self._sources[TableName].items.get(Key["id"]["S"])
            return {"Item": item, "shown": item["state"]["N"]} if item else {"shown": "nothing"}

        return self._calls.make(f"GetItem {TableName}/{Key['id']['S']}", effect)

    def query(self, **asked: Any) -> Wire:
        owner = asked["ExpressionAttributeValues"][":owner"]["S"]

        def effect(_: Fault | None) -> Wire:
            keys = self._view.found(owner)
            items = [{"PK": {"S": pk}, "SK": {"S": sk}} for pk, sk in keys]
            return {"Items": items, "shown": _names(keys)}

        return self._calls.make(f"Query owner index {owner}", effect)

    def batch_get_item(self, RequestItems: Wire) -> Wire:  # noqa: N803
        asked = RequestItems[TABLE]
        assert asked["ConsistentRead"]

        def effect(fault: Fault | None) -> Wire:
            keys = asked["Keys"]
            left = _some(self._calls, keys) if fault is Fault.UNPROCESSED else []
            there = [self._view.rows.get(_key(key)) for key in keys if key not in left]
            found = [row for row in there if row]
            unprocessed = {TABLE: {"Keys": left}} if left else {}
            shown = _names([_key(row) for row in found])
            return {"Responses": {TABLE: found}, "UnprocessedKeys": unprocessed, "shown": shown}

        return self._calls.make("BatchGetItem rows", effect, Fault.UNPROCESSED)

    def batch_write_item(self, RequestItems: Wire) -> Wire:  # noqa: N803
        requests = RequestItems[TABLE]
        assert len({_about(request) for request in requests}) == len(requests) <= 25

        def effect(fault: Fault | None) -> Wire:
            if any(is_refused(one.get("PutRequest", {}).get("Item", {})) for one in requests):
                raise refusal("ValidationException")
            left = _some(self._calls, requests) if fault is Fault.UNPROCESSED else []
            for request in requests:
                if request in left:
                    continue
                if "PutRequest" in request:
                    self._view.put(request["PutRequest"]["Item"])
                else:
                    self._view.delete(_about(request))
            return {"UnprocessedItems": {TABLE: left} if left else {}}

        shown = " ".join(map(_request, requests))
        return self._calls.make(f"BatchWriteItem {shown}", effect, Fault.UNPROCESSED)

    def put_item(self, Item: Wire, **asked: Any) -> Wire:  # noqa: N803
        def effect() -> None:
            self._view.put(Item)

        return self._if(f"PutItem {_row(Item)}", _key(Item), asked, effect, absent_is_fine=True)

    def delete_item(self, Key: Wire, **asked: Any) -> Wire:  # noqa: N803
        def effect() -> None:
            self._view.delete(_key(Key))

        name = f"DeleteItem {Key['PK']['S']}/{Key['SK']['S']}"
        return self._if(name, _key(Key), asked, effect, absent_is_fine=False)

    def _if(
        self,
        name: str,
        key: RowKey,
        asked: Wire,
        effect: Callable[[], None],
        *,
        absent_is_fine: bool,
    ) -> Wire:
        """Write if the row is the owner's, which is the only condition the product has."""
        assert ("attribute_not_exists" in asked["ConditionExpression"]) is absent_is_fine

        def conditional(_: Fault | None) -> Wire:
            owner = self._view.owner(key)
            mine = owner == asked["ExpressionAttributeValues"][":owner"]
            if not mine and not (absent_is_fine and owner is None):
                raise refusal("ConditionalCheckFailedException")
            effect()
            return {}

        return self._calls.make(name, conditional)


def is_refused(item: Wire) -> bool:
    """Tell whether the table does not take a row, for as long as nothing is fixed."""
    value = item.get("data", {}).get("M", {}).get("value", {}).get("N")
    return value == str(REFUSED) and not deployed.fixed


def _some(calls: Calls, requests: list[Any]) -> list[Any]:
    """Choose what stays unprocessed: all, or all but some at the front."""
    return requests[calls.choices.below(len(requests)) :]


def _key(item: Wire) -> RowKey:
    return item["PK"]["S"], item["SK"]["S"]


def _about(request: Wire) -> RowKey:
    return _key(
        request["PutRequest"]["Item"]
        if "PutRequest" in request
        else request["DeleteRequest"]["Key"]
    )


def _row(item: Wire) -> str:
    return f"{item['PK']['S']}/{item['SK']['S']}={item['data']['M']['value']['N']}"


def _request(request: Wire) -> str:
    if "PutRequest" in request:
        return "+" + _row(request["PutRequest"]["Item"])
    return "-" + "/".join(_about(request))


def _names(keys: list[RowKey]) -> str:
    return " ".join("/".join(key) for key in keys) or "nothing"
