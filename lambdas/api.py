"""Questions in over HTTP, rows out. Nothing is written."""

import os
from collections.abc import Mapping
from functools import cache
from typing import Any

from aws_lambda_powertools import Logger

from lambdas.asking.asker import Asker
from lambdas.aws.clients import cloudwatch_client, dynamodb_client
from lambdas.aws.pulse import CloudWatchPulse
from lambdas.aws.runtime import Invocation, read_settings
from lambdas.aws.settings import Building, PulseSettings, Settings
from lambdas.aws.view_reader import ViewReader
from lambdas.model import Registry
from lambdas.serving.health import NoPulse, Pulse
from lambdas.serving.routes import Api
from lambdas.views import registry


def handler(event: Mapping[str, Any], context: Invocation) -> dict[str, Any]:
    """Answer one request of the gateway."""
    answer = api()
    answer.logger.append_keys(function_request_id=context.aws_request_id)
    return answer(event, context)


@cache
def api() -> Api:
    """Connect this container to the view that its environment names."""
    settings = read_settings()
    watched = PulseSettings.from_env(os.environ)
    pulse: Pulse = NoPulse()
    if watched:
        pulse = CloudWatchPulse(cloudwatch_client, settings.sources, watched)
    reader = ViewReader(dynamodb_client(), settings.view_table)
    asker = Asker(registry(), reader, _building(os.environ, registry()))
    return Api(asker, pulse, settings.model, Logger(service=settings.service))


def _building(environ: Mapping[str, str], model: Registry) -> Mapping[str, str | None]:
    """Say which questions are being built; all of them, for a moment, if code alone was updated."""
    if Settings.from_env(environ).model != model.fingerprint:
        return dict.fromkeys(pattern.name for pattern in model.patterns)
    return Building.from_env(environ).questions
