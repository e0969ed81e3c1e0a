"""Dead letters, read back: ours about one record, and Lambda's about a stretch of a shard. Pure."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from json import dumps, loads
from typing import Any, TypeAlias

from adminview.aws.streams import SequenceRange
from adminview.model.errors import AdminViewError, UnknownLetterError, kind_of
from adminview.model.item import AttributeValue
from adminview.model.limits import PARTITION_LIMIT, SORT_LIMIT
from adminview.model.row import RowKey
from adminview.model.source import TABLE_NAME
from adminview.sync.dead_letter import IN_DOUBT, KIND, reason_of
from adminview.sync.decode import FAR_FUTURE, table_of

ATTEMPTS = "attempts"  # what Lambda's letters and ours have in common once they were tried
BATCH = "DDBStreamBatchInfo"
SEQUENCE = re.compile(r"[0-9]{21,40}")  # as long as DynamoDB takes them
MOST_ATTEMPTS = 10**9
# What reading a letter raises when a part is absent or of another kind.
MALFORMED = (
    AdminViewError,
    ArithmeticError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
)


@dataclass(frozen=True, slots=True)
class Letter:
    """What both kinds of letter tell."""

    facts: Mapping[str, Any]  # the whole letter, as it was written
    source: str | None
    table: str
    error: str
    reason: str
    at: float | None  # when its first change was made, in seconds since 1970
    attempts: int  # replays that failed


@dataclass(frozen=True, slots=True)
class RecordLetter(Letter):
    """A record that could not be synced: whose it is, and which rows it may have touched."""

    key: Mapping[str, AttributeValue]
    rows: frozenset[RowKey]


@dataclass(frozen=True, slots=True)
class InDoubtLetter(Letter):
    """A call that ended without a response: the keys of its items, and the rows of each."""

    items: tuple[tuple[Mapping[str, AttributeValue], frozenset[RowKey]], ...]


@dataclass(frozen=True, slots=True)
class BatchLetter(Letter):
    """Records that Lambda gave up on: where they were in the stream, and when they came there."""

    stretch: SequenceRange
    count: int
    begin: str
    end: str


AnyLetter: TypeAlias = RecordLetter | InDoubtLetter | BatchLetter


def open_letter(body: str) -> AnyLetter:
    """Read a letter, or raise an UnknownLetterError that says what it is not.

    Anybody who may write to the queue can put anything there: every part is checked here, so that
    no message can stop a replay.
    """
    try:
        facts = loads(body)
        dumps(facts)  # or it could not be written anew
    except (ValueError, RecursionError) as error:
        msg = "it is not JSON"
        raise UnknownLetterError(msg) from error
    kind = str(facts.get("kind")) if isinstance(facts, dict) else ""
    if kind not in READERS and not (isinstance(facts, dict) and BATCH in facts):
        msg = f"it is neither {KIND!r} nor one of Lambda's letters about a stream"
        raise UnknownLetterError(msg)
    try:
        return READERS.get(kind, _batch_letter)(facts)
    except MALFORMED as error:
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
    return RecordLetter(**_common(facts), key=_key(facts["key"]), rows=_rows(facts["rows"]))


def _in_doubt_letter(facts: dict[str, Any]) -> InDoubtLetter:
    items = tuple((_key(one["key"]), _rows(one["rows"])) for one in facts["items"])
    if not items:
        msg = "it names no item"
        raise ValueError(msg)
    return InDoubtLetter(**_common(facts), items=items)


def _common(facts: dict[str, Any]) -> dict[str, Any]:
    newest = facts.get(ATTEMPTS, facts)["error"]
    return {
        "facts": facts,
        "source": None if facts["source"] is None else _text(facts["source"]),
        "table": _table(facts["table"]),
        "error": _text(newest["kind"]),
        "reason": _text(newest["reason"]),
        "at": None if facts["at"] is None else _time(facts["at"]),
        "attempts": _attempts(facts),
    }


def _batch_letter(facts: dict[str, Any]) -> BatchLetter:
    batch, context = facts[BATCH], facts.get("requestContext", {})
    newest = facts.get(ATTEMPTS, {}).get("error", {})
    count = int(batch["batchSize"])
    begin, end = (_text(batch[f"approximateArrivalOf{which}Record"]) for which in ("First", "Last"))
    stretch = SequenceRange(
        stream_arn=_text(batch["streamArn"]),
        shard_id=_text(batch["shardId"]),
        first=_digits(batch["startSequenceNumber"]),
        last=_digits(batch["endSequenceNumber"]),
    )
    if int(stretch.first) > int(stretch.last):
        msg = "the first record comes after the last"
        raise ValueError(msg)
    condition = _text(context.get("condition", "Unknown"))
    return BatchLetter(
        facts=facts,
        source=None,
        table=_table(table_of({"eventSourceARN": stretch.stream_arn})),
        error=_text(newest.get("kind", condition)),
        reason=_text(newest.get("reason", f"Lambda gave up on {count} records: {condition}")),
        at=_time(datetime.fromisoformat(begin).timestamp()),
        attempts=_attempts(facts),
        stretch=stretch,
        count=count,
        begin=begin,
        end=end,
    )


def _text(value: Any) -> str:
    value.encode()  # neither what is no text, nor what cannot be sent
    return str(value)


def _table(value: Any) -> str:
    if not TABLE_NAME.fullmatch(value):
        msg = "not a table's name"
        raise ValueError(msg)
    return str(value)


def _digits(value: Any) -> str:
    if not SEQUENCE.fullmatch(value):
        msg = "not a sequence number"
        raise ValueError(msg)
    return str(value)


def _time(value: Any) -> float:
    if isinstance(value, bool) or not 0 <= value < FAR_FUTURE:
        msg = "not a time"
        raise ValueError(msg)
    return float(value)


def _key(key: Any) -> dict[str, AttributeValue]:
    return {name: _value(value) for name, value in key.items()}


def _rows(rows: Any) -> frozenset[RowKey]:
    return frozenset(_row_key(pk, sk) for pk, sk in rows)


def _value(value: Any) -> AttributeValue:
    ((kind, content),) = value.items()
    return {_text(kind): _text(content)}


def _row_key(pk: Any, sk: Any) -> RowKey:
    if not (0 < len(pk.encode()) <= PARTITION_LIMIT and 0 < len(sk.encode()) <= SORT_LIMIT):
        msg = "not a row's key"
        raise ValueError(msg)
    return str(pk), str(sk)


def _attempts(facts: Mapping[str, Any]) -> int:
    count = facts.get(ATTEMPTS, {}).get("count", 0)
    if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count < MOST_ATTEMPTS:
        msg = "not a count"
        raise ValueError(msg)
    return count


READERS: Mapping[str, Callable[[dict[str, Any]], AnyLetter]] = {
    KIND: _record_letter,
    IN_DOUBT: _in_doubt_letter,
}
