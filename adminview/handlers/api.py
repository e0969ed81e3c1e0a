"""Questions in over HTTP, rows out. Nothing is written."""

import os
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from aws_lambda_powertools import Logger

from adminview.aws.clients import Clients, find_endpoint, http_client
from adminview.aws.settings import PendingPatterns, PulseSettings
from adminview.aws.stream_metrics import StreamMetrics
from adminview.aws.view_reader import ViewReader
from adminview.aws.view_readers import Boto3Reader, HttpReader, Reader
from adminview.http_api.handlers import Api
from adminview.http_api.health import NoPulse, Pulse
from adminview.query.engine import QueryEngine
from adminview.runtime import Invocation, read_settings
from adminview.views import registry

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch import CloudWatchClient


def handle(event: Mapping[str, Any], context: Invocation) -> dict[str, Any]:
    """Answer one request of the gateway."""
    answer = api()
    answer.logger.append_keys(function_request_id=context.aws_request_id)
    return answer(event, context)


@cache
def api() -> Api:
    """Connect this container to the view that its environment names."""
    settings = read_settings()
    watched = PulseSettings.from_env(os.environ, settings.sources)
    pulse: Pulse = NoPulse()
    if watched:
        pulse = StreamMetrics(_cloudwatch, settings.sources, watched)
    view = ViewReader(reader(), settings.view_table)
    asker = QueryEngine(registry(), view, PendingPatterns.from_env(os.environ).patterns)
    return Api(asker, pulse, settings.model, Logger(service=settings.service))


def reader() -> Reader:
    """Read with the direct HTTP client where it is eligible: boto3 takes long to load."""
    endpoint = find_endpoint()
    return HttpReader(http_client(endpoint)) if endpoint else Boto3Reader(Clients().dynamodb)


def _cloudwatch() -> "CloudWatchClient":
    from adminview.aws.boto3_clients import cloudwatch_client  # noqa: PLC0415 - see above

    return cloudwatch_client()
