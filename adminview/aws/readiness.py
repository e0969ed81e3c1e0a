"""The access patterns that are not ready now, as the record in the progress table says."""

import time
from collections.abc import Callable, Iterator, Mapping
from json import loads
from threading import Lock
from typing import Any, Final

from adminview.aws.deadline import Deadline
from adminview.aws.view_reader import ViewReader
from adminview.model import Registry
from adminview.model.attribute import PK, SK
from adminview.model.errors import AdminViewError
from adminview.model.readiness import FACTS, PATTERNS, READY, Contents, not_ready
from adminview.model.row import Attributes

SOON_SECONDS: Final = 10.0  # until the record is read again while an access pattern is not ready
LATER_SECONDS: Final = 300.0  # when all are ready
READ_SECONDS: Final = 5.0


class Readiness(Mapping[str, str | None]):
    """The access patterns that are not ready, each with what serves it meanwhile, or None.

    *pending* is what the deployment itself says about a phase of a plan. *read* returns what has
    been built; an access pattern is not ready if it is not listed. The record is read again after
    a while. If that fails, the last one holds; without any, the error is raised.
    """

    def __init__(
        self,
        registry: Registry,
        pending: Mapping[str, str | None],
        read: Callable[[], Contents],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._model = registry.shape()
        self._pending = dict(pending)
        self._read = read
        self._clock = clock
        self._lock = Lock()
        self._known: dict[str, str | None] | None = None
        self._until = 0.0

    def __getitem__(self, name: str) -> str | None:
        return self._now()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._now())

    def __len__(self) -> int:
        return len(self._now())

    def _now(self) -> dict[str, str | None]:
        with self._lock:
            if self._known is None or self._clock() >= self._until:
                self._known = self._refresh(self._known)
                wait = SOON_SECONDS if self._known else LATER_SECONDS
                self._until = self._clock() + wait
            return self._known

    def _refresh(self, last: dict[str, str | None] | None) -> dict[str, str | None]:
        try:
            built = self._read()
        except AdminViewError:
            if last is None:
                raise
            return last
        return not_ready(self._model, built) | self._pending


def read_built(reader: ViewReader) -> Contents:
    """Read from the progress table what is built; nothing if that was never recorded."""
    key = (READY, PATTERNS)
    items = reader.get([key], deadline=Deadline.after(READ_SECONDS))
    built: Contents = record_in(items.get(key)).get(PATTERNS, {})
    return built


def record_request(table: str) -> dict[str, Any]:
    """Return the GetItem request that reads the record."""
    key = {PK.name: {"S": READY}, SK.name: {"S": PATTERNS}}
    return {"TableName": table, "Key": key, "ConsistentRead": True}


def record_in(item: Attributes | None) -> Mapping[str, Any]:
    """Return the record in an item of the progress table; empty if there is none."""
    record: Mapping[str, Any] = loads(item[FACTS]["S"]) if item else {}
    return record
