"""Implementations of the same program: stream records of orders in, rows of the view out.

Each module has `connect()`, which returns the handler. As in Lambda, the environment has the
endpoint of DynamoDB and the name of the table. The rows are those of `bench/model.py`; only the
pseudo-code has its own. A test checks that all others write the same table.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final, TypeAlias

Event: TypeAlias = dict[str, Any]
Handle: TypeAlias = Callable[[Event], None]

TABLE: Final = "AdminViewTable"
WAYS: Final = {
    "usual": "Powertools' BatchProcessor, put_item for a row",
    "batch_writer": "boto3's batch_writer",
    "pseudo_code": "a batch write as pseudo-code has it, rows its own",
    "pynamodb": "PynamoDB's batch_write",
    "plain": "AdminView over a plain boto3 client",
    "adminview": "AdminView as it is deployed",
    "floor": "by hand over a bare socket: the floor",
}


def connect(way: str) -> Handle:
    """Load one implementation, and nothing of the others."""
    handle: Handle = import_module(f"{__name__}.{way}").connect()
    return handle


def environment(url: str) -> dict[str, str]:
    """Return the environment of a function; *url* is the endpoint of DynamoDB."""
    return {
        "AWS_ENDPOINT_URL_DYNAMODB": url,
        "AWS_EXECUTION_ENV": "AWS_Lambda_python3.13",
        "AWS_LAMBDA_FUNCTION_NAME": "bench",
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "bench",
        "AWS_SECRET_ACCESS_KEY": "bench",
        "AWS_SESSION_TOKEN": "bench" * 200,  # about as long as those that a role has
        "POWERTOOLS_SERVICE_NAME": "bench",
        "POWERTOOLS_METRICS_NAMESPACE": "Bench",
        "ADMINVIEW_TABLE": TABLE,
        "ADMINVIEW_DEAD_LETTER_QUEUE_URL": f"{url}/queue",
        "ADMINVIEW_SOURCES": "{}",
        "ADMINVIEW_MODEL": "of the code",
    }


def is_ambient(name: str) -> bool:
    """Return whether a variable of the developer's environment could change a measurement."""
    return name.upper().startswith(
        ("AWS_", "POWERTOOLS_", "ADMINVIEW_", "BENCH_")
    ) or name.upper() in {
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "REQUESTS_CA_BUNDLE",
    }
