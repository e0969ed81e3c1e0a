"""The errors of commands: which are expected, and which mean that an argument is wrong."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

from adminview.model.errors import (
    AdminViewError,
    PatternNotReadyError,
    QueryError,
    RecordError,
    SettingsError,
)

EXPECTED_ERRORS: Final = (AdminViewError, BotoCoreError, ClientError, ResponseParserError, OSError)


class UsageError(AdminViewError):
    """An argument is wrong, or the file that it names. Exit status 2."""


@contextmanager
def usage_errors() -> Iterator[None]:
    """Turn an error about an argument, or about the file that it names, into a UsageError."""
    try:
        yield
    except OSError as error:
        named = error.filename and error.strerror
        raise UsageError(f"{error.filename}: {error.strerror}" if named else str(error)) from error
    except (SettingsError, RecordError) as error:
        raise UsageError(str(error)) from error


def is_usage_error(error: Exception) -> bool:
    """Return whether an argument is wrong. That an access pattern is not ready is no such error."""
    if isinstance(error, PatternNotReadyError):
        return False
    return isinstance(error, (UsageError, QueryError))
