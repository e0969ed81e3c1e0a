"""The contenders: implementations of one program, from stream records of orders to rows.

Each module has `connect()`, which returns the handler. As in Lambda, the environment has the
endpoint of DynamoDB and the name of the table. The rows are those of `bench/model.py`; only the
pseudo-code has its own. A test checks that all others write the same table.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final, TypeAlias

Event: TypeAlias = dict[str, Any]
Handler: TypeAlias = Callable[[Event], None]

TABLE: Final = "AdminViewTable"
CONTENDERS: Final = {
    "powertools": "Powertools' BatchProcessor, put_item per row",
    "batch_writer": "boto3's batch_writer",
    "pseudo_code": "the sync as sketched in pseudo-code",
    "pynamodb": "PynamoDB's batch_write",
    "adminview_boto3": "AdminView over a boto3 client",
    "adminview": "AdminView as it is deployed",
    "floor": "plain Python over a bare socket",
}


def connect(contender: str) -> Handler:
    """Import one contender and none of the others, and return its handler."""
    handler: Handler = import_module(f"{__name__}.{contender}").connect()
    return handler


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
        "AWS_SESSION_TOKEN": "bench" * 200,  # about as long as the token of a role
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
