"""`adminview serve`: the HTTP API locally, with the same routes and responses.

It has no authorization. It also serves pages for people.
"""

from typing import Annotated, Final

import typer
from aws_lambda_powertools import Logger

from adminview.aws.boto3_clients import dynamodb_client
from adminview.aws.deadline import Deadline
from adminview.aws.settings import SERVICE
from adminview.aws.stack_outputs import find_pending
from adminview.aws.view_reader import Boto3Reader, ViewReader
from adminview.cli.deployment.deployment import Deployment
from adminview.cli.deployment.find import find_settings
from adminview.cli.options import Prefix, Stage
from adminview.cli.output.data_order import DataOrder
from adminview.cli.output.printing import echo, end_activity
from adminview.cli.shutdown import graceful_shutdown
from adminview.http_api.handlers import Api
from adminview.http_api.health import NoAlarms
from adminview.local.http_server import LOOPBACK, LocalGateway, Server, is_loopback
from adminview.query.engine import QueryEngine
from adminview.views import registry

PORT: Final = 8080
LOOK_SECONDS: Final = 5.0  # to check at the start that the view table exists


def serve(  # noqa: PLR0913 - all are keywords
    *,
    port: Annotated[int, typer.Option(help="Port to listen on.", min=0, max=65535)] = PORT,
    host: Annotated[
        str, typer.Option(help="Address to listen on; others than loopback need --expose.")
    ] = LOOPBACK,
    expose: Annotated[
        bool,
        typer.Option(
            "--expose", help="Serve other machines. Everyone who can connect can read the view."
        ),
    ] = False,
    origin: Annotated[
        list[str] | None,
        typer.Option(
            help="Allow this origin (CORS), such as http://localhost:5173; may be repeated."
        ),
    ] = None,
    stage: Stage = None,
    prefix: Prefix = "",
) -> None:
    """Serve the HTTP API locally, for a deployment or for the engine at AWS_ENDPOINT_URL."""
    if not expose and not is_loopback(host):
        msg = (
            f"host {host!r} can be reached from other machines, and this server has no "
            "authorization: give --expose if everyone who can connect may read the view"
        )
        raise typer.BadParameter(msg, param_hint="--host")
    deployment = Deployment.from_options(stage, prefix)
    settings = find_settings(registry(), deployment)
    pending = find_pending(registry(), deployment)
    reader = ViewReader(Boto3Reader(dynamodb_client()), settings.view_table)
    reader.get([("is", "it there?")], deadline=Deadline.after(LOOK_SECONDS))
    api = make_api(QueryEngine(registry(), reader, pending))
    server = Server(host, port, LocalGateway(api, origin or [], any_host=expose))
    where = "exposed to other machines" if expose else "on loopback only"
    echo(f"serving {settings.view_table} at {server.url}, without authorization, {where}")
    echo(f"open {server.url}/ for the access patterns and the API reference; Ctrl-C to stop")
    echo("view files are read once: restart this command after you change one")
    end_activity()
    with graceful_shutdown() as stop, server.running():
        stop.event.wait()
    echo("stopped")


def make_api(engine: QueryEngine) -> Api:
    order = DataOrder.of(engine.registry).columns
    return Api(engine, NoAlarms(), engine.registry.fingerprint, Logger(service=SERVICE), order)
