"""A small world of totals: the real function and its table, connected to one stream."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from adminview.aws.call_errors import CallErrors
from adminview.aws.retry import Backoff
from adminview.aws.totals_table import Boto3Updater, TotalsTable
from adminview.handlers.totals import TotalsRuntime
from tests.simulator.calls import Calls
from tests.simulator.choices import Choices
from tests.simulator.faults import COMMON, LATE, Fault, Faults
from tests.simulator.fibers import Fibers
from tests.simulator.totals_model import RowState
from tests.simulator.totals_profile import TotalsProfile
from tests.simulator.totals_stream import ViewStream
from tests.support.totals_items import TotalsItems

if TYPE_CHECKING:
    from tests.simulator.totals_pollers import Lane

TABLE = "AdminViewTotals"
POSSIBLE = (
    *COMMON,
    *LATE,
    Fault.REDELIVERED,
    Fault.SPLIT,
    Fault.DETACHED,
    Fault.REPEATED,
    Fault.RESTARTED,
    Fault.STALLED,
)


class TotalsClient:
    """The calls of the totals function. Its methods are boto3's."""

    def __init__(self, world: "TotalsWorld") -> None:
        self._world = world

    def update_item(self, **request: Any) -> dict[str, Any]:
        def effect(_: Fault | None) -> dict[str, Any]:
            self._world.delete_expired()
            response = self._world.items.update_item(**request)
            names = request["ExpressionAttributeNames"]
            if "#p0" in names:
                self._world.faults.came[Fault.ARCHIVED if "#f" in names else Fault.PRUNED] += 1
            elif ":mark" in request["ExpressionAttributeValues"]:
                self._world.faults.came[Fault.LOOKED_UP] += 1
            return response

        sort, amounts = request["Key"]["SK"]["S"], request["ExpressionAttributeValues"]
        added = " ".join(value["N"] for value in amounts.values() if "N" in value)
        name = f"UpdateItem {request['Key']['PK']['S']}/{sort} {added}".rstrip()
        return self._world.calls.make(name, effect, *LATE)

    def get_item(self, **request: Any) -> dict[str, Any]:
        """Read a total: only a wrong variant does."""
        return self._world.calls.make("GetItem", lambda _: self._world.items.get_item(**request))


class TotalsWorld:
    """Everything there is in one history."""

    def __init__(self, choices: Choices) -> None:
        self.choices = choices
        self.profile = TotalsProfile.draw(choices)
        self.fibers = Fibers(choices)
        self.fibers.switch_percent = self.profile.switch_percent
        self.fibers.skip_percent = self.profile.skip_percent
        self.faults = Faults(choices, self.profile, POSSIBLE)
        self.calls = Calls(self.fibers, choices, self.faults)
        self.names = [f"row{number}" for number in range(self.profile.rows)]
        self.stream = ViewStream(self.fibers, self.names)
        self.items = TotalsItems()
        self.model = self.profile.model
        self.mapping = 0  # counts the event source mappings: a new one begins at the oldest record
        self.busy = 0  # invocations that nobody waits for
        self.backfills = 0  # under way
        self.is_over = False  # only the judge goes on
        self.lanes: list[Lane] = []  # of the mapping
        self.states: dict[str, RowState | None] = {}  # of the rows
        client = cast("Any", TotalsClient(self))
        backoff = Backoff(self.fibers.sleep, lambda _, longest: longest)
        table = TotalsTable(Boto3Updater(client), TABLE, self.fibers.clock, backoff)
        self.runtime = TotalsRuntime(table, self, self.fibers.clock)

    def delete_expired(self) -> None:
        """Let DynamoDB delete what has expired; nobody knows when it does."""
        if self.choices.happens(self.profile.expiry_percent):
            for _, sort in self.items.delete_expired(self.fibers.now):
                self.calls.log_event(f"the total of {sort} is deleted")
                self.faults.came[Fault.DELETED] += 1

    def invoked(self, request_id: str) -> None:
        """Ignore the start of an invocation."""

    def counted(self, counts: Mapping[str, Any], errors: CallErrors, /) -> None:
        """Record the counts of a batch."""
        del errors
        if self.is_over:
            return  # all that is delivered now was delivered before
        self.faults.came[Fault.COVERED] += counts["covered"]
        self.faults.came[Fault.MALFORMED] += counts["malformed"]
