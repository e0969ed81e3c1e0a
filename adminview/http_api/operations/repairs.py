"""Replay and discard dead letters, and reconcile the item of a row: everything that writes.

Each repair needs a reason and is recorded in the audit trail. A deployed API has none of these.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from json import loads
from math import inf
from threading import Event, Lock
from typing import Any, Final, Protocol

from adminview.aws.concurrency import batched
from adminview.aws.dead_letter_consumer import Message
from adminview.aws.deadline import Deadline
from adminview.dead_letters.groups import Selection, messages_of
from adminview.dead_letters.replay import Replayer
from adminview.dead_letters.replay_summary import LetterOutcome
from adminview.dead_letters.resolve import LetterResolver
from adminview.http_api.openapi import parameter
from adminview.http_api.operations.dead_letters import DeadLetters
from adminview.http_api.operations.hidden_letters import HiddenLetter, HiddenLetters
from adminview.http_api.operations.jobs import Jobs, RepairJob
from adminview.http_api.operations.router import Operation, OperationGroup, Reply, Request
from adminview.http_api.operations.rows import NO_ROW, SECONDS, read_key
from adminview.http_api.operations.schemas import REPAIRS
from adminview.http_api.operations.selection import (
    is_whole_number,
    read_members,
    read_reason,
    read_selection,
    refuse,
)
from adminview.http_api.problems import ProblemError
from adminview.model.errors import (
    RecordError,
    RepairError,
    SettingsError,
    UnknownLetterError,
    kind_of,
    reason_of,
)
from adminview.model.row import OWNER, RowKey
from adminview.reconcile.item_ref import target_by_owner

PER_SECOND: Final = 10  # dead letters, by default
MOST_PER_SECOND: Final = 100
CHUNK: Final = 100  # dead letters that a discard receives together
BATCH: Final = 10  # dead letters that a discard deletes together, set by SQS
MOST_ENTRIES: Final = 1000  # of the audit trail, in one response
MODEL_DIFFERS: Final = "urn:adminview:model-differs"
NEVER: Final = Deadline(inf)
PAUSE_SECONDS: Final = 0.1  # between two looks of a paused job at its stop
REPLAY, DISCARD, RECONCILE = "replay", "discard", "reconcile"
DISCARDED, LEFT = "discarded", "left_for_later"


class AuditTrail(Protocol):
    """An append-only record of repairs."""

    @property
    def name(self) -> str: ...

    def write(self, action: str, reason: str, messages: Iterable[Message]) -> None:
        """Record dead letters with their content, durably, before they are deleted."""

    def note(self, action: str, reason: str, **facts: str) -> None:
        """Record another repair, durably."""

    def read(self, limit: int) -> list[dict[str, Any]]:
        """Return the latest entries, the newest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repairs:
    """Repairs of one deployment, one job at a time."""

    letters: DeadLetters
    # Returns a replayer that may write; raises a SettingsError if the deployed model is another.
    writer: Callable[[], Replayer]
    audit: AuditTrail
    hidden: HiddenLetters
    jobs: Jobs = field(default_factory=Jobs)
    # Held while rows are written: a row can be reconciled while a replay runs.
    _replaying: Lock = field(default_factory=Lock)
    _reconciling: Lock = field(default_factory=Lock)
    _paused: Event = field(default_factory=Event)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Write no rows meanwhile; a replay then continues with the writer of that time."""
        self._paused.set()
        try:
            with self._replaying, self._reconciling:
                yield
        finally:
            self._paused.clear()

    def group(self) -> OperationGroup:
        return OperationGroup("repairs", [*self._writing(), *self._watching()], REPAIRS)

    def _writing(self) -> Iterator[Operation]:
        yield Operation(
            method="POST",
            path="/repairs/replay",
            id="replayDeadLetters",
            summary="Start a job that replays dead letters",
            handle=self.replay,
            response="StartedJob",
            body="Repair",
            status=HTTPStatus.ACCEPTED,
        )
        yield Operation(
            method="POST",
            path="/repairs/discard",
            id="discardDeadLetters",
            summary="Start a job that deletes dead letters permanently",
            handle=self.discard,
            response="StartedJob",
            body="Repair",
            status=HTTPStatus.ACCEPTED,
        )
        yield Operation(
            method="POST",
            path="/repairs/reconcile",
            id="reconcileRow",
            summary="Make the rows of a row's item match its source",
            handle=self.reconcile,
            response="ReconciledRow",
            body="ReconcileRow",
        )

    def _watching(self) -> Iterator[Operation]:
        id_ = parameter("id", "path", {"type": "string", "minLength": 1}, required=True)
        limit = {"type": "integer", "minimum": 1, "maximum": MOST_ENTRIES, "default": 100}
        yield Operation(
            method="GET",
            path="/jobs",
            id="listJobs",
            summary="The jobs of this server, the newest first",
            handle=self.list_jobs,
            response="Jobs",
        )
        yield Operation(
            method="GET",
            path="/jobs/{id}",
            id="getJob",
            summary="The progress of a job",
            handle=self.show_job,
            response="Job",
            parameters=[id_],
        )
        yield Operation(
            method="POST",
            path="/jobs/{id}/stop",
            id="stopJob",
            summary="Stop a job after the dead letters in progress",
            handle=self.stop_job,
            response="Job",
            parameters=[id_],
            status=HTTPStatus.ACCEPTED,
        )
        yield Operation(
            method="GET",
            path="/audit",
            id="listAudit",
            summary="The latest repairs, from the audit file",
            handle=self.list_audit,
            response="Audit",
            parameters=[parameter("limit", "query", limit)],
        )

    def replay(self, request: Request) -> Reply:
        job, selection = _read_job(REPLAY, request)
        _checked(self.writer)
        return self._start(job, lambda job: self._replay(job, selection))

    def discard(self, request: Request) -> Reply:
        job, selection = _read_job(DISCARD, request)
        return self._start(job, lambda job: self._discard(job, selection))

    def reconcile(self, request: Request) -> Reply:
        request.parameters()
        body = request.json()
        read_members(body, {"PK", "SK", "reason"}, set())
        key, reason = read_key(body), read_reason(body["reason"])
        with self._reconciling:
            return self._reconcile(key, reason)

    def _reconcile(self, key: RowKey, reason: str) -> Reply:
        reconciler = _checked(self.writer).reconciler
        deadline = Deadline.after(SECONDS)
        row = reconciler.rows.read([key], deadline=deadline).get(key)
        if row is None:
            raise ProblemError(HTTPStatus.NOT_FOUND, NO_ROW)
        target = target_by_owner(reconciler.routes, row.get(OWNER, {}).get("S", ""), [key])
        if target is None:
            detail = "this row names no item of a declared source: run adminview verify --repair"
            raise ProblemError(HTTPStatus.CONFLICT, detail)
        self.audit.note(RECONCILE, reason, item=target.owner)
        try:
            done = reconciler.reconcile(target, deadline=deadline)
        except (RecordError, RepairError) as error:
            detail = f"{kind_of(error)}: {reason_of(error)}"
            raise ProblemError(HTTPStatus.CONFLICT, detail) from error
        return Reply({"item": target.owner, "put": done.put, "deleted": done.deleted})

    def list_jobs(self, request: Request) -> Reply:
        request.parameters()
        return Reply({"jobs": [job.as_dict() for job in self.jobs.newest_first()]})

    def show_job(self, request: Request) -> Reply:
        request.parameters()
        return Reply(self.jobs.find(request.variables[0]).as_dict())

    def stop_job(self, request: Request) -> Reply:
        request.parameters()
        job = self.jobs.find(request.variables[0])
        job.stop.set()
        return Reply(job.as_dict(), HTTPStatus.ACCEPTED)

    def list_audit(self, request: Request) -> Reply:
        value = request.parameters("limit").get("limit", "100")
        if not is_whole_number(value, MOST_ENTRIES):
            refuse(f"limit must be a whole number from 1 to {MOST_ENTRIES}")
        members = ("at", "by", "action", "reason", "id", "outcome", "job", "item")
        entries = [
            {name: _maybe_text(entry.get(name)) for name in members}
            for entry in map(_with_item, self.audit.read(int(value)))
        ]
        return Reply({"file": self.audit.name, "entries": entries})

    def _start(self, job: RepairJob, work: Callable[[RepairJob], None]) -> Reply:
        self.jobs.start(job, work)
        headers = {"Location": f"/api/jobs/{job.id}"}
        return Reply({"job": job.as_dict()}, HTTPStatus.ACCEPTED, headers)

    def _replay(self, job: RepairJob, selection: Selection) -> None:
        """Replay until the end; after a pause, go on with the writer of that time."""
        self.audit.note(job.action, job.reason, job=job.id, outcome="started")
        job.total = len(selection.ids) if selection.ids is not None else None
        job.rows_put = job.rows_deleted = 0
        with self.letters.changing():
            while not job.stop.is_set():
                with self._replaying:
                    interrupted = not self._replay_until_paused(job, selection, self.writer())
                if not interrupted:
                    return
                while self._paused.is_set() and not job.stop.wait(PAUSE_SECONDS):
                    pass

    def _replay_until_paused(self, job: RepairJob, selection: Selection, writer: Replayer) -> bool:
        """Replay with one writer; return False if a pause ended it."""
        paused = False  # looked at between two rounds: a pause interrupts no reconcile

        def ended() -> bool:
            return selection.ids is not None and job.handled >= len(selection.ids)

        def check() -> None:
            nonlocal paused
            writer.check()
            job.pace()
            paused = self._paused.is_set()

        def report(message: Message, outcome: LetterOutcome, why: str) -> None:
            subject = _subject(message, writer.resolver)
            item = {"item": subject[0]} if subject else {}
            facts = {"job": job.id, "id": message.id, **item, "outcome": outcome.value}
            self.audit.note(job.action, job.reason, **facts)
            if subject and outcome in (LetterOutcome.FAILING, LetterOutcome.EXPIRED):
                # It was sent again, and is invisible for a while.
                until = writer.now() + writer.retry_seconds
                self.hidden.add(HiddenLetter(*subject, until))
            job.report(message.id, outcome.value, why)
            self.letters.handled(message.id)

        stopped = Deadline.at_event(job.stop)
        over = Deadline(0.0, lambda: 1.0 if paused or ended() else stopped.clock())
        paced = replace(writer, check=check, round_size=min(CHUNK, job.per_second))
        summary = paced.replay(selection, deadline=over, end=NEVER, report_error=report)
        job.rows_put = (job.rows_put or 0) + summary.rows_put
        job.rows_deleted = (job.rows_deleted or 0) + summary.rows_deleted
        return ended() or not paused

    def _discard(self, job: RepairJob, selection: Selection) -> None:
        consumer, seen = self.letters.replayer.consumer, set[str]()
        job.total = len(selection.ids) if selection.ids is not None else None
        with self.letters.changing():
            while not job.stop.is_set():
                with self.letters.browse(selection, CHUNK) as peeked:
                    fresh = [message for message in messages_of(peeked) if message.id not in seen]
                    for batch in batched(fresh, BATCH):
                        job.pace()
                        if job.stop.is_set():
                            return
                        seen |= {message.id for message in batch}
                        self.audit.write(job.action, job.reason, batch)
                        left = {
                            message.id
                            for message in consumer.delete(batch, deadline=Deadline.after(SECONDS))
                        }
                        for message in batch:
                            job.report(message.id, LEFT if message.id in left else DISCARDED)
                            self.letters.handled(message.id)
                if not fresh or seen >= (selection.ids or {""}):
                    return


def _subject(message: Message, resolver: LetterResolver) -> tuple[str, str, str] | None:
    """Return the item, source and error of a dead letter; None if it cannot be read."""
    try:
        resolved = resolver.resolve(message)
    except UnknownLetterError:
        return None
    return resolved.about, resolved.source, resolved.letter.latest_error.kind


def _read_job(action: str, request: Request) -> tuple[RepairJob, Selection]:
    request.parameters()
    body = request.json()
    read_members(body, {"select", "reason"}, {"perSecond"})
    per_second = body.get("perSecond", PER_SECOND)
    whole = isinstance(per_second, int) and not isinstance(per_second, bool)
    if not whole or not 1 <= per_second <= MOST_PER_SECOND:
        refuse(f'"perSecond" must be a whole number from 1 to {MOST_PER_SECOND}')
    selection = read_selection(body["select"])
    reason = read_reason(body["reason"])
    select: dict[str, Any] = dict(body["select"])
    return RepairJob(action=action, reason=reason, select=select, per_second=per_second), selection


def _checked(writer: Callable[[], Replayer]) -> Replayer:
    try:
        return writer()
    except SettingsError as error:
        raise ProblemError(HTTPStatus.CONFLICT, str(error), kind=MODEL_DIFFERS) from error


def _with_item(entry: dict[str, Any]) -> dict[str, Any]:
    """Name the item of an entry that has only the content of a dead letter, as of a discard."""
    try:
        letter = loads(entry.get("letter") or "null")
    except (TypeError, ValueError, RecursionError):
        return entry
    return {"item": letter.get("owner"), **entry} if isinstance(letter, dict) else entry


def _maybe_text(value: object) -> str | None:
    return value if isinstance(value, str) else None
