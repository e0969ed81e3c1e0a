"""Print expected errors as messages, without a traceback."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import typer
from botocore.exceptions import BotoCoreError, ClientError, NoRegionError
from botocore.parsers import ResponseParserError
from typer.core import TyperGroup

from adminview.cli.endpoints import ENDPOINT
from adminview.cli.output.printing import echo, print_error, print_traceback, printable
from adminview.model.errors import (
    AdminViewError,
    PatternNotReadyError,
    QueryError,
    RecordError,
    ServiceError,
    SettingsError,
    reason_of,
)

EXPECTED_ERRORS: Final = (AdminViewError, BotoCoreError, ClientError, ResponseParserError, OSError)
NO_REGION = (
    "no AWS region is set: set AWS_DEFAULT_REGION (or AWS_REGION) and credentials for a "
    "deployment, or AWS_ENDPOINT_URL for a local engine"
)

# Hints by error code or class of connection error.
HINTS: Final = {
    "NoCredentialsError": "; a local engine accepts any, such as AWS_ACCESS_KEY_ID=local",
    "ResourceNotFoundException": (
        "; check the region, prefix and account. DynamoDB Local keeps separate tables per access "
        "key and region"
    ),
}
NO_ENGINE: Final = f"; is the engine at {ENDPOINT} running?"
NO_CONNECTION: Final = "; check the network and the region"
NO_INDEX: Final = (
    "; the index does not exist on the table. Deploy the view files that declare it; on a local "
    "engine, `adminview dev` creates it"
)


class UsageError(AdminViewError):
    """An argument is wrong, or the file that it names. Exit status 2."""


class EscapingGroup(TyperGroup):
    """A command group that escapes usage errors before typer prints them."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        with _escaped():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        with _escaped():
            return super().invoke(ctx)


@contextmanager
def _escaped() -> Iterator[None]:
    """Escape the message of a usage error, because it quotes arguments."""
    try:
        yield
    except Exception as error:
        message = vars(error).get("message")
        if hasattr(error, "format_message") and isinstance(message, str):
            vars(error)["message"] = printable(message, "\n")
        raise


@contextmanager
def usage_errors() -> Iterator[None]:
    """Turn an error about an argument, or about the file that it names, into a UsageError."""
    try:
        yield
    except (SettingsError, RecordError, OSError) as error:
        raise UsageError(str(error)) from error


def report_error(error: Exception) -> None:
    print_error(f"adminview: {describe_error(error)}")


@contextmanager
def exit_on_error(status: int) -> Iterator[None]:
    """Exit with *status* after any error. For commands in which status 1 has its own meaning."""
    try:
        yield
    except (typer.Exit, typer.BadParameter):
        raise
    except typer.Abort:
        echo("Aborted.", err=True)
        raise typer.Exit(status) from None
    except EXPECTED_ERRORS as error:
        report_error(error)
        raise typer.Exit(status) from None
    except Exception:  # noqa: BLE001 - it is printed, and the status reports failure
        print_traceback()
        raise typer.Exit(status) from None


def describe_error(error: Exception) -> str:
    """Return the message of an error, with a hint if its code has one."""
    message = NO_REGION if isinstance(error, NoRegionError) else str(error)
    if isinstance(error, AdminViewError):
        message = reason_of(error)
    if isinstance(error, ServiceError):
        message += _hint(error)
    return message


def _hint(error: ServiceError) -> str:
    if error.code == "EndpointConnectionError":
        return NO_ENGINE if os.environ.get(ENDPOINT) else NO_CONNECTION
    # AWS answers with a ValidationException, moto with a ResourceNotFoundException.
    return NO_INDEX if _names_index(error.__cause__) else HINTS.get(error.code, "")


def _names_index(error: BaseException | None) -> bool:
    """Return whether a table does not have the index of a query. Only the text says so."""
    if not isinstance(error, ClientError):
        return False
    text = error.response.get("Error", {}).get("Message", "")
    return "not have the specified index" in text or "Invalid index" in text


def is_usage_error(error: Exception) -> bool:
    """Return whether an argument is wrong. That an access pattern is not ready is no such error."""
    if isinstance(error, PatternNotReadyError):
        return False
    return isinstance(error, (UsageError, QueryError))
