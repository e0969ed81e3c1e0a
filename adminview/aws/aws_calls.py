"""AWS calls that read a deployment: made once each, with errors that say what to do."""

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from json import dumps
from os import environ
from threading import Lock
from typing import Any, Final, TypeVar

from botocore import xform_name
from botocore.parsers import ResponseParserError

from adminview.aws.boto3_clients import service_client
from adminview.aws.deadline import Deadline
from adminview.aws.endpoints import ENDPOINT
from adminview.aws.error_hints import SIGN_IN, describe_error, is_signed_out
from adminview.aws.retry import Backoff, call_with_retry
from adminview.model.errors import AdminViewError, ServiceError

Result = TypeVar("Result")

TIMEOUT_SECONDS: Final = 10.0
# Error codes of the services for a resource that does not exist.
ABSENT: Final = frozenset(
    {
        "ValidationError",  # CloudFormation
        "ResourceNotFoundException",
        "NoSuchEntity",
        "QueueDoesNotExist",
        "AWS.SimpleQueueService.NonExistentQueue",
        "StateMachineDoesNotExist",
        "NotFound",  # SNS
    }
)
UNREADABLE: Final = "ResponseParserError"  # such as an HTML page of a proxy
DENIED: Final = ("AccessDenied", "Unauthorized", "AuthorizationError")
POLICY_PREFIX: Final = {"stepfunctions": "states"}  # of IAM actions, if not the service


class AwsCallError(AdminViewError):
    """A call failed. `code` is the error code of AWS, `advice` says what to do, if known."""

    def __init__(self, error: ServiceError, permission: str) -> None:
        self.code, self.advice = error.code, ""
        if ENDPOINT not in environ and is_signed_out(error):
            words, self.advice = str(error), SIGN_IN
        else:
            words = describe_error(error)
        if any(word in error.code for word in DENIED):
            self.advice = f"allow {permission} for the credentials of this command"
        super().__init__(words)


@dataclass(slots=True)
class Aws:
    """Calls of all services, with cached responses; `fresh` starts with an empty cache.

    Calls to a service fail at once after its first connection failure. It is thread-safe: threads
    that make the same call share one request.
    """

    make_client: Callable[[str], Any] = service_client
    timeout: float = TIMEOUT_SECONDS
    backoff: Backoff = field(default_factory=Backoff)
    _clients: dict[str, Any] = field(default_factory=dict)
    _unreachable: dict[str, AwsCallError] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)
    _responses: dict[str, Future[Any]] = field(default_factory=dict)

    def fresh(self) -> "Aws":
        """Return a copy with the same clients and an empty cache."""
        return Aws(self.make_client, self.timeout, self.backoff, self._clients)

    def call(self, service: str, operation: str, **arguments: Any) -> Any:
        """Return the response of a call, cached; raise AwsCallError if it fails."""
        key = f"{service}:{operation} {dumps(arguments, sort_keys=True, default=str)}"
        with self._lock:
            known = key in self._responses
            response = self._responses.setdefault(key, Future())
        if not known:
            try:
                response.set_result(self._request(service, operation, arguments))
            except BaseException as error:
                response.set_exception(error)
                raise
        return response.result()

    def _request(self, service: str, operation: str, arguments: dict[str, Any]) -> Any:
        def call(client: Any) -> Any:
            return getattr(client, xform_name(operation))(**arguments)

        return self.run(service, operation, call)

    def find(self, service: str, operation: str, **arguments: Any) -> Any | None:
        """Return the response of a call, cached; None if the resource does not exist."""
        try:
            return self.call(service, operation, **arguments)
        except AwsCallError as error:
            if error.code not in ABSENT:
                raise
            return None

    def run(self, service: str, operation: str, work: Callable[[Any], Result]) -> Result:
        """Return what *work* does with a client; raise AwsCallError if it fails.

        *operation* is the permission that *work* needs.
        """
        if service in self._unreachable:
            raise self._unreachable[service]
        permission = f"{POLICY_PREFIX.get(service, service)}:{operation}"
        call = partial(work, self._client(service))
        try:
            return call_with_retry(call, permission, self.backoff, Deadline.after(self.timeout))
        except ResponseParserError as error:  # its text quotes the response
            raise AwsCallError(ServiceError(UNREADABLE, permission), permission) from error
        except ServiceError as error:
            failure = AwsCallError(error, permission)
            if not error.answered:
                self._unreachable[service] = failure
            raise failure from error

    def _client(self, service: str) -> Any:
        with self._lock:  # creating clients is not thread-safe in boto3; using them is
            if service not in self._clients:
                self._clients[service] = self.make_client(service)
            return self._clients[service]


def unexpected_response(error: Exception) -> str:
    """Return a message that does not quote the response."""
    return f"{type(error).__name__}: AWS returned a response of an unexpected form"
