"""Errors that can be explained, and are: not traced."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import typer
from botocore.exceptions import BotoCoreError, ClientError, NoRegionError
from botocore.parsers import ResponseParserError
from typer.core import TyperGroup

from adminview.cli.output.printing import echo, print_error, print_traceback, printable
from adminview.model.errors import AdminViewError, ServiceError, reason_of

EXPLAINED: Final = (AdminViewError, BotoCoreError, ClientError, ResponseParserError, OSError)
NO_REGION = (
    "no AWS region is set: set AWS_REGION and credentials for a deployment, "
    "or AWS_ENDPOINT_URL as well for a local engine"
)

# What to look at, by the code of what was answered, or of why nothing was.
HINTS: Final = {
    "EndpointConnectionError": "; is the engine that AWS_ENDPOINT_URL names running?",
    "NoCredentialsError": "; a local engine takes any, as AWS_ACCESS_KEY_ID=local",
    "ResourceNotFoundException": (
        "; is this the right region, prefix and account? DynamoDB Local keeps other tables for "
        "each access key and region"
    ),
}


class Commands(TyperGroup):
    """The commands; what is wrong with their arguments is escaped before typer prints it."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments before the command's name."""
        with _escaped():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command, which reads its own arguments."""
        with _escaped():
            return super().invoke(ctx)


@contextmanager
def _escaped() -> Iterator[None]:
    """Escape the message of a usage error, which repeats arguments."""
    try:
        yield
    except Exception as error:
        message = vars(error).get("message")
        if hasattr(error, "format_message") and isinstance(message, str):
            vars(error)["message"] = printable(message, "\n")
        raise


def report_error(error: Exception) -> None:
    """Say what is wrong, and where in a view file if it was there."""
    print_error(f"adminview: {explained(error)}")


@contextmanager
def trouble_is(status: int) -> Iterator[None]:
    """End a command that comes to trouble with a status of its own: 1 means another thing to it."""
    try:
        yield
    except (typer.Exit, typer.BadParameter):
        raise
    except typer.Abort:
        echo("Aborted.", err=True)
        raise typer.Exit(status) from None
    except EXPLAINED as error:
        report_error(error)
        raise typer.Exit(status) from None
    except Exception:  # noqa: BLE001 - it is told, and the status says no less
        print_traceback()
        raise typer.Exit(status) from None


def explained(error: Exception) -> str:
    """Put an error in words, with what to look at."""
    words = NO_REGION if isinstance(error, NoRegionError) else str(error)
    if isinstance(error, AdminViewError):
        words = reason_of(error)
    if isinstance(error, ServiceError):
        words += HINTS.get(error.code, "")
    return words
