"""AdminView's handler with a plain boto3 client."""

from adminview.aws.boto3_clients import dynamodb_client
from adminview.aws.clients import Clients
from adminview.aws.observability import Observability
from adminview.runtime import make_runtime, read_settings
from bench.model import registry
from bench.ways import Handle
from bench.ways.adminview import handler_of


def connect() -> Handle:
    settings = read_settings()
    observer = Observability(service=settings.service)
    return handler_of(make_runtime(registry(), settings, Clients(dynamodb_client()), observer))
