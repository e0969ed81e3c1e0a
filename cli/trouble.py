"""Errors that can be explained, and are: not traced."""

from collections.abc import Iterator
from contextlib import contextmanager
from traceback import print_exc
from typing import Final

import typer
from botocore.exceptions import BotoCoreError, ClientError, NoRegionError
from botocore.parsers import ResponseParserError

from lambdas.model.errors import AdminViewError, ServiceError
from lambdas.pipeline.letter import reason_of

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


def tell(error: Exception) -> None:
    """Say what is wrong, and where in a view file if it was there."""
    typer.secho(f"adminview: {explained(error)}", fg="red", err=True)


@contextmanager
def trouble_is(status: int) -> Iterator[None]:
    """End a command that comes to trouble with a status of its own: 1 means another thing to it."""
    try:
        yield
    except (typer.Exit, typer.BadParameter):
        raise
    except typer.Abort:
        typer.echo("Aborted.", err=True)
        raise typer.Exit(status) from None
    except EXPLAINED as error:
        tell(error)
        raise typer.Exit(status) from None
    except Exception:  # noqa: BLE001 - it is told, and the status says no less
        print_exc()
        raise typer.Exit(status) from None


def explained(error: Exception) -> str:
    """Put an error in words, with what to look at."""
    words = NO_REGION if isinstance(error, NoRegionError) else str(error)
    if isinstance(error, AdminViewError):
        words = reason_of(error)
    if isinstance(error, ServiceError):
        words += HINTS.get(error.code, "")
    return words
