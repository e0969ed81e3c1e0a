"""DynamoDB: source tables, and AdminViewTable with its lagging owner index."""

from collections.abc import Callable
from typing import Any
from zlib import crc32

from adminview.model.row import RowKey
from tests.simulator.broken import BrokenLawError
from tests.simulator.calls import Calls
from tests.simulator.faults import LATE, Fault
from tests.simulator.model import REFUSED, deployed
from tests.simulator.past import Past
from tests.simulator.profile import NEXT_LOOK, NEXT_READ
from tests.simulator.progress import PROGRESS, ProgressRows
from tests.simulator.shards import SourceStream
from tests.support.fakes import TABLE, refusal

LAG_SECONDS = 55.0  # at most: see the package docstring
Attributes = dict[str, Any]


class ViewRows:
    """The rows of AdminViewTable, with the older versions that its owner index may still return."""

    def __init__(self, calls: Calls, lag_percent: int) -> None:
        self._calls = calls
        self._lag_percent = lag_percent
        self.rows: dict[RowKey, Attributes] = {}
        self.past = Past(calls.fibers)
        self._owners: dict[RowKey, list[tuple[float, str | None]]] = {}

    def put(self, item: Attributes) -> None:
        """Write a row, unless DynamoDB refuses it."""
        if is_refused(item):
            raise refusal("ValidationException")
        key = _key(item)
        if key not in self.rows:
            self._note(key, item["_owner"]["S"])
        self.past.note(key, self.rows.get(key))
        self.rows[key] = item

    def delete(self, key: RowKey) -> None:
        """Delete a row, if it exists."""
        if row := self.rows.pop(key, None):
            self.past.note(key, row)
            self._note(key, None)

    def owner(self, key: RowKey) -> Attributes | None:
        """Return the owner of a row."""
        return self.rows.get(key, {}).get("_owner")

    def find(self, owner: str) -> list[RowKey]:
        """Query the owner index: each row is as it was at some recent moment."""
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

    def __init__(
        self, calls: Calls, view: ViewRows, sources: dict[str, SourceStream], stale_percent: int
    ) -> None:
        self._calls = calls
        self._view = view
        self._sources = sources
        self.progress = ProgressRows(calls)
        self._stale_percent = stale_percent
        self.reads = {NEXT_READ: 0, NEXT_LOOK: 0}  # counts reads of items: all, and those of sweeps

    def get_item(
        self,
        TableName: str,  # noqa: N803
        Key: Attributes,  # noqa: N803
        *,
        ConsistentRead: bool,  # noqa: N803
        **_: Any,
    ) -> Attributes:
        assert ConsistentRead
        if TableName == PROGRESS:
            return self.progress.get(Key)

        def effect(_: Fault | None) -> Attributes:
            self.reads[NEXT_READ] += 1
            item = self._sources[TableName].items.get(Key["id"]["S"])
            return {"Item": item, "shown": item["state"]["N"]} if item else {"shown": "nothing"}

        return self._calls.make(f"GetItem {TableName}/{Key['id']['S']}", effect)

    def query(self, TableName: str, **request: Any) -> Attributes:  # noqa: N803
        if TableName == PROGRESS:
            return self.progress.query(request)
        owner = request["ExpressionAttributeValues"][":owner"]["S"]

        def effect(_: Fault | None) -> Attributes:
            keys = self._view.find(owner)
            items = [{"PK": {"S": pk}, "SK": {"S": sk}} for pk, sk in keys]
            return {"Items": items, "shown": _names(keys)}

        return self._calls.make(f"Query owner index {owner}", effect)

    def scan(self, TableName: str, Limit: int, **request: Any) -> Attributes:  # noqa: N803
        is_wanted = _filter(request)
        start = request.get("ExclusiveStartKey")

        def effect(_: Fault | None) -> Attributes:
            self.reads[NEXT_READ] += 1
            keys = self._keys(TableName, request["Segment"], request["TotalSegments"])
            after = [key for key in keys if start is None or key > _place(TableName, start)]
            seen = [(key, item) for key in after if (item := self._seen(TableName, key))]
            page = seen[:Limit]
            items = [item for _, item in page if is_wanted(item)]
            last = {"LastEvaluatedKey": _start(TableName, page[-1][0])} if seen[Limit:] else {}
            shown = " ".join(str(key) for key, item in page if is_wanted(item)) or "nothing"
            return {"Items": items, "ScannedCount": len(page), "shown": shown, **last}

        segment = f"{request['Segment']} of {request['TotalSegments']}"
        return self._calls.make(f"Scan {TableName} {segment}", effect)

    def batch_get_item(self, RequestItems: Attributes, **_: Any) -> Attributes:  # noqa: N803
        ((table, request),) = RequestItems.items()
        consistent = request["ConsistentRead"]

        def effect(fault: Fault | None) -> Attributes:
            self.reads[NEXT_READ] += table != TABLE
            self.reads[NEXT_LOOK] += not consistent
            keys = request["Keys"]
            left = _some(self._calls, keys) if fault is Fault.UNPROCESSED else []
            places = [_place(table, key) for key in keys if key not in left]
            read = self._held if consistent else self._seen
            items = [item for place in places if (item := read(table, place))]
            unprocessed = {table: {"Keys": left}} if left else {}
            shown = " ".join(_item(table, item) for item in items) or "nothing"
            return {"Responses": {table: items}, "UnprocessedKeys": unprocessed, "shown": shown}

        how = "" if consistent else ", as they are or were"
        return self._calls.make(f"BatchGetItem {table}{how}", effect, Fault.UNPROCESSED)

    def _check_lease(self) -> None:
        """Check that a worker writes only while no other can take over its segment."""
        holder = self._calls.fibers.current.root.holder
        if holder and self.progress.held_until(holder) < self._calls.fibers.now + LAG_SECONDS:
            msg = f"3: never two at once: {holder} writes rows when it is too late"
            raise BrokenLawError(msg)

    def _keys(self, table: str, segment: int, of: int) -> list[Any]:
        """Return the keys of a segment, in scan order."""
        past = self._view.past if table == TABLE else self._sources[table].past
        return sorted(key for key in past.keys if crc32(repr(key).encode()) % of == segment)

    def _held(self, table: str, key: Any) -> Attributes | None:
        """Return an item or a row as it is."""
        return self._view.rows.get(key) if table == TABLE else self._sources[table].items.get(key)

    def _seen(self, table: str, key: Any) -> Attributes | None:
        """Return an item or a row as it is, or as it was a moment ago."""
        past = self._view.past if table == TABLE else self._sources[table].past
        older: list[Attributes | None] = past.of(key)
        if older and self._calls.choices.happens(self._stale_percent):
            self._calls.faults.came[Fault.STALE] += 1
            return self._calls.choices.pick(older)
        return self._held(table, key)

    def batch_write_item(self, RequestItems: Attributes, **_: Any) -> Attributes:  # noqa: N803
        requests = RequestItems[TABLE]
        assert len({_about(request) for request in requests}) == len(requests) <= 25

        def effect(fault: Fault | None) -> Attributes:
            self._check_lease()
            if any(
                is_refused(request.get("PutRequest", {}).get("Item", {})) for request in requests
            ):
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
        return self._calls.make(f"BatchWriteItem {shown}", effect, Fault.UNPROCESSED, *LATE)

    def put_item(self, TableName: str, Item: Attributes, **arguments: Any) -> Attributes:  # noqa: N803
        if TableName == PROGRESS:
            return self.progress.put(Item, arguments)

        def effect() -> None:
            self._view.put(Item)

        return self._if(f"PutItem {_row(Item)}", _key(Item), arguments, effect, absent_is_fine=True)

    def delete_item(self, TableName: str, Key: Attributes, **arguments: Any) -> Attributes:  # noqa: N803
        if TableName == PROGRESS:
            return self.progress.delete(Key, arguments)

        def effect() -> None:
            self._view.delete(_key(Key))

        name = f"DeleteItem {Key['PK']['S']}/{Key['SK']['S']}"
        return self._if(name, _key(Key), arguments, effect, absent_is_fine=False)

    def _if(
        self,
        name: str,
        key: RowKey,
        arguments: Attributes,
        effect: Callable[[], None],
        *,
        absent_is_fine: bool,
    ) -> Attributes:
        """Write if *owner* owns the row: the only condition that the product uses."""
        assert ("attribute_not_exists" in arguments["ConditionExpression"]) is absent_is_fine

        def conditional(_: Fault | None) -> Attributes:
            self._check_lease()
            owner = self._view.owner(key)
            mine = owner == arguments["ExpressionAttributeValues"][":owner"]
            if not mine and not (absent_is_fine and owner is None):
                raise refusal("ConditionalCheckFailedException")
            effect()
            return {}

        return self._calls.make(name, conditional, *LATE)


