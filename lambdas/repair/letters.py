"""Dead letters, read back: ours about one record, and Lambda's about a stretch of a shard. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from json import JSONDecodeError, dumps, loads
from typing import Any

from lambdas.aws.streams import Stretch
from lambdas.model.errors import AdminViewError, UnknownLetterError, kind_of
from lambdas.model.row import RowKey
from lambdas.pipeline.decode import table_of
from lambdas.pipeline.letter import KIND, reason_of

ATTEMPTS = "attempts"  # what Lambda's letters and ours have in common once they were tried
BATCH = "DDBStreamBatchInfo"


@dataclass(frozen=True, slots=True)
class Letter:
    """What both kinds of letter tell."""

    facts: Mapping[str, Any]  # the whole letter, as it was written
    source: str | None
    table: str
    error: str
    reason: str
    at: float | None  # when its first change was made, in seconds since 1970

    @property
    def attempts(self) -> int:
        """Count the replays that failed."""
        return int(self.facts.get(ATTEMPTS, {}).get("count", 0))


@dataclass(frozen=True, slots=True)
class RecordLetter(Letter):
    """A record that could not be synced: whose it is, and which rows it may have touched."""

    key: Mapping[str, Any]
    owner: str | None
    rows: frozenset[RowKey]


@dataclass(frozen=True, slots=True)
class BatchLetter(Letter):
    """Records that Lambda gave up on: where they were in the stream, and when they came there."""

    stretch: Stretch
    count: int
    begin: str
    end: str


def open_letter(body: str) -> RecordLetter | BatchLetter:
    """Read a letter, or raise an UnknownLetterError that says what it is not."""
    try:
        facts = loads(body)
    except (JSONDecodeError, RecursionError) as error:
        msg = "it is not JSON"
        raise UnknownLetterError(msg) from error
    kind = facts.get("kind") if isinstance(facts, dict) else None
    if kind != KIND and not (isinstance(facts, dict) and BATCH in facts):
        msg = f"it is neither {KIND!r} nor one of Lambda's letters about a stream"
        raise UnknownLetterError(msg)
    try:
        return _record_letter(facts) if kind == KIND else _batch_letter(facts)
    except (AdminViewError, KeyError, TypeError, ValueError, AttributeError) as error:
        msg = f"it lacks something that such a letter has: {kind_of(error)}"
        raise UnknownLetterError(msg) from error


def tried_again(letter: Letter, error: AdminViewError, now: float) -> str:
    """Write a letter anew after a replay that failed, with the count and the newest error."""
    attempt = {
        "count": letter.attempts + 1,
        "at": datetime.fromtimestamp(now, UTC).isoformat(timespec="seconds"),
        "error": {"kind": kind_of(error), "reason": reason_of(error)},
    }
    return dumps({**letter.facts, ATTEMPTS: attempt})


def _record_letter(facts: dict[str, Any]) -> RecordLetter:
    newest = facts.get(ATTEMPTS, facts)["error"]
    if not isinstance(facts["key"], dict) or not isinstance(facts["table"], str):
        msg = "a letter without key or table names no item"
        raise TypeError(msg)
    return RecordLetter(
        facts=facts,
        source=facts["source"],
        table=facts["table"],
        error=str(newest["kind"]),
        reason=str(newest["reason"]),
        at=facts["at"],
        key=facts["key"],
        owner=facts["owner"],
        rows=frozenset((str(pk), str(sk)) for pk, sk in facts["rows"]),
    )


def _batch_letter(facts: dict[str, Any]) -> BatchLetter:
    batch, context = facts[BATCH], facts.get("requestContext", {})
    newest = facts.get(ATTEMPTS, {}).get("error", {})
    count = int(batch["batchSize"])
    begin = str(batch["approximateArrivalOfFirstRecord"])
    stretch = Stretch(
        stream_arn=str(batch["streamArn"]),
        shard_id=str(batch["shardId"]),
        first=str(batch["startSequenceNumber"]),
        last=str(batch["endSequenceNumber"]),
    )
    if not (stretch.first.isdecimal() and stretch.last.isdecimal()):
        msg = "sequence numbers are digits"
        raise ValueError(msg)
    condition = str(context.get("condition", "Unknown"))
    return BatchLetter(
        facts=facts,
        source=None,
        table=table_of({"eventSourceARN": stretch.stream_arn}),
        error=str(newest.get("kind", condition)),
        reason=str(newest.get("reason", f"Lambda gave up on {count} records: {condition}")),
        at=datetime.fromisoformat(begin).timestamp(),
        stretch=stretch,
        count=count,
        begin=begin,
        end=str(batch["approximateArrivalOfLastRecord"]),
    )
