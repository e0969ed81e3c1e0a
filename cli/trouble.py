"""Errors that can be explained, and are: not traced."""

from typing import Final

import typer
from botocore.exceptions import BotoCoreError, ClientError

from lambdas.model.errors import AdminViewError

EXPLAINED: Final = (AdminViewError, BotoCoreError, ClientError, OSError)


def tell(error: Exception) -> None:
    """Say what is wrong."""
    typer.secho(f"adminview: {error}", fg="red", err=True)
