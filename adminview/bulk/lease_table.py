"""The progress of bulk work, with leases: any worker can resume, and never two work at once."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from json import dumps, loads
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from adminview.aws.deadline import Deadline
from adminview.aws.retry import Backoff, call_with_retry
from adminview.aws.row_store import CONDITION_FAILED
from adminview.bulk.segment import Segment, SegmentState
from adminview.model.attribute import PK, SK
from adminview.model.errors import BulkError, SegmentTakenError, ServiceError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

# A worker may write for this long after it renewed its lease.
WORK_SECONDS = 60.0
# No other worker may take over before: the last call ends, and the owner index catches up.
LEASE_SECONDS = WORK_SECONDS + 120.0
BUILT = "built"  # the partition of the completions
BEGUN = "begun"  # the partition of the last generation of each run
FINDINGS = "findings"  # the partition of what the last finished generation of a run has found
OVERTAKEN = "another worker finished or restarted {run} meanwhile: begin again"
GENERATION = "generation"  # in a completion: runs up to this generation are over
ABSENT: Any = {
    "ConditionExpression": "attribute_not_exists(#pk)",
    "ExpressionAttributeNames": {"#pk": PK.name},
}


@dataclass(frozen=True, slots=True)
class LeaseTable:
    """Segment states by run and number; beginnings and completions of runs."""

    client: "DynamoDBClient"
    name: str
    backoff: Backoff = field(default_factory=Backoff)
    now: Callable[[], float] = time.time
    holder: str = field(default_factory=lambda: uuid4().hex)

    def take(self, segment: Segment, model: str, *, deadline: Deadline) -> SegmentState:
        """Lease a segment at its last state; raise a SegmentTakenError if another worker has it."""
        state = self.read(segment, deadline=deadline) or SegmentState(segment, model)
        if (state.segment, state.model) != (segment, model):
            msg = (
                f"{segment.run} was restarted meanwhile, with {state.segment.of} segments and "
                f"model {state.model}: let that run finish, or begin again"
            )
            raise BulkError(msg)
        if self._has_ended(segment, model, deadline):
            return replace(state, done=True)  # by another worker, or the response was lost
        if state.done:
            return state
        taken = self.take_over(state, deadline=deadline)
        # Since the check above, another worker may have finished the run and deleted its states, or
        # begun a later one after reading them: nobody would recover the intent of this one.
        if state.version:
            return taken
        try:
            over = self._has_ended(segment, model, deadline)
        except BulkError:
            self.forget(taken, deadline=deadline)
            raise
        if over:
            self.forget(taken, deadline=deadline)
        return replace(taken, done=over)

    def _has_ended(self, segment: Segment, model: str, deadline: Deadline) -> bool:
        """Return whether the segment's run has finished; raise a BulkError if a later one began."""
        ended = self.completion(segment.run, deadline=deadline)
        if (ended.get(GENERATION), ended.get("model")) == (segment.generation, model):
            return True
        later = max(
            ended.get(GENERATION, 0) + 1, self.begun(segment.run, deadline=deadline)[GENERATION]
        )
        if segment.generation < later:
            raise BulkError(OVERTAKEN.format(run=segment.run))
        return False

    def take_over(self, state: SegmentState, *, deadline: Deadline) -> SegmentState:
        """Lease a segment at a state of any run; raise a SegmentTakenError if it is leased."""
        if (left := state.deadline - self.now()) > 0:
            raise SegmentTakenError(state.segment.run, state.segment.number, left)
        return self.save(state, deadline=deadline)

    def save(self, record: SegmentState, *, deadline: Deadline, keep: bool = True) -> SegmentState:
        """Save a state and renew the lease, or release it unless *keep*.

        Raises a SegmentTakenError if another worker has taken the segment meanwhile.
        """
        lease = self.now() + LEASE_SECONDS if keep else 0.0
        new = replace(record, holder=self.holder, deadline=lease, version=record.version + 1)
        call = partial(
            self.client.put_item,
            TableName=self.name,
            Item=_item(new),
            **_unchanged(record),
        )
        try:
            call_with_retry(call, f"write {self.name}", self.backoff, deadline)
        except ServiceError as error:
            if error.code != CONDITION_FAILED or not self._is_mine(new, deadline):
                raise self._explained(error, record) from error
        return new

    def read(self, segment: Segment, *, deadline: Deadline) -> SegmentState | None:
        """Read the state of a segment consistently; None if there is none."""
        item = self._get(segment.run, _place(segment.number), deadline)
        return _record(item) if item else None

    def records(self, run: str, *, deadline: Deadline) -> list[SegmentState]:
        return [_record(item) for item in self._query(run, deadline)]

    def forget(self, record: SegmentState, *, deadline: Deadline) -> None:
        """Delete the state of a segment, unless another worker has changed it."""
        call = partial(
            self.client.delete_item,
            TableName=self.name,
            Key=_key(record.segment.run, _place(record.segment.number)),
            **_unchanged(record),
        )
        try:
            call_with_retry(call, f"write {self.name}", self.backoff, deadline)
        except ServiceError as error:
            if error.code != CONDITION_FAILED:
                raise

    def complete(self, subject: str, facts: dict[str, Any], *, deadline: Deadline) -> bool:
        """Write a completion; return False if it is obsolete.

        It is if a later generation is complete, or the same generation of another model. A put that
        arrives late changes nothing: it is conditional on the completion that was read.
        """
        text = dumps(facts)
        while (known := self._facts(BUILT, subject, deadline)) != text:
            before = loads(known or "{}")
            if GENERATION in facts and facts[GENERATION] <= before.get(GENERATION, 0):
                return (before.get(GENERATION), before.get("model")) == (
                    facts[GENERATION],
                    facts.get("model"),
                )
            self._replace_facts(BUILT, subject, known, text, deadline)
        return True

    def begin(self, run: str, facts: dict[str, Any], *, deadline: Deadline) -> bool:
        """Write the beginning of a generation; return False if another one has begun meanwhile."""
        return self._advance(BEGUN, run, facts, deadline)

    def keep_findings(
        self, run: str, generation: int, findings: list[Any], *, deadline: Deadline
    ) -> None:
        """Keep what a generation has found, until a later one has finished."""
        self._advance(FINDINGS, run, {GENERATION: generation, FINDINGS: findings}, deadline)

    def findings(self, run: str, generation: int, *, deadline: Deadline) -> list[Any]:
        """Return what a finished generation has found; nothing if a later one has finished."""
        kept = self.facts(FINDINGS, run, deadline=deadline)
        findings: list[Any] = kept[FINDINGS] if kept.get(GENERATION) == generation else []
        return findings

    def _advance(
        self, partition: str, subject: str, facts: dict[str, Any], deadline: Deadline
    ) -> bool:
        """Write facts unless those of the same or a later generation are stored: return False."""
        text = dumps(facts)
        while (known := self._facts(partition, subject, deadline)) != text:
            if known and loads(known)[GENERATION] >= facts[GENERATION]:
                return False
            self._replace_facts(partition, subject, known, text, deadline)
        return True

    def begun(self, run: str, *, deadline: Deadline) -> dict[str, Any]:
        """Return the facts of the last generation that has begun; generation 0 if none has."""
        return {GENERATION: 0, **self.facts(BEGUN, run, deadline=deadline)}

    def completion(self, subject: str, *, deadline: Deadline) -> dict[str, Any]:
        """Return the facts of one completion; none if there is none."""
        return self.facts(BUILT, subject, deadline=deadline)

    def _facts(self, partition: str, subject: str, deadline: Deadline) -> str | None:
        item = self._get(partition, subject, deadline)
        return item["facts"]["S"] if item else None

    def _replace_facts(
        self, partition: str, subject: str, known: str | None, text: str, deadline: Deadline
    ) -> None:
        """Write facts if the stored ones are still *known*; None means absent."""
        item: Any = {**_key(partition, subject), "facts": {"S": text}}
        condition: Any = ABSENT if known is None else _equal(facts={"S": known})
        call = partial(self.client.put_item, TableName=self.name, Item=item, **condition)
        try:
            call_with_retry(call, f"write {self.name}", self.backoff, deadline)
        except ServiceError as error:
            if error.code != CONDITION_FAILED:
                raise

    def update(
        self,
        partition: str,
        subject: str,
        change: Callable[[dict[str, Any]], dict[str, Any]],
        *,
        deadline: Deadline,
    ) -> dict[str, Any]:
        """Replace facts by what *change* returns for the stored ones, and return them."""
        while True:
            known = self._facts(partition, subject, deadline)
            facts = change(loads(known or "{}"))
            if known == dumps(facts):
                return facts
            self._replace_facts(partition, subject, known, dumps(facts), deadline)

    def facts(self, partition: str, subject: str, *, deadline: Deadline) -> dict[str, Any]:
        """Return stored facts; none if there are none."""
        known: dict[str, Any] = loads(self._facts(partition, subject, deadline) or "{}")
        return known

    def runs_begun(self, *, deadline: Deadline) -> list[str]:
        """Return the names of all runs that have ever begun."""
        return [item[SK.name]["S"] for item in self._query(BEGUN, deadline)]

    def completions(self, *, deadline: Deadline) -> dict[str, dict[str, Any]]:
        """Read all completions, by subject."""
        return {
            item[SK.name]["S"]: loads(item["facts"]["S"]) for item in self._query(BUILT, deadline)
        }

    def _get(self, partition: str, sort: str, deadline: Deadline) -> Any:
        call = partial(
            self.client.get_item,
            TableName=self.name,
            Key=_key(partition, sort),
            ConsistentRead=True,
        )
        return call_with_retry(call, f"read {self.name}", self.backoff, deadline).get("Item")

    def _query(self, partition: str, deadline: Deadline) -> Iterator[Any]:
        start: dict[str, Any] = {}
        while True:
            call = partial(
                self.client.query,
                TableName=self.name,
                KeyConditionExpression="#pk = :pk",
                ExpressionAttributeNames={"#pk": PK.name},
                ExpressionAttributeValues={":pk": {"S": partition}},
                ConsistentRead=True,
                **start,
            )
            page = call_with_retry(call, f"read {self.name}", self.backoff, deadline)
            yield from page["Items"]
            if not (last := page.get("LastEvaluatedKey")):
                return
            start = {"ExclusiveStartKey": last}

    def _is_mine(self, new: SegmentState, deadline: Deadline) -> bool:
        """Return whether a write that seems to have failed took effect: the response was lost."""
        stored = self.read(new.segment, deadline=deadline)
        return stored is not None and (stored.holder, stored.version) == (new.holder, new.version)

    def _explained(self, error: ServiceError, record: SegmentState) -> Exception:
        if error.code != CONDITION_FAILED:
            return error
        return SegmentTakenError(record.segment.run, record.segment.number, LEASE_SECONDS)


