"""Which AWS calls to retry, and how long to wait before."""

import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, ParamSpec, TypeVar

from botocore.exceptions import (
    BotoCoreError,
    ChecksumError,
    ClientError,
    HTTPClientError,
    IncompleteReadError,
)
from botocore.exceptions import (
    ConnectionError as NoConnectionError,
)

from adminview.aws.deadline import Deadline
from adminview.aws.responses import is_in_doubt
from adminview.model.errors import ServiceError

Request = ParamSpec("Request")
Result = TypeVar("Result")

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 5.0  # seconds
TOO_MANY_REQUESTS, SERVER_ERROR = 429, 500
OUT_OF_TIME = "OutOfTime"  # no attempt was made
THROTTLED = {
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "RequestThrottled",
    "ThrottledException",
    "Throttling",
    "ThrottlingException",
    "TooManyRequestsException",
    "LimitExceededException",
    "KmsThrottled",
    "InternalServerError",
    "ServiceUnavailable",
}
# Another transaction, or another region of a global table, is writing the item.
CONFLICTS = {"ReplicatedWriteConflictException", "TransactionConflictException"}
# Where a page says that there are more, and how a request continues there.
LAST_KEY: Final = ("LastEvaluatedKey", "ExclusiveStartKey")
NEXT_TOKEN: Final = ("NextToken", "NextToken")
NETWORK_ERRORS = (HTTPClientError, NoConnectionError, IncompleteReadError, ChecksumError)


def error_code(error: ClientError | BotoCoreError) -> str:
    """Return the code of an AWS or network error; its text may quote data."""
    if isinstance(error, ClientError):
        return error.response["Error"]["Code"]
    return type(error).__name__


def is_transient(error: ClientError | BotoCoreError) -> bool:
    """Return whether an error is transient: throttling, a conflict, the network, a server error."""
    if isinstance(error, ClientError):
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        is_transient = status == TOO_MANY_REQUESTS or status >= SERVER_ERROR
        return is_transient or error_code(error) in THROTTLED | CONFLICTS
    return isinstance(error, NETWORK_ERRORS)


@dataclass(frozen=True, slots=True)
class Backoff:
    """Exponential backoff with full jitter, as AWS recommends it, within a deadline."""

    sleep: Callable[[float], None] = time.sleep
    jitter: Callable[[float, float], float] = random.uniform

    def pause(self, attempt: int, deadline: Deadline) -> None:
        """Wait after a failed attempt (counted from 0), but not past the deadline."""
        longest = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(attempt, 16))
        self.sleep(max(0.0, min(self.jitter(0, longest), deadline.remaining)))


def call_with_retry(
    call: Callable[Request, Result],
    action: str,
    backoff: Backoff,
    deadline: Deadline,
    on_doubt: Callable[[], object] = lambda: None,
    *args: Request.args,
    **request: Request.kwargs,
) -> Result:
    """Return the result of *call* with a request; retry transient errors until the deadline.

    Raises a ServiceError that names *action*. Calls *on_doubt* after each attempt without a
    response: it may still take effect.
    """
    code, attempt, answered = OUT_OF_TIME, 0, False
    while not deadline.passed:
        try:
            return call(*args, **request)
        except (ClientError, BotoCoreError) as error:
            code, answered = error_code(error), isinstance(error, ClientError)
            if is_in_doubt(error):
                on_doubt()
            if not is_transient(error):
                raise ServiceError(code, action, answered=answered) from error
        backoff.pause(attempt, deadline)
        attempt += 1
    raise ServiceError(code, action, answered=answered)


def all_pages(
    read: Callable[..., Any], request: Mapping[str, Any], place: tuple[str, str] = LAST_KEY
) -> Iterator[Any]:
    """Yield the pages of a request, from the first to the last."""
    end, start = place
    request = dict(request)
    while True:
        page = read(**request)
        yield page
        if not page.get(end):
            return
        request[start] = page[end]
