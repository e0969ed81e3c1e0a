"""The dead-letter schema: how messages of the queue are written and read. Pure.

A dead letter holds keys and the error, never customer data. It is plain ASCII: SQS rejects some
characters, and a key may hold any. Any sender with access to the queue can put anything there, so
each field is checked when it is read.

Each JSON field is a dataclass field with the check that reads it. Lambda's own on-failure message
names its fields in another style; the constants below hold these names.
"""

# ruff: noqa: RUF009 - `_checked` makes fields
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from datetime import UTC, datetime
from json import dumps, loads
from typing import Any, Final, TypeAlias, TypeVar

from adminview.model.errors import (
    AdminViewError,
    UnknownLetterError,
    kind_of,
    reason_of,
)
from adminview.model.item import AttributeValue
from adminview.model.limits import PARTITION_LIMIT, SORT_LIMIT
from adminview.model.row import RowKey
from adminview.model.source import TABLE_NAME
from adminview.model.stream import FAR_FUTURE, SequenceRange, table_of_stream

KIND: Final = "kind"
RECORD: Final = "adminview.letter/1"
IN_DOUBT: Final = "adminview.in-doubt/1"
BY_OWNER: Final = "by owner"
ATTEMPTS: Final = "attempts"
BODY_LIMIT: Final = 200 * 1024  # bytes of row keys per dead letter: SQS took 256 KiB for years
ITEMS_LIMIT: Final = 25  # items per dead letter: a call has at most as many rows
MAX_ATTEMPTS: Final = 10**9

# Lambda's on-failure message of a stream.
BATCH: Final = "DDBStreamBatchInfo"
STREAM_ARN, SHARD, COUNT = "streamArn", "shardId", "batchSize"
FIRST, LAST = "startSequenceNumber", "endSequenceNumber"
BEGIN, END = "approximateArrivalOfFirstRecord", "approximateArrivalOfLastRecord"
CONTEXT, CONDITION = "requestContext", "condition"

SEQUENCE = re.compile(r"[0-9]{21,40}")  # the lengths that DynamoDB accepts
# Errors that reading a message raises when a field is absent or has another type.
MALFORMED = (AdminViewError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)

Key: TypeAlias = Mapping[str, AttributeValue]
T = TypeVar("T")


def _text(value: Any) -> str:
    value.encode()  # raises if it is not text, or holds a lone surrogate
    return str(value)


def _table(value: Any) -> str:
    if not TABLE_NAME.fullmatch(value):
        msg = "not a table's name"
        raise ValueError(msg)
    return str(value)


def _time(value: Any) -> float:
    if isinstance(value, bool) or not 0 <= value < FAR_FUTURE:
        msg = "not a time"
        raise ValueError(msg)
    return float(value)


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < MAX_ATTEMPTS:
        msg = "not a count"
        raise ValueError(msg)
    return value


def _key(value: Any) -> Key:
    return {name: _attribute(typed) for name, typed in value.items()}


def _attribute(value: Any) -> AttributeValue:
    ((kind, content),) = value.items()
    if not isinstance(content, str):  # text that DynamoDB rejects is kept: it may be the error
        msg = "not a value of a key"
        raise TypeError(msg)
    return {kind: content}


def _rows(value: Any) -> frozenset[RowKey]:
    return frozenset(_row_key(pk, sk) for pk, sk in value)


def _row_key(pk: Any, sk: Any) -> RowKey:
    if not (0 < len(pk.encode()) <= PARTITION_LIMIT and 0 < len(sk.encode()) <= SORT_LIMIT):
        msg = "not a row's key"
        raise ValueError(msg)
    return str(pk), str(sk)


def _digits(value: Any) -> str:
    if not SEQUENCE.fullmatch(value):
        msg = "not a sequence number"
        raise ValueError(msg)
    return str(value)


def _null_or(check: Callable[[Any], T]) -> Callable[[Any], T | None]:
    return lambda value: None if value is None else check(value)


def _checked(check: Callable[[Any], Any], **default: Any) -> Any:
    """Declare a JSON field with the check that reads it."""
    return field(metadata={"check": check}, **default)


def _omitted(check: Callable[[Any], Any]) -> Any:
    """Declare a JSON field that is omitted, not null, when it is None."""
    return field(metadata={"check": check, "omit": True}, default=None)


