"""List, show and preview dead letters. Nothing is written, and nothing is removed from the queue.

SQS shows a message only by receiving it, which hides it from others. So requests share one listing
for some seconds, and only one listing or preview runs at a time.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from threading import Lock
from time import time
from typing import Any, Final

from adminview.aws.deadline import Deadline
from adminview.dead_letters.groups import LetterGroup, Selection
from adminview.dead_letters.letter_filter import LetterFilter
from adminview.dead_letters.peek import PeekResult, browse
from adminview.dead_letters.preview import ReplayPreview, preview
from adminview.dead_letters.replay import Replayer
from adminview.http_api.openapi import parameter
from adminview.http_api.operations.hidden_letters import HiddenLetters
from adminview.http_api.operations.letters import (
    details,
    groups_of,
    letters_of,
    queue_counts,
    short,
    unreadable_details,
)
from adminview.http_api.operations.moments import moment
from adminview.http_api.operations.router import Operation, OperationGroup, Reply, Request
from adminview.http_api.operations.rows import key_members
from adminview.http_api.operations.schemas import DEAD_LETTERS
from adminview.http_api.operations.selection import (
    is_whole_number,
    read_members,
    read_selection,
    refuse,
)
from adminview.http_api.problems import ProblemError
from adminview.http_api.render import Renderer, text
from adminview.model.row import Attributes, RowKey

SECONDS: Final = 20.0
SHARED_SECONDS: Final = 3.0  # for which requests share a listing
MOST_LETTERS: Final = 1000  # per listing
DEFAULT_LETTERS: Final = 500
MOST_PREVIEWED: Final = 100
PREVIEW_ROOM: Final = 2 * 1024 * 1024  # characters of rows
FILTERS: Final[tuple[str, ...]] = ("source", "view", "error")
GONE: Final = (
    "no dead letter with this id is visible: it was replayed or discarded, or it is invisible for "
    "some minutes after a try"
)
BUSY: Final = "a repair is running: wait until it has ended, or stop it"
TEXT_PARAMETER: Final = {"type": "string", "minLength": 1, "maxLength": 255}


@dataclass(slots=True)
class DeadLetters:
    """The dead letters of one queue."""

    renderer: Renderer
    replayer: Replayer
    hidden: HiddenLetters
    now: Callable[[], float] = time
    _lock: Lock = field(default_factory=Lock)
    _listed: PeekResult | None = None
    _listed_at: float = 0.0
    _listed_limit: int = 0
    _busy: bool = False  # a repair receives the dead letters: a listing would hide some from it

    def group(self) -> OperationGroup:
        limit = {"type": "integer", "minimum": 1, "maximum": MOST_LETTERS}
        parameters = [parameter(name, "query", TEXT_PARAMETER) for name in FILTERS]
        parameters.append(parameter("limit", "query", limit | {"default": DEFAULT_LETTERS}))
        id_ = parameter("id", "path", TEXT_PARAMETER, required=True)
        operations = [
            Operation(
                method="GET",
                path="/dead-letters",
                id="listDeadLetters",
                summary="Dead letters, one by one and grouped by source, view and error",
                handle=self.list,
                response="DeadLetters",
                parameters=parameters,
            ),
            Operation(
                method="GET",
                path="/dead-letters/{id}",
                id="getDeadLetter",
                summary="Everything in one dead letter",
                handle=self.show,
                response="DeadLetterDetails",
                parameters=[id_],
            ),
            Operation(
                method="POST",
                path="/dead-letters/preview",
                id="previewReplay",
                summary="What a replay would write and delete; writes nothing",
                handle=self.preview,
                response="ReplayPreview",
                body="Selection",
            ),
        ]
        return OperationGroup("dead-letters", operations, DEAD_LETTERS)

    def list(self, request: Request) -> Reply:
        values = request.parameters(*FILTERS, "limit")
        listed = self._list(_limit(values.get("limit")))
        wanted = {name: values[name] for name in FILTERS if name in values}
        matched = PeekResult(
            [letter for letter in listed.matched if _fits(LetterGroup.of(letter), wanted)],
            [] if wanted else listed.unknown,
            listed.complete,
        )
        waiting = self.replayer.consumer.count(deadline=Deadline.after(SECONDS))
        return Reply(
            {
                "queue": {**queue_counts(waiting), "at": moment(self.now())},
                "invisible": self.hidden.describe(waiting.invisible, self.now()),
                "groups": groups_of(matched),
                "letters": letters_of(matched),
                "complete": listed.complete,
            }
        )

    def show(self, request: Request) -> Reply:
        request.parameters()
        (id_,) = request.variables
        for listed in self._listings():
            for resolved in listed.matched:
                if resolved.message.id == id_:
                    return Reply(details(resolved))
            for message, why in listed.unknown:
                if message.id == id_:
                    return Reply(unreadable_details(message, why))
        raise ProblemError(HTTPStatus.NOT_FOUND, GONE)

    def preview(self, request: Request) -> Reply:
        request.parameters()
        body = request.json()
        read_members(body, set(), {"ids", "group", "all"})
        selection = read_selection(body)
        with self._lock:
            if self._busy:
                raise ProblemError(HTTPStatus.CONFLICT, BUSY)
            with self.browse(selection, MOST_PREVIEWED) as peeked:
                # More may have been received than were asked for: ten come at a time.
                previews = [*preview(self.replayer, peeked.matched[:MOST_PREVIEWED])]
        described = _Previews(self.renderer.row)
        items = [described.item(item) for item in previews]
        return Reply(
            {
                "items": items,
                "unreadable": [
                    {"id": message.id, "reason": short(why)} for message, why in peeked.unknown
                ],
                "letters": len(peeked),
                "complete": peeked.complete,
                "truncated": described.truncated,
            }
        )

    def use(self, renderer: Renderer, replayer: Replayer) -> None:
        """Read the same queue with another model from now on."""
        with self._lock:
            self.renderer, self.replayer = renderer, replayer
            if not self._busy:  # else a listing would hide some from the repair
                self._listed = None

    def by_source(self) -> dict[str, int]:
        """Count the visible dead letters by source."""
        return _by_source(self._list(MOST_LETTERS))

    def last_by_source(self) -> dict[str, int] | None:
        """Count the dead letters of the last listing by source; None if there was none."""
        return _by_source(self._listed) if self._listed else None

    def browse(
        self, letter_filter: LetterFilter, limit: int | None = None
    ) -> AbstractContextManager[PeekResult]:
        """Receive the dead letters that match, and release them at the end."""
        return browse(
            self.replayer.consumer,
            self.replayer.resolver,
            letter_filter=letter_filter,
            now=self.now,
            deadline=Deadline.after(SECONDS),
            limit=limit,
        )

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Receive no dead letters meanwhile: listings show the last one, less what is handled."""
        with self._lock:
            self._busy = True
        try:
            yield
        finally:
            with self._lock:
                self._busy, self._listed = False, None

    def handled(self, id_: str) -> None:
        """Remove a dead letter from the last listing."""
        with self._lock:
            if (last := self._listed) is not None:
                matched = [letter for letter in last.matched if letter.message.id != id_]
                unknown = [pair for pair in last.unknown if pair[0].id != id_]
                self._listed = PeekResult(matched, unknown, last.complete)

    def _list(self, limit: int) -> PeekResult:
        with self._lock:
            if self._busy:
                return self._listed or PeekResult(complete=False)
            fresh = self.now() - self._listed_at < SHARED_SECONDS
            if self._listed is None or not fresh or self._listed_limit < limit:
                with self.browse(Selection(), limit) as peeked:
                    self._listed, self._listed_limit = peeked, limit
                self._listed_at = self.now()
            return self._listed

    def _listings(self) -> Iterator[PeekResult]:
        """Yield the last listing, and then a new one."""
        if (last := self._listed) is not None:
            yield last
        yield self._list(MOST_LETTERS)


