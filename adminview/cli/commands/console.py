"""`adminview console`: query, understand and repair in the browser."""

import os
from pathlib import Path
from typing import Annotated, Final

import typer

from adminview.cli.console.compose import ConsoleTarget, make_console_api, make_repairs
from adminview.cli.console.gateway import ConsoleGateway
from adminview.cli.console.sessions import Sessions
from adminview.cli.console.static_files import StaticFiles
from adminview.cli.deployment.deployment import Deployment
from adminview.cli.options import Prefix, Stage
from adminview.cli.output.printing import echo, end_activity
from adminview.cli.private_files import AUDIT, Audit
from adminview.cli.shutdown import graceful_shutdown
from adminview.local.engines import free_port
from adminview.views import registry

PORT: Final = 8090
PATIENCE_SECONDS: Final = 10  # for the dead letter that a job is handling


def console(
    *,
    port: Annotated[
        int | None,
        typer.Option(
            help=f"Port to listen on; without it, {PORT} or another free one.", min=0, max=65535
        ),
    ] = None,
    audit: Annotated[
        Path, typer.Option(help="Audit file that records repairs, one per line.", dir_okay=False)
    ] = AUDIT,
    stage: Stage = None,
    prefix: Prefix = "",
) -> None:
    """Serve the console locally: queries, provenance, dead letters, status and model.

    It uses your AWS credentials, and can replay and discard dead letters. It
    listens on 127.0.0.1 only and requires the token that it prints.
    """
    deployment = Deployment.from_options(stage, prefix, os.environ)
    target = ConsoleTarget.of(registry(), deployment, Audit(audit))
    target.check_view()
    sessions = Sessions()
    repairs = make_repairs(target)
    api = make_console_api(target, sessions, repairs)
    gateway = ConsoleGateway(api, sessions, StaticFiles.load())
    server = gateway.listen(free_port(PORT) if port is None else port)
    echo(
        f"console of {target.described['name']}, on loopback only; repairs are recorded in {audit}"
    )
    echo(f"open {server.url}/?token={sessions.launch_token}")
    echo("view files are read once: restart this command after you change one; Ctrl-C to stop")
    end_activity()
    with graceful_shutdown() as stop:
        with server.running():
            stop.event.wait()
        if repairs:
            repairs.jobs.end(PATIENCE_SECONDS)
    echo("stopped")
