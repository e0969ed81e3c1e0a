"""Calls that read a deployment: each is made once, and what AWS does not answer is explained."""

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from json import dumps
from os import environ
from threading import Lock
from typing import Any, Final, TypeVar

import boto3
from botocore import xform_name
from botocore.parsers import ResponseParserError

from adminview.aws.boto3_clients import CLIENT
from adminview.aws.deadline import Deadline
from adminview.aws.retry import Backoff, call_with_retry
from adminview.cli.errors import explained
from adminview.local.settings import ENDPOINT
from adminview.model.errors import AdminViewError, ServiceError

Answer = TypeVar("Answer")

PATIENCE_SECONDS: Final = 10.0
# What services answer when there is no such thing.
ABSENT: Final = frozenset(
    {
        "ValidationError",  # CloudFormation's word for it
        "ResourceNotFoundException",
        "NoSuchEntity",
        "QueueDoesNotExist",
        "AWS.SimpleQueueService.NonExistentQueue",
        "StateMachineDoesNotExist",
        "NotFound",  # SNS's
    }
)
UNREADABLE: Final = ResponseParserError.__name__  # such as the page of a proxy
DENIED: Final = ("AccessDenied", "Unauthorized", "AuthorizationError")
# Who asks is not known, or not any more.
SIGNED_OUT: Final = (
    "Credential",
    "ExpiredToken",
    "InvalidClientToken",
    "AuthenticationToken",
    "TokenRetrieval",
    "SSO",
    "InvalidAccessKeyId",
    "UnrecognizedClient",
    "SignatureDoesNotMatch",
    "InvalidSignature",
    "AuthFailure",
)
SIGN_IN: Final = "sign in again, or set AWS_PROFILE"
POLICY_PREFIX: Final = {"stepfunctions": "states"}  # of a service's actions, where it differs


class UnansweredError(AdminViewError):
    """AWS did not say what was asked; carries what would help."""

    def __init__(self, error: ServiceError, permission: str) -> None:
        self.code, self.do = error.code, ""
        words = explained(error)
        if ENDPOINT not in environ and any(word in error.code for word in SIGNED_OUT):
            words, self.do = str(error), SIGN_IN
        elif any(word in error.code for word in DENIED):
            self.do = f"let whoever runs this call {permission}"
        super().__init__(words)


@dataclass(slots=True)
class Aws:
    """Calls of all services, whose answers are kept: `fresh` makes them again.

    A service that once gave no answer at all is not waited for again. Any number of threads may
    use it: they wait for a call that another of them is making.
    """

    make: Callable[[str], Any] = lambda service: boto3.client(service, config=CLIENT)
    patience: float = PATIENCE_SECONDS
    backoff: Backoff = field(default_factory=Backoff)
    _clients: dict[str, Any] = field(default_factory=dict)
    _silent: dict[str, UnansweredError] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)
    _answers: dict[str, Future[Any]] = field(default_factory=dict)

    def fresh(self) -> "Aws":
        """Return one that knows no answer yet, to see what has changed."""
        return Aws(self.make, self.patience, self.backoff, self._clients)

    def ask(self, service: str, operation: str, **arguments: Any) -> Any:
        """Make a call; raise an UnansweredError if it is refused or nobody answers."""
        asked = f"{service}:{operation} {dumps(arguments, sort_keys=True, default=str)}"
        with self._lock:
            known = asked in self._answers
            answer = self._answers.setdefault(asked, Future())
        if not known:
            try:
                answer.set_result(self._call(service, operation, arguments))
            except BaseException as error:
                answer.set_exception(error)
                raise
        return answer.result()

    def _call(self, service: str, operation: str, arguments: dict[str, Any]) -> Any:
        def call(client: Any) -> Any:
            return getattr(client, xform_name(operation))(**arguments)

        return self.do(service, operation, call)

    def find(self, service: str, operation: str, **arguments: Any) -> Any | None:
        """Make a call; give None if there is no such thing."""
        try:
            return self.ask(service, operation, **arguments)
        except UnansweredError as error:
            if error.code not in ABSENT:
                raise
            return None

    def do(self, service: str, operation: str, work: Callable[[Any], Answer]) -> Answer:
        """Do some work with a client; *operation* is what it needs to be allowed."""
        if service in self._silent:
            raise self._silent[service]
        permission = f"{POLICY_PREFIX.get(service, service)}:{operation}"
        call = partial(work, self._client(service))
        try:
            return call_with_retry(call, permission, self.backoff, Deadline.after(self.patience))
        except ResponseParserError as error:  # its text quotes what was answered
            raise UnansweredError(ServiceError(UNREADABLE, permission), permission) from error
        except ServiceError as error:
            unanswered = UnansweredError(error, permission)
            if not error.answered:
                self._silent[service] = unanswered
            raise unanswered from error

    def _client(self, service: str) -> Any:
        with self._lock:  # boto3 makes clients one at a time; made, they can be shared
            if service not in self._clients:
                self._clients[service] = self.make(service)
            return self._clients[service]


def puzzled(error: Exception) -> str:
    """Say that an answer was not as AWS gives them; what was in it is not quoted."""
    return f"{type(error).__name__}: this check does not understand what AWS told"
