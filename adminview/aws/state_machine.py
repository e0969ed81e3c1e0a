"""Starts executions of a state machine."""

import os
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from adminview.aws.deadline import Deadline
from adminview.aws.retry import Backoff, call_with_retry
from adminview.model.errors import ServiceError, SettingsError

EXISTS: Final = "ExecutionAlreadyExists"
SECONDS: Final = 20.0


@dataclass(frozen=True, slots=True)
class StateMachine:
    client: Any
    arn: str

    @classmethod
    def from_env(cls, variable: str) -> "StateMachine":
        """Connect to the state machine that an environment variable names."""
        from adminview.aws.boto3_clients import service_client  # noqa: PLC0415 - loads boto3

        if not (arn := os.environ.get(variable)):
            msg = f"environment variable not set: {variable}"
            raise SettingsError(msg)
        return cls(service_client("stepfunctions"), arn)

    def start(self, name: str, input_: str) -> str:
        """Start an execution and return its ARN, also if one of this name exists already."""
        call = partial(
            self.client.start_execution, stateMachineArn=self.arn, name=name, input=input_
        )
        try:
            started = call_with_retry(
                call, "start an execution", Backoff(), Deadline.after(SECONDS)
            )
        except ServiceError as error:
            if error.code != EXISTS:
                raise
            return f"{self.arn.replace(':stateMachine:', ':execution:')}:{name}"
        return str(started["executionArn"])
