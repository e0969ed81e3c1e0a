"""Conditional updates of the totals table."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from secrets import token_bytes
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from botocore.exceptions import BotoCoreError, ClientError

from adminview.aws.attribute_codec import for_boto3, from_boto3
from adminview.aws.call_errors import CallErrors
from adminview.aws.concurrency import map_concurrently, thread_pool
from adminview.aws.deadline import Deadline
from adminview.aws.responses import CAPACITY, CONDITION_ITEM, TOTAL, NotFromAwsError
from adminview.aws.retry import Backoff, call_with_retry, error_code, is_transient
from adminview.model.errors import RowError, ServiceError
from adminview.model.item import AttributeValue
from adminview.model.json_codec import dump_json
from adminview.model.row import Attributes
from adminview.model.total import ARCHIVED
from adminview.totals.archive import (
    RANDOM_BYTES,
    is_archive,
    movable,
    open_archive,
    remove_moved,
    store,
)
from adminview.totals.update import GroupUpdate, trial, upkeep

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from adminview.aws.transport.http_client import HttpClient

OPERATION = "UpdateItem"
CONDITION_FAILED = "ConditionalCheckFailedException"
# The amounts do not fit the item, or the table is not a totals table: a trial decides.
REFUSALS = {"ValidationException", "ParamValidationError"}
NOT_OURS = (
    "it refuses every update, so its key or its index is not that of a totals table: run "
    "`adminview doctor`; no change is skipped, and the stream waits"
)
CALLS_PER_ROUND = 100  # bounds the memory of a batch with many groups

Request: TypeAlias = dict[str, Any]
Result: TypeAlias = dict[str, Any] | ClientError | BotoCoreError | None


class Updater(Protocol):
    """Sends calls of UpdateItem."""

    def send(self, requests: Sequence[Request], deadline: Deadline) -> Sequence[Result]:
        """Make calls concurrently, and return the response or the error of each.

        The result of a call that was not started before the deadline is None.
        """


class Boto3Updater:
    """Sends calls through a boto3 client, each in a thread."""

    def __init__(self, client: "DynamoDBClient") -> None:
        self._client: Any = client
        self._pool = thread_pool()

    def send(self, requests: Sequence[Request], deadline: Deadline) -> Sequence[Result]:
        return map_concurrently(partial(self._send, deadline), requests, self._pool)

    def _send(self, deadline: Deadline, request: Request) -> Result:
        if deadline.passed:
            return None
        values = for_boto3(request["ExpressionAttributeValues"])
        try:
            response = self._client.update_item(**request | {"ExpressionAttributeValues": values})
        except ClientError as error:
            details: Any = error.response
            if item := details.get(CONDITION_ITEM):
                details[CONDITION_ITEM] = from_boto3(item)
            return error
        except BotoCoreError as error:
            return error
        return {**response, "Attributes": from_boto3(response.get("Attributes", {}))}


class HttpUpdater:
    """Sends calls with the direct HTTP client, without threads."""

    def __init__(self, direct: "HttpClient") -> None:
        self._direct = direct

    def send(self, requests: Sequence[Request], deadline: Deadline) -> Sequence[Result]:
        bodies = (dump_json({**request, CAPACITY: TOTAL}) for request in requests)
        return [*self._direct.calls(OPERATION, bodies, deadline)]


def expire_totals(client: "DynamoDBClient", request: Request, deadline: Deadline) -> bool:
    """Send a call that lets a total expire; return False if its condition does not hold."""
    call, action = client.update_item, f"update {request['TableName']}"
    try:
        call_with_retry(call, action, Backoff(), deadline, **request)
    except ServiceError as error:
        if error.code != CONDITION_FAILED:
            raise
        return False
    return True


@dataclass(slots=True)
class TotalsOutcome:
    """The outcome of the updates of one batch."""

    updates: int = 0  # that changed a total
    covered: int = 0  # groups that included some of their changes already
    refused: int = 0  # changes that DynamoDB cannot add; they are skipped
    unfinished: list[GroupUpdate] = field(default_factory=list)  # a retry may help
    errors: CallErrors = field(default_factory=CallErrors)


@dataclass(slots=True)
class _Job:
    """The updates of one group, which must be made in order."""

    updates: deque[GroupUpdate]


@dataclass(slots=True)
class _Followups:
    """What a round leads to."""

    calls: list[Request] = field(default_factory=list)  # upkeep
    lookups: list[tuple[_Job, AttributeValue]] = field(default_factory=list)  # with the mark
    moves: list[tuple[GroupUpdate, Attributes, Attributes]] = field(default_factory=list)


class TotalsTable:
    """Adds changes to totals, each exactly once."""

    def __init__(
        self,
        updater: Updater,
        name: str,
        now: Callable[[], float],
        backoff: Backoff | None = None,
    ) -> None:
        self._updater = updater
        self._name = name
        self._now = now
        self._backoff = backoff or Backoff()
        self._is_tried = False  # whether the table took a trial during this batch

    def apply(self, updates: Iterable[GroupUpdate], deadline: Deadline) -> TotalsOutcome:
        """Add the changes of each group to its total, and return what could not be added.

        Makes one call per group, and another for a group whose total includes some of the changes.
        A call without a response is repeated: if it did arrive, the condition refuses the second.
        Raises a ServiceError if a retry cannot help, or if the table refuses every update.
        """
        outcome = TotalsOutcome()
        self._is_tried = False
        waiting = deque(_Job(deque([update])) for update in updates)
        attempt = 0
        while waiting and not deadline.passed:
            jobs = [waiting.popleft() for _ in range(min(len(waiting), CALLS_PER_ROUND))]
            failed, transient = self._round(jobs, outcome, deadline)
            waiting.extendleft(reversed(failed))
            if len(failed) < len(jobs):
                attempt = 0  # some calls succeeded: a few throttled ones must not slow the rest
            if transient:
                self._backoff.pause(attempt, deadline)
                attempt += 1
        outcome.unfinished += [update for job in waiting for update in job.updates]
        return outcome

    def _round(
        self, jobs: Sequence[_Job], outcome: TotalsOutcome, deadline: Deadline
    ) -> tuple[list[_Job], bool]:
        """Make one call for each job; return the jobs that are not done, and whether to wait."""
        requests: list[Request] = []
        sent: list[_Job] = []
        left: list[_Job] = []
        for job in jobs:
            try:
                requests.append(job.updates[0].request(self._name))
                sent.append(job)
            except RowError:  # more digits than DynamoDB keeps
                self._refuse(job, outcome)
                left.append(job)
        results = self._updater.send(requests, deadline)
        followups = _Followups()
        transient = False
        for job, result in zip(sent, results, strict=True):
            if isinstance(result, Exception) and error_code(result) in REFUSALS:
                transient |= not self._refused(job, result, outcome, deadline)
            else:
                transient |= self._take(job, result, outcome, followups)
        transient |= self._read_archives(followups.lookups, outcome, deadline)
        # Best effort: the next update of the item makes the calls that fail here.
        if followups.calls:
            self._updater.send(followups.calls, deadline)
        for update, item, moved in followups.moves:
            self._archive(update, item, moved, deadline)
        return [job for job in (*left, *sent) if job.updates], transient

    def _take(
        self, job: _Job, result: Result, outcome: TotalsOutcome, followups: _Followups
    ) -> bool:
        """Take the result of a job's first update; return whether a transient error occurred."""
        update = job.updates[0]
        if isinstance(result, dict) and not update.is_in(result.get("Attributes", {})):
            result = NotFromAwsError(operation=OPERATION, member="item of this update")
        if isinstance(result, dict):
            job.updates.popleft()
            outcome.updates += 1
            item = result["Attributes"]
            followups.calls += upkeep(self._name, update, item, self._now())
            if moved := movable(item, update.position, update.changes[-1].at):
                followups.moves.append((update, item, moved))
            return False
        if result is None:
            return True
        code = error_code(result)
        if code == CONDITION_FAILED and isinstance(result, ClientError):
            refused: Attributes = result.response.get(CONDITION_ITEM) or {}  # type: ignore[assignment]
            if update.needs_archive(refused):
                followups.lookups.append((job, refused[ARCHIVED]))
                return False
            return self._skip_covered(job, result, refused, outcome)
        outcome.errors.add(result)
        if not is_transient(result):
            raise ServiceError(code, f"update {self._name}") from result
        return True

    def _read_archives(
        self,
        lookups: Sequence[tuple[_Job, AttributeValue]],
        outcome: TotalsOutcome,
        deadline: Deadline,
    ) -> bool:
        """Leave out changes that archived positions cover; return whether an error occurred."""
        now = self._now()
        requests = [open_archive(self._name, job.updates[0].group, now) for job, _ in lookups]
        results = self._updater.send(requests, deadline) if requests else []
        failed = False
        for (job, mark), result in zip(lookups, results, strict=True):
            update = job.updates[0]
            archive = result.get("Attributes", {}) if isinstance(result, dict) else {}
            if not is_archive(archive, update.group):
                failed = True
                if isinstance(result, Exception):
                    outcome.errors.add(result)
                continue
            left = update.after_archive(archive, mark)
            outcome.covered += left is None or len(left.changes) < len(update.changes)
            if left is None:
                job.updates.popleft()
            else:
                job.updates[0] = left
        return failed

    def _archive(
        self, update: GroupUpdate, item: Attributes, moved: Attributes, deadline: Deadline
    ) -> None:
        """Move old positions of a total to its archive: store them there, then remove them."""
        now, random = self._now(), token_bytes(RANDOM_BYTES)
        (result,) = self._updater.send([open_archive(self._name, update.group, now)], deadline)
        archive = result.get("Attributes", {}) if isinstance(result, dict) else {}
        if not is_archive(archive, update.group):
            return
        at = update.changes[-1].at
        request = store(self._name, archive, moved, at=at, now=now, version=random)
        (result,) = self._updater.send([request], deadline)
        if isinstance(result, dict):
            self._updater.send([remove_moved(self._name, item, moved, random)], deadline)

    def _skip_covered(
        self, job: _Job, error: ClientError, item: Attributes, outcome: TotalsOutcome
    ) -> bool:
        """Leave out the changes that the total includes already."""
        update = job.updates[0]
        left = update.uncovered(item) if update.is_about(item) else update
        if left and len(left.changes) == len(update.changes):
            outcome.errors.add(error)  # without the item, or with another: try again
            return True
        outcome.covered += 1
        if left is None:
            job.updates.popleft()
        else:
            job.updates[0] = left
        return False

    def _refused(
        self,
        job: _Job,
        error: ClientError | BotoCoreError,
        outcome: TotalsOutcome,
        deadline: Deadline,
    ) -> bool:
        """Skip or halve a refused update; return False if it is unknown whether it is at fault.

        Raises a ServiceError if the table refuses a trial as well: then no change is at fault.
        """
        if not self._is_tried:
            (result,) = self._updater.send([trial(self._name, self._now())], deadline)
            if isinstance(result, Exception) and error_code(result) in REFUSALS:
                not_ours = ServiceError(error_code(error), f"update {self._name}")
                not_ours.hint = NOT_OURS
                raise not_ours from error
            if isinstance(result, Exception):
                outcome.errors.add(result)
            if not isinstance(result, dict):
                return False
            self._is_tried = True
        self._refuse(job, outcome)
        return True

    def _refuse(self, job: _Job, outcome: TotalsOutcome) -> None:
        """Skip a change that cannot be added; halve an update until the change is alone."""
        update = job.updates.popleft()
        halves = update.halves()
        if halves is None:
            outcome.refused += 1
        else:
            job.updates.extendleft(reversed(halves))
