"""AdminView's handler with a boto3 client."""

from adminview.aws.boto3_clients import dynamodb_client
from adminview.aws.clients import Clients
from adminview.aws.observability import Observability
from adminview.runtime import make_runtime, read_settings
from bench.contenders import Handler
from bench.contenders.adminview import make_handler
from bench.model import registry


def connect() -> Handler:
    settings = read_settings()
    observer = Observability(service=settings.service)
    return make_handler(make_runtime(registry(), settings, Clients(dynamodb_client()), observer))