def _from_plain(cls: type[T], plain: Any) -> T:
    """Read the fields of *cls*; raise one of MALFORMED if a field is absent or fails its check."""
    return cls(
        **{
            declared.name: declared.metadata["check"](plain[declared.name])
            for declared in fields(cls)  # type: ignore[arg-type]  # of dataclasses only
            if declared.default is MISSING or declared.name in plain
        }
    )


def _to_plain(value: Any) -> Any:
    if is_dataclass(value):
        return {
            declared.name: _to_plain(content)
            for declared in fields(value)
            if (content := getattr(value, declared.name)) is not None
            or "omit" not in declared.metadata
        }
    if isinstance(value, frozenset):
        return sorted(value)
    return [_to_plain(element) for element in value] if isinstance(value, tuple) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorSummary:
    """The class of an error, and its text without data."""

    kind: str = _checked(_text)
    reason: str = _checked(_text)

    @classmethod
    def of(cls, error: AdminViewError) -> "ErrorSummary":
        return cls(kind=kind_of(error), reason=reason_of(error))


def _error(plain: Any) -> ErrorSummary:
    return _from_plain(ErrorSummary, plain)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempts:
    """The number of failed replays, and when and why the last one failed."""

    count: int = _checked(_count)
    at: str | None = _checked(_text, default=None)
    error: ErrorSummary = _checked(_error)


def _attempts(plain: Any) -> Attempts:
    return _from_plain(Attempts, plain)


@dataclass(frozen=True, slots=True, kw_only=True)
class TouchedItem:
    """A source item, and the rows that a call in doubt may still write or delete."""

    key: Key = _checked(_key)
    owner: str | None = _checked(_null_or(_text), default=None)
    rows: frozenset[RowKey] = _checked(_rows)


