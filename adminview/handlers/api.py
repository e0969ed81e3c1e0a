"""The API function: queries over HTTP in, rows out. Writes nothing."""

import os
from collections.abc import Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from aws_lambda_powertools import Logger

from adminview.aws.alarm_states import AlarmStates
from adminview.aws.clients import Clients, find_endpoint, http_client
from adminview.aws.manifest import own_manifest
from adminview.aws.readiness import Readiness, read_built
from adminview.aws.settings import PendingPatterns, Settings
from adminview.aws.view_reader import Boto3Reader, HttpReader, Reader, ViewReader
from adminview.http_api.handlers import Api
from adminview.http_api.health import KNOWN
from adminview.model.readiness import progress_table
from adminview.query.engine import QueryEngine
from adminview.runtime import InvocationContext, read_settings
from adminview.views import registry

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch import CloudWatchClient


def handle(event: Mapping[str, Any], context: InvocationContext) -> dict[str, Any]:
    handler = api()
    handler.logger.append_keys(function_request_id=context.aws_request_id)
    return handler(event, context)


@cache
def api() -> Api:
    """Build the API of this container from its environment, once."""
    settings = read_settings()
    alarms = AlarmStates(_cloudwatch, settings.service, KNOWN)
    view = ViewReader(reader(), settings.view_table)
    engine = QueryEngine(registry(), view, _pending(settings))
    return Api(engine, alarms, settings.model, Logger(service=settings.service))


def _pending(settings: Settings) -> Mapping[str, str | None]:
    """Return the access patterns that are not ready; outside Lambda there is no record of them."""
    pending = PendingPatterns.from_env(os.environ).patterns
    if own_manifest() is None:
        return pending
    record = ViewReader(reader(), progress_table(settings.view_table))
    return Readiness(registry(), pending, partial(read_built, record))


def reader() -> Reader:
    """Use the direct HTTP client where it is eligible: boto3 is slow to load."""
    endpoint = find_endpoint()
    return HttpReader(http_client(endpoint)) if endpoint else Boto3Reader(Clients().dynamodb)


def _cloudwatch() -> "CloudWatchClient":
    from adminview.aws.boto3_clients import cloudwatch_client  # noqa: PLC0415 - see above

    return cloudwatch_client()