def _key(partition: str, sort: str) -> dict[str, Any]:
    return {PK.name: {"S": partition}, SK.name: {"S": sort}}


def _unchanged(record: SegmentState) -> Any:
    """Return the condition that a state is unchanged since it was read, or still absent."""
    if not record.version:
        return ABSENT
    # The holder too: a state that was deleted and created again has version 1 again.
    return _equal(version={"N": str(record.version)}, holder={"S": record.holder})


def _equal(**attributes: dict[str, str]) -> Any:
    return {
        "ConditionExpression": " AND ".join(f"#{name} = :{name}" for name in attributes),
        "ExpressionAttributeNames": {f"#{name}": name for name in attributes},
        "ExpressionAttributeValues": {f":{name}": value for name, value in attributes.items()},
    }


def _place(number: int) -> str:
    return f"{number:06}"  # a query returns them in order


def _item(record: SegmentState) -> Any:
    return {
        **_key(record.segment.run, _place(record.segment.number)),
        "of": {"N": str(record.segment.of)},
        "generation": {"N": str(record.segment.generation)},
        "state": {"S": record.to_json()},
        "holder": {"S": record.holder},
        "until": {"N": repr(record.deadline)},
        "version": {"N": str(record.version)},
        "paid_at": {"N": repr(record.paid_at)},
    }


def _record(item: Any) -> SegmentState:
    number, of, generation = (
        int(item[SK.name]["S"]),
        int(item["of"]["N"]),
        int(item["generation"]["N"]),
    )
    return SegmentState.read(
        Segment(item[PK.name]["S"], number, of, generation),
        item["state"]["S"],
        holder=item["holder"]["S"],
        deadline=float(item["until"]["N"]),
        version=int(item["version"]["N"]),
        paid_at=float(item.get("paid_at", {}).get("N", 0)),  # older versions did not write it
    )
