"""Check custom endpoints, with a usage error for one that is not a URL."""

from collections.abc import Mapping

import typer

from adminview.aws import endpoints
from adminview.aws.endpoints import EndpointUrlError


def check_endpoints(environ: Mapping[str, str], *services: str) -> None:
    """Check the endpoints that the environment sets for *services*, such as DYNAMODB.

    Raises a usage error if one is not a URL, and a SettingsError if nothing responds there.
    """
    try:
        endpoints.check_endpoints(environ, *services)
    except EndpointUrlError as error:
        raise typer.BadParameter(error.message, param_hint=error.variable) from error
