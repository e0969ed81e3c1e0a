"""The steps of the last `adminview apply`, recorded in the progress table for other people."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from json import dumps, loads
from time import time
from typing import TYPE_CHECKING, Final

from adminview.aws.deadline import Deadline
from adminview.aws.retry import Backoff, call_with_retry
from adminview.model.attribute import PK, SK
from adminview.model.errors import ServiceError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

RUNNING, DONE, STOPPED, FAILED = "running", "done", "stopped", "failed"
TIMEOUT: Final = 10.0  # seconds
KEY: Final = {PK.name: {"S": "plan"}, SK.name: {"S": "latest"}}


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedSteps:
    """How far an apply has come."""

    model: str
    state: str
    done: Sequence[str]  # titles
    remaining: Sequence[str]  # the first one is in progress, or was when it ended
    started: float
    at: float  # when the step in progress began, or when all ended


@dataclass(slots=True)
class PlanRecord:
    """Writes and reads the steps in one item."""

    client: "DynamoDBClient"
    name: str  # of the progress table
    model: str = ""  # the declared one
    now: Callable[[], float] = time
    _started: float = 0.0

    def write(self, state: str, done: Sequence[str], remaining: Sequence[str]) -> None:
        """Record a step. A plan does not fail because nobody can watch it."""
        now = self.now()
        self._started = self._started or now
        steps = AppliedSteps(
            model=self.model,
            state=state,
            done=done,
            remaining=remaining,
            started=self._started,
            at=now,
        )
        call = partial(
            self.client.put_item,
            TableName=self.name,
            Item={**KEY, "facts": {"S": dumps(asdict(steps))}},
        )
        with suppress(ServiceError):  # before the first deployment there is no table
            call_with_retry(call, f"write {self.name}", Backoff(), Deadline.after(TIMEOUT))

    def read(self) -> AppliedSteps | None:
        """Return what was recorded last."""
        call = partial(self.client.get_item, TableName=self.name, Key=KEY, ConsistentRead=True)
        answer = call_with_retry(call, f"read {self.name}", Backoff(), Deadline.after(TIMEOUT))
        item = answer.get("Item")
        return AppliedSteps(**loads(item["facts"]["S"])) if item else None
