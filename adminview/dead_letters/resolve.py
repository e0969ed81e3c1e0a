"""Resolve dead letters to the items to reconcile, with the rows they may have left behind."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from adminview.aws.dead_letter_consumer import Message
from adminview.aws.deadline import Deadline
from adminview.aws.streams import Streams
from adminview.model.dead_letter import (
    AnyLetter,
    BatchLetter,
    InDoubtLetter,
    Key,
    RecordLetter,
    from_json,
)
from adminview.model.delivery import SAVE_SECONDS
from adminview.model.errors import (
    AdminViewError,
    ExpiredRecordsError,
    RecordError,
    UnknownLetterError,
    kind_of,
)
from adminview.model.item import Image
from adminview.model.limits import ROW_LIMIT
from adminview.model.row import RowKey
from adminview.reconcile.item_ref import ItemRef, target_by_key
from adminview.sync.decode import Route, StreamRecord, decode
from adminview.sync.derive import derive


@dataclass(frozen=True, slots=True)
class ResolvedLetter:
    """A dead letter with its source and items."""

    message: Message
    letter: AnyLetter
    source: str
    targets: tuple[
        ItemRef, ...
    ]  # empty for an on-failure message of Lambda: the stream has its records

    @property
    def since(self) -> float:
        """Return the time of the change; replacements of the dead letter keep it."""
        return self.message.sent if self.letter.at is None else self.letter.at

    def expires_soon(self, now: float) -> bool:
        """Return whether only the stream has its records, and drops them within the hour."""
        return isinstance(self.letter, BatchLetter) and now - self.since >= SAVE_SECONDS

    @property
    def about(self) -> str:
        """Name the subject: an owner, or the position of a batch in its stream."""
        if self.targets:
            more = len(self.targets) - 1
            return self.targets[0].owner + (f" and {more} more" if more else "")
        assert isinstance(self.letter, BatchLetter)
        return f"{self.letter.records.shard_id}/{self.letter.records.first}"


@dataclass(frozen=True, slots=True)
class UnreadableRecord:
    """A stream record that names no item of a declared source."""

    record: StreamRecord
    error: AdminViewError


@dataclass(frozen=True, slots=True)
class LetterResolver:
    routes: Mapping[str, Route]
    streams: Streams

    def resolve(self, message: Message) -> ResolvedLetter:
        """Parse a message; raise an UnknownLetterError with the reason if that is impossible."""
        letter = from_json(message.body)
        route = self._route(letter)
        match letter:
            case RecordLetter():
                targets: tuple[ItemRef, ...] = (self._target(letter),)
            case InDoubtLetter():
                targets = tuple(_target(route, item.key, item.rows) for item in letter.items)
            case _:
                targets = ()
        return ResolvedLetter(message, letter, route.source.name, targets)

    def targets(
        self, resolved: ResolvedLetter, deadline: Deadline
    ) -> Iterator[ItemRef | UnreadableRecord]:
        """Yield the items of a dead letter; read the records of a batch from the stream."""
        letter, name = resolved.letter, resolved.source
        if resolved.targets:
            yield from resolved.targets
            return
        assert isinstance(letter, BatchLetter)
        try:
            for record in self.streams.read(letter.records, deadline=deadline):
                yield self._reread(record)
        except ExpiredRecordsError as error:
            msg = (
                f"the stream no longer has these records, changed from {letter.begin} to "
                f"{letter.end}. Run: adminview verify --source {name} --repair; and then: "
                f"adminview dlq discard --source {name} --error {kind_of(error)} --reason …"
            )
            raise ExpiredRecordsError(msg) from error

    def _route(self, letter: AnyLetter) -> Route:
        """Find the source of a dead letter, even if its table has another name now."""
        by_source = {route.source.name: route for route in self.routes.values()}
        route = by_source.get(letter.source or "") or self.routes.get(letter.table or "")
        if route is None:
            msg = "it names no table"
            if letter.table:
                msg = f"no view file declares a source for table {letter.table!r}"
            raise UnknownLetterError(msg)
        return route

    def _target(self, letter: RecordLetter) -> ItemRef:
        if letter.key is None:
            msg = "it names no item: its record could not be read"
            raise UnknownLetterError(msg)
        return _target(self._route(letter), letter.key, letter.rows)

    def _reread(self, record: StreamRecord) -> ItemRef | UnreadableRecord:
        try:
            change = decode(record, self.routes)
        except RecordError as error:
            return UnreadableRecord(record, error)
        rows = {*_rows(change.route, change.before), *_rows(change.route, change.after)}
        return ItemRef(change.route, change.key, frozenset(rows))


def _target(route: Route, key: Key, rows: frozenset[RowKey]) -> ItemRef:
    try:
        return target_by_key(route, key, rows)
    except RecordError as error:
        raise UnknownLetterError(str(error)) from error


def _rows(route: Route, image: Image | None) -> set[RowKey]:
    """Return the keys of the rows that an image derives; empty if a view raises."""
    try:
        return set(derive(route.views, image, room=ROW_LIMIT).rows)
    except RecordError:
        return set()
