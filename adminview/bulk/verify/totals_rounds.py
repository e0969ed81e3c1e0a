"""Verify totals on a schedule: a round compares one part of the groups, and may take several runs.

The rows of a total may be anywhere in the view, so a share of the rows proves nothing: every round
reads the whole view for a part of the groups. A run that has used up its time or its read units
stores the round, and the next run continues it. A part has few enough groups for the round to fit
into one item of the progress table.

Only a total that did not change during its round is decided, as in `totals`. The rounds go through
all parts in turn.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from json import dumps, loads
from math import ceil
from typing import TYPE_CHECKING, Any, Final
from zlib import compress, decompress

from adminview.aws.deadline import Deadline
from adminview.aws.retry import Backoff, call_with_retry
from adminview.bulk.lease_table import progress_table
from adminview.bulk.verify.scope import Scope
from adminview.bulk.verify.totals import TotalsVerifier
from adminview.bulk.verify.totals_run import TotalsPass, TotalsRun
from adminview.model.attribute import PK, SK

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

GROUPS_OF_A_PART: Final = 500
MOST_BYTES: Final = 380_000  # of a stored round: an item of DynamoDB has at most 400 KB
UNITS: Final = 1_000_000.0  # of a run: 8 GB of rows
ROUND: Final = "verify-totals"  # the partition key of the stored round
STATE: Final = "state"


@dataclass(frozen=True, slots=True)
class RoundStore:
    """Keeps the round in progress in the progress table."""

    client: "DynamoDBClient"
    view_table: str
    deadline: Callable[[], Deadline]

    def load(self) -> Mapping[str, Any]:
        """Return the stored round; empty if there is none."""
        call = partial(self.client.get_item, TableName=self._table, Key=_key(), ConsistentRead=True)
        response: Any = call_with_retry(call, f"read {self._table}", Backoff(), self.deadline())
        item = response.get("Item")
        state: Mapping[str, Any] = loads(decompress(bytes(item[STATE]["B"]))) if item else {}
        return state

    def save(self, state: Mapping[str, Any]) -> bool:
        """Store a round; return False if it is too large for an item."""
        content = compress(dumps(state).encode())
        if len(content) > MOST_BYTES:
            return False
        item: Any = {**_key(), STATE: {"B": content}}
        call = partial(self.client.put_item, TableName=self._table, Item=item)
        call_with_retry(call, f"write {self._table}", Backoff(), self.deadline())
        return True

    @property
    def _table(self) -> str:
        return progress_table(self.view_table)


@dataclass(frozen=True, slots=True)
class TotalsRounds:
    """Continues the stored round, or begins the next."""

    verifier: TotalsVerifier
    store: RoundStore
    units: float = UNITS  # for reading rows, per run

    @classmethod
    def of(cls, verifier: TotalsVerifier, units: float | None = None) -> "TotalsRounds":
        store = RoundStore(verifier.client, verifier.view_table, verifier.deadline)
        return cls(verifier, store, UNITS if units is None else units)

    def verify(self, scope: Scope) -> TotalsRun:
        """Verify within the time and the read units of this run.

        The returned run is finished if the round is finished. It has scanned no rows if there was
        no time to read the totals. Raises a ServiceError if AWS keeps refusing.
        """
        state = self.store.load()
        groups = state.get("groups", GROUPS_OF_A_PART)
        parts = state.get("parts") or max(1, ceil(self._count() / groups))
        part = state.get("part", 0) % parts
        run = TotalsRun(scope, parts, [part], scanned=state.get("scanned", 0))
        if state.get("segments") == scope.segments:
            going: TotalsPass | None = TotalsPass.from_json(parts, part, state["pass"])
        else:
            # Not limited: a round would never end if a run could not even read the totals.
            going = self.verifier.begin_pass(run, part)
        if going is None:
            return run  # out of time
        judgement = None
        limited = replace(self.verifier, stopped=self._stopped())
        if limited.scan_rows(run, going):  # the reads that follow are few
            judgement = self.verifier.finish_pass(run, going)
        if judgement is None:
            self._keep(run, part, groups, going)
            return run
        run.count(going, judgement)
        run.counts["changing"] += len(judgement.changing)
        run.left.clear()
        self.store.save({"part": part + 1, "groups": groups})
        return run

    def _count(self) -> int:
        """Count the totals by reading their keys: the function may not describe a table."""
        verifier, start, count = self.verifier, None, 0
        while True:
            page = verifier.reader.page(
                verifier.table,
                (0, 1),
                start,
                deadline=verifier.deadline,
                ProjectionExpression=PK.name,
            )
            count, start = count + page.scanned, page.last
            if start is None:
                return count

    def _stopped(self) -> Callable[[], bool]:
        budget = self.verifier.reader.budget
        most = budget.spent + self.units
        return lambda: self.verifier.stopped() or budget.spent >= most

    def _keep(self, run: TotalsRun, part: int, groups: int, going: TotalsPass) -> None:
        """Store a round for the next run. If it is too large, the next round has fewer groups."""
        state = {
            "groups": groups,
            "parts": run.parts,
            "part": part,
            "segments": run.scope.segments,
            "scanned": run.scanned,
            "pass": going.to_json(),
        }
        if not self.store.save(state):
            self.store.save({"part": part * 2, "groups": max(1, groups // 2)})


def _key() -> Any:
    return {PK.name: {"S": ROUND}, SK.name: {"S": STATE}}
