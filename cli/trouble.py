"""Errors that can be explained, and are: not traced."""

from typing import Final

import typer
from botocore.exceptions import BotoCoreError, ClientError, NoRegionError
from botocore.parsers import ResponseParserError

from lambdas.model.errors import AdminViewError
from lambdas.pipeline.letter import reason_of

EXPLAINED: Final = (AdminViewError, BotoCoreError, ClientError, ResponseParserError, OSError)
NO_REGION = (
    "no AWS region is set: set AWS_REGION and credentials for a deployment, "
    "or AWS_ENDPOINT_URL as well for a local engine"
)


def tell(error: Exception) -> None:
    """Say what is wrong, and where in a view file if it was there."""
    words = NO_REGION if isinstance(error, NoRegionError) else str(error)
    if isinstance(error, AdminViewError):
        words = reason_of(error)
    typer.secho(f"adminview: {words}", fg="red", err=True)
