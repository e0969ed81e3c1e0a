"""What to do about an error of AWS: hints that the commands and the Python API add to it."""

import os
from typing import Final

from botocore.exceptions import ClientError, NoRegionError

from adminview.aws.endpoints import ENDPOINT
from adminview.model.errors import AdminViewError, ServiceError, reason_of

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
    "; the index does not exist on the table. Deploy the view files that declare it, or on a local "
    "engine start `adminview local --create` again"
)


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