def _touched_items(plain: Any) -> tuple[TouchedItem, ...]:
    if not plain:
        msg = "it names no item"
        raise ValueError(msg)
    return tuple(_from_plain(TouchedItem, item) for item in plain)


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The source and the time of the change; unknown fields are None."""

    source: str | None = _checked(_null_or(_text))
    table: str | None = _checked(_null_or(_table))
    sequence: str | None = _checked(_null_or(_text), default=None)
    at: float | None = _checked(_null_or(_time))  # of the change, in seconds since 1970
    model: str | None = _checked(_null_or(_text), default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemOrigin(Origin):
    """The item or record that a dead letter is about."""

    key: Key | None = _checked(_null_or(_key))
    owner: str | None = _checked(_null_or(_text), default=None)
    event: str | None = _checked(_null_or(_text), default=None)
    stream: str | None = _checked(_null_or(_text), default=None)

    @classmethod
    def salvaged(cls, **values: Any) -> "ItemOrigin":
        """Return the origin of an unreadable record, with the *values* that pass their checks."""
        checks = {declared.name: declared.metadata["check"] for declared in fields(cls)}
        return cls(**{name: _passing(check, values.get(name)) for name, check in checks.items()})


def _passing(check: Callable[[Any], Any], value: Any) -> Any:
    try:
        return check(value)
    except MALFORMED:
        return None


class _Replayable:
    __slots__ = ()
    error: ErrorSummary
    attempts: Attempts | None

    @property
    def latest_error(self) -> ErrorSummary:
        """The error of the last replay, or the original one."""
        return self.attempts.error if self.attempts else self.error

    @property
    def failed_replays(self) -> int:
        return self.attempts.count if self.attempts else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordLetter(_Replayable, ItemOrigin):
    """A record or item that could not be synced, and the rows that it may have touched."""

    error: ErrorSummary = _checked(_error)
    rows: frozenset[RowKey] = _checked(_rows)
    find_rows: str | None = _omitted(_text)  # BY_OWNER: the row keys did not fit
    attempts: Attempts | None = _omitted(_attempts)

    def to_json(self) -> str:
        return dumps({KIND: RECORD, **_to_plain(self)})


@dataclass(frozen=True, slots=True, kw_only=True)
class InDoubtLetter(_Replayable, Origin):
    """A call without a response, and the items whose rows it may still write."""

    error: ErrorSummary = _checked(_error)
    items: tuple[TouchedItem, ...] = _checked(_touched_items)
    attempts: Attempts | None = _omitted(_attempts)

    def to_json(self) -> str:
        return dumps({KIND: IN_DOUBT, **_to_plain(self)})


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchLetter(_Replayable):
    """Records that Lambda gave up on: their range in the stream, and their arrival times."""

    message: Mapping[str, Any]  # as Lambda wrote it
    table: str
    at: float
    error: ErrorSummary
    records: SequenceRange
    count: int
    begin: str
    end: str
    source: str | None = None
    attempts: Attempts | None = None

    def to_json(self) -> str:
        attempts = {ATTEMPTS: _to_plain(self.attempts)} if self.attempts else {}
        return dumps({**self.message, **attempts})


AnyLetter: TypeAlias = RecordLetter | InDoubtLetter | BatchLetter


def retried(letter: AnyLetter, error: AdminViewError, now: float) -> AnyLetter:
    """Return *letter* with one more failed attempt, which raised *error*."""
    attempts = Attempts(
        count=letter.failed_replays + 1,
        at=datetime.fromtimestamp(now, UTC).isoformat(timespec="seconds"),
        error=ErrorSummary.of(error),
    )
    return replace(letter, attempts=attempts)


def from_json(body: str) -> AnyLetter:
    """Read a message, or raise an UnknownLetterError that quotes nothing of it."""
    try:
        plain = loads(body)
        dumps(plain)  # raises for what could not be written back
    except (ValueError, RecursionError) as error:
        msg = "it is not JSON"
        raise UnknownLetterError(msg) from error
    kind = str(plain.get(KIND)) if isinstance(plain, dict) else ""
    if kind not in READERS and not (isinstance(plain, dict) and BATCH in plain):
        msg = f"it is neither {RECORD!r} nor an on-failure message of Lambda about a stream"
        raise UnknownLetterError(msg)
    try:
        return READERS.get(kind, _batch_letter)(plain)
    except MALFORMED as error:
        msg = f"a field is missing or malformed: {kind_of(error)}"
        raise UnknownLetterError(msg) from error


READERS: Mapping[str, Callable[[dict[str, Any]], AnyLetter]] = {
    RECORD: lambda plain: _from_plain(RecordLetter, plain),
    IN_DOUBT: lambda plain: _from_plain(InDoubtLetter, plain),
}


def on_failure_message(
    records: SequenceRange, count: int, arrival: tuple[str, str], condition: str
) -> dict[str, Any]:
    """Build the part of Lambda's on-failure message that a replay reads.

    *arrival* holds the arrival times of the first and the last record, in ISO 8601.
    """
    return {
        CONTEXT: {CONDITION: condition},
        BATCH: {
            SHARD: records.shard_id,
            FIRST: records.first,
            LAST: records.last,
            BEGIN: arrival[0],
            END: arrival[1],
            COUNT: count,
            STREAM_ARN: records.stream_arn,
        },
    }


def _batch_letter(plain: dict[str, Any]) -> BatchLetter:
    batch = plain[BATCH]
    count, begin, end = int(batch[COUNT]), _text(batch[BEGIN]), _text(batch[END])
    records = SequenceRange(
        stream_arn=_text(batch[STREAM_ARN]),
        shard_id=_text(batch[SHARD]),
        first=_digits(batch[FIRST]),
        last=_digits(batch[LAST]),
    )
    if int(records.first) > int(records.last):
        msg = "the first record comes after the last"
        raise ValueError(msg)
    condition = _text(plain.get(CONTEXT, {}).get(CONDITION, "Unknown"))
    reason = f"Lambda gave up on {count} records: {condition}"
    return BatchLetter(
        message=plain,
        table=_table(table_of_stream(records.stream_arn)),
        at=_time(datetime.fromisoformat(begin).timestamp()),
        error=ErrorSummary(kind=condition, reason=reason),
        records=records,
        count=count,
        begin=begin,
        end=end,
        attempts=_attempts(plain[ATTEMPTS]) if ATTEMPTS in plain else None,
    )


@dataclass(frozen=True, slots=True)
class OutgoingLetter:
    """A message for the dead-letter queue, about the record at *position* of its batch."""

    position: int
    source: str | None
    sequence: str | None
    error: str
    reason: str
    body: str
    delay_seconds: int | None = None  # None: the queue's default

    @classmethod
    def of(
        cls, letter: AnyLetter, position: int = 0, delay_seconds: int | None = None
    ) -> "OutgoingLetter":
        sequence = letter.sequence if isinstance(letter, Origin) else None
        error, body = letter.latest_error, letter.to_json()
        return cls(position, letter.source, sequence, error.kind, error.reason, body, delay_seconds)
