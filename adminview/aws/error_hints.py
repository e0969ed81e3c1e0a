"""What to do about an error of AWS: hints that the commands and the Python API add to it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from botocore.exceptions import BotoCoreError, ClientError, NoRegionError

from adminview.aws.endpoints import ENDPOINT
from adminview.model.errors import AdminViewError, ServiceError, SettingsError, reason_of

NO_REGION = (
    "no AWS region is set: set AWS_DEFAULT_REGION (or AWS_REGION) and credentials for a "
    "deployment; for a local engine, run the `export` line that `adminview dev` prints"
)

# Hints by error code or class of connection error.
HINTS: Final = {
    "NoCredentialsError": "a local engine accepts any, such as AWS_ACCESS_KEY_ID=local",
    "ResourceNotFoundException": (
        "check the region, prefix and account. DynamoDB Local keeps separate tables per access "
        "key and region"
    ),
}
NO_CONNECTION: Final = "check the network and the region"
NO_INDEX: Final = (
    "the index does not exist on the table. Deploy the view files that declare it; on a local "
    "engine, `adminview dev` creates it"
)
# Parts of the error codes for missing, invalid or expired credentials.
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


def describe_error(error: Exception) -> str:
    """Return the message of an error, with a hint if its code has one."""
    if isinstance(error, NoRegionError):
        return NO_REGION
    message = reason_of(error) if isinstance(error, AdminViewError) else str(error)
    if not isinstance(error, ServiceError) or error.hint:
        return message
    hint = _hint(error, ENDPOINT if os.environ.get(ENDPOINT) else "")
    return "; ".join(filter(None, [message, hint]))


@contextmanager
def settings_errors() -> Iterator[None]:
    """Turn an error about the settings of the SDK, such as the region, into a SettingsError."""
    try:
        yield
    except BotoCoreError as error:
        raise SettingsError(describe_error(error)) from error


def add_hint(error: ServiceError, engine: str) -> None:
    """Add what to do to the text. *engine* says where a local engine is expected, if one is."""
    error.hint = error.hint or _hint(error, engine)


def is_signed_out(error: ServiceError) -> bool:
    """Return whether credentials are missing, invalid or expired."""
    return any(word in error.code for word in SIGNED_OUT)


def _hint(error: ServiceError, engine: str) -> str:
    if error.code == "EndpointConnectionError":
        return f"is the engine at {engine} running?" if engine else NO_CONNECTION
    if not engine and is_signed_out(error):
        return SIGN_IN
    # AWS answers with a ValidationException, moto with a ResourceNotFoundException.
    return NO_INDEX if _names_index(error.__cause__) else HINTS.get(error.code, "")


def _names_index(error: BaseException | None) -> bool:
    """Return whether a table does not have the index of a query. Only the text says so."""
    if not isinstance(error, ClientError):
        return False
    text = error.response.get("Error", {}).get("Message", "")
    return "not have the specified index" in text or "Invalid index" in text