def is_refused(item: Attributes) -> bool:
    """Return whether the table refuses a row, before the fix."""
    value = item.get("data", {}).get("M", {}).get("value", {}).get("N")
    return value == str(REFUSED) and not deployed.fixed


def _some(calls: Calls, requests: list[Any]) -> list[Any]:
    """Choose what stays unprocessed: all, or all but some at the front."""
    return requests[calls.choices.below(len(requests)) :]


def _filter(request: Attributes) -> Callable[[Attributes], bool]:
    """Return the filter of a scan: the rows that an older model wrote, or all."""
    values = request.get("ExpressionAttributeValues", {})
    expected = {"#model <> :model"} if values else {None}
    assert {request.get("FilterExpression")} == expected
    return lambda item: not values or item["_model"] != values[":model"]


def _place(table: str, item: Attributes) -> Any:
    """Return the key of an item or a row."""
    return _key(item) if table == TABLE else item["id"]["S"]


def _start(table: str, place: Any) -> Attributes:
    if table == TABLE:
        return {"PK": {"S": place[0]}, "SK": {"S": place[1]}}
    return {"id": {"S": place}}


def _item(table: str, item: Attributes) -> str:
    return _row(item) if table == TABLE else f"{item['id']['S']}={item['state']['N']}"


def _key(item: Attributes) -> RowKey:
    return item["PK"]["S"], item["SK"]["S"]


def _about(request: Attributes) -> RowKey:
    return _key(
        request["PutRequest"]["Item"]
        if "PutRequest" in request
        else request["DeleteRequest"]["Key"]
    )


def _row(item: Attributes) -> str:
    return f"{item['PK']['S']}/{item['SK']['S']}={item['data']['M']['value']['N']}"


def _request(request: Attributes) -> str:
    if "PutRequest" in request:
        return "+" + _row(request["PutRequest"]["Item"])
    return "-" + "/".join(_about(request))


def _names(keys: list[RowKey]) -> str:
    return " ".join("/".join(key) for key in keys) or "nothing"
