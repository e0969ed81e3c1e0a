"""Find out whether the totals include all rows that were written so far.

No metric shows this: an absent metric may mean that nothing was delivered, or that nothing was
reported yet. So this module writes probes. A probe is a row that is put and deleted at once, and
that contributes to a total of its own. A shard delivers its records in order. So when that total
exists, the totals include all earlier changes in the same shard. The name of the total's position
tells which shard it was.

Only DynamoDB knows which shard gets the records of a partition key. So the keys are random, and
more probes are written until each shard has had one.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from math import ceil, log
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from adminview.aws.concurrency import batched
from adminview.aws.deadline import Deadline
from adminview.aws.retry import Backoff, all_pages, call_with_retry
from adminview.aws.table_scanner import TableScanner
from adminview.aws.view_table import BATCH_LIMIT
from adminview.model.attribute import PK, SK
from adminview.model.errors import SettingsError
from adminview.model.row import TOTALS, Attributes
from adminview.model.total import PROBE, totals_table
from adminview.totals.position import position_name, positions_of

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodbstreams import DynamoDBStreamsClient

SECONDS: Final = 60.0  # for one call with its retries
# So many for each shard, and more if there are many: then one in a thousand runs needs a second
# round, if partitions are of equal size.
PROBES_PER_SHARD: Final = 7
MOST_PROBES: Final = 20_000


@dataclass(frozen=True, slots=True)
class Shards:
    """The shards of a stream: each with its parent, if it has one."""

    parents: Mapping[str, str | None]

    def uncovered(self, positions: set[str]) -> list[str]:
        """Return the youngest shards without a probe in them or in an ancestor.

        If a shard was closed after its probe was written, all records of its children are newer.
        """
        youngest = self.parents.keys() - set(self.parents.values())
        return [shard for shard in sorted(youngest) if not self._line(shard) & positions]

    def _line(self, shard: str | None) -> set[str]:
        """Return the names of the positions of a shard and of its ancestors."""
        names: set[str] = set()
        while shard is not None and position_name(shard) not in names:
            names.add(position_name(shard))
            shard = self.parents.get(shard)
        return names

    @property
    def probes(self) -> int:
        """The number of probes that probably cover all youngest shards."""
        count = max(1, len(self.uncovered(set())))
        return ceil(count * (PROBES_PER_SHARD + log(count)))


@dataclass(slots=True)
class TotalsProbes:
    """The probes of one wait."""

    dynamodb: "DynamoDBClient"
    streams: "DynamoDBStreamsClient"
    view: str  # the name of the view table
    backoff: Backoff = field(default_factory=Backoff)
    run: str = field(default_factory=lambda: uuid4().hex)
    stream: str = ""  # its ARN; empty: the table is described
    written: int = 0
    counted: int = 0  # probes that are in the totals

    def have_arrived(self) -> bool:
        """Write probes if more are needed; return whether all shards had one that is counted.

        Raises a ServiceError if a call keeps failing, and a SettingsError if no number of probes
        would be enough.
        """
        shards = Shards(dict(self._shards()))
        positions = [set(positions_of(total)) for total in self._totals()]
        uncovered = shards.uncovered(set().union(*positions))
        self.counted = len(positions)
        if self.written and not uncovered:
            return True
        if self.counted == self.written:  # and yet a shard is missing
            if self.written >= MOST_PROBES:
                msg = (
                    f"{self.written:,} probes are in the totals, but none went through the shards "
                    f"{', '.join(uncovered[:3])} of the stream of {self.view}: does the totals "
                    "function follow this stream? Run `adminview doctor`"
                )
                raise SettingsError(msg)
            self._write(shards.probes)
        return False

    def _write(self, count: int) -> None:
        numbers = range(self.written, self.written + count)
        for some in batched(numbers, BATCH_LIMIT):
            rows = [self._row(number) for number in some]
            try:
                self._batch([{"PutRequest": {"Item": row}} for row in rows])
            finally:
                keys = [{name: row[name] for name in (PK.name, SK.name)} for row in rows]
                self._batch([{"DeleteRequest": {"Key": key}} for key in keys])
        self.written += count

    def _row(self, number: int) -> Attributes:
        group: Attributes = {f"{PROBE}#{self.run}": {"M": {f"{number}": {"M": {}}}}}
        return {
            PK.name: {"S": f"{PROBE}#{self.run}#{number}"},
            SK.name: {"S": PROBE},
            TOTALS: {"M": group},
        }

    def _batch(self, requests: list[Any]) -> None:
        """Write a batch; requests that DynamoDB leaves out are sent again."""
        left = requests
        deadline, attempt = Deadline.after(SECONDS), 0
        while left:
            call, action = self.dynamodb.batch_write_item, f"write {self.view}"
            request = {self.view: left}
            response = call_with_retry(call, action, self.backoff, deadline, RequestItems=request)
            left = response["UnprocessedItems"].get(self.view, [])
            if left:
                self.backoff.pause(attempt, deadline)
                attempt += 1

    def _totals(self) -> Iterator[Mapping[str, Any]]:
        totals = totals_table(self.view)
        request: dict[str, Any] = {
            "TableName": totals,
            "KeyConditionExpression": "PK = :probe",
            "ExpressionAttributeValues": {":probe": {"S": f"{PROBE}#{self.run}"}},
            "ConsistentRead": True,
        }
        query: Any = self.dynamodb.query
        deadline = Deadline.after(SECONDS)
        read = partial(call_with_retry, query, f"query {totals}", self.backoff, deadline)
        for page in all_pages(read, request):
            yield from page["Items"]

    def _shards(self) -> Iterator[tuple[str, str | None]]:
        deadline = Deadline.after(SECONDS)
        stream = self.stream or TableScanner(self.dynamodb).describe(self.view, deadline).stream_arn
        if stream is None:
            msg = f"table {self.view} has no stream: run `adminview doctor`"
            raise SettingsError(msg)

        def read(**request: Any) -> Any:
            call, action = self.streams.describe_stream, "describe a stream"
            response = call_with_retry(call, action, self.backoff, deadline, **request)
            return response["StreamDescription"]

        place = ("LastEvaluatedShardId", "ExclusiveStartShardId")
        for page in all_pages(read, {"StreamArn": stream}, place):
            for shard in page["Shards"]:
                yield shard["ShardId"], shard.get("ParentShardId")