class _Previews:
    """Describes previews, with the content of rows as long as there is room."""

    def __init__(self, render: Callable[[Attributes], dict[str, Any]]) -> None:
        self._render = render
        self._room = PREVIEW_ROOM
        self.truncated = False

    def item(self, previewed: ReplayPreview) -> dict[str, Any]:
        plan = previewed.plan
        puts, deletes = (plan.puts, plan.deletes) if plan else ({}, set[RowKey]())
        current = plan.current if plan else {}
        return {
            "item": previewed.about,
            "letters": previewed.letters,
            "problem": short(previewed.problem) or None,
            "put": [
                {
                    "key": key_members(key),
                    "before": self._row(current.get(key)),
                    "after": self._row(row),
                    "isNew": key not in current,
                }
                for key, row in sorted(puts.items())
            ],
            "delete": [
                {"key": key_members(key), "before": self._row(current.get(key))}
                for key in sorted(deletes)
            ],
        }

    def _row(self, row: Attributes | None) -> dict[str, Any] | None:
        if row is None:
            return None
        rendered = self._render(row)
        self._room -= len(text(rendered))
        if self._room < 0:
            self.truncated = True
            return None
        return rendered


def _by_source(listed: PeekResult) -> dict[str, int]:
    return Counter(resolved.source for resolved in listed.matched)


def _limit(value: str | None) -> int:
    if value is None:
        return DEFAULT_LETTERS
    if not is_whole_number(value, MOST_LETTERS):
        refuse(f"limit must be a whole number from 1 to {MOST_LETTERS}")
    return int(value)


def _fits(group: LetterGroup, wanted: dict[str, str]) -> bool:
    return all(getattr(group, name) == value for name, value in wanted.items())
