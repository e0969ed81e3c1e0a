"""One invocation of the function, as the Lambda runtime makes it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from json import dumps, loads
from typing import Any, Final, TypeAlias
from uuid import uuid4

VERSION: Final = "$LATEST"

Clock: TypeAlias = Callable[[], float]  # seconds since the epoch
LambdaFunction: TypeAlias = Callable[[dict[str, Any], Any], Any]


@dataclass(frozen=True, slots=True)
class InvokedFunction:
    """The handler, and the properties of its deployment."""

    handler: LambdaFunction
    name: str = "adminview-sync"
    timeout_seconds: int = 120
    memory_mb: int = 512

    @property
    def arn(self) -> str:
        return f"arn:aws:lambda:us-east-1:000000000000:function:{self.name}"

    def invoke(self, event: dict[str, Any], context: "LambdaContext") -> Any:
        """Call the handler, and return its response after a round trip through JSON.

        Raises a TimeoutError if the handler exceeded its timeout.
        """
        response = loads(dumps(self.handler(event, context)))
        if context.get_remaining_time_in_millis() <= 0:
            msg = f"the function took longer than its {self.timeout_seconds} s"
            raise TimeoutError(msg)
        return response


@dataclass(frozen=True, slots=True)
class LambdaContext:
    """The context object of an invocation, with Lambda's names."""

    function_name: str
    invoked_function_arn: str
    memory_limit_in_mb: int
    deadline: float
    clock: Clock
    aws_request_id: str = field(default_factory=lambda: str(uuid4()))
    function_version: str = VERSION
    client_context: None = None
    identity: None = None

    @classmethod
    def of(cls, function: InvokedFunction, clock: Clock) -> "LambdaContext":
        """Return the context of an invocation that begins now."""
        return cls(
            function_name=function.name,
            invoked_function_arn=function.arn,
            memory_limit_in_mb=function.memory_mb,
            deadline=clock() + function.timeout_seconds,
            clock=clock,
        )

    @property
    def log_group_name(self) -> str:
        return f"/aws/lambda/{self.function_name}"

    @property
    def log_stream_name(self) -> str:
        return f"[{self.function_version}]{self.aws_request_id}"

    def get_remaining_time_in_millis(self) -> int:
        return max(0, int((self.deadline - self.clock()) * 1000))
