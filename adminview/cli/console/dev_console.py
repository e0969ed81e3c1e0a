"""The console of `adminview dev`: it follows the model, and counts what the sync does."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from adminview.aws.boto3_clients import streams_client
from adminview.cli.console.compose import (
    ConsoleTarget,
    make_console_api,
    make_repairs,
    use_model,
)
from adminview.cli.console.gateway import ConsoleGateway
from adminview.cli.console.local_status import SyncCounts
from adminview.cli.console.sessions import Sessions
from adminview.cli.console.static_files import StaticFiles
from adminview.http_api.operations.repairs import Repairs
from adminview.local.dev.session import DevEngine
from adminview.local.http_server import Server
from adminview.local.settings import declared
from adminview.model import Registry


@dataclass(slots=True)
class DevConsole:
    """A console with the model of a running session."""

    engine: DevEngine
    place: str  # names the engine
    counts: SyncCounts = field(default_factory=SyncCounts)
    sessions: Sessions = field(default_factory=Sessions)
    gateway: ConsoleGateway | None = None
    repairs: Repairs | None = None  # and their jobs, of all models

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Let no repair write rows while the model changes; a running one continues afterwards."""
        if self.repairs is None:
            yield
        else:
            with self.repairs.paused():
                yield

    def publish(self, registry: Registry) -> None:
        """Answer with a model from now on."""
        settings = declared(registry, self.engine.queue_url)
        target = ConsoleTarget(
            registry=registry,
            settings=settings,
            clients=self.engine.clients,
            streams=streams_client(),
            described={
                "kind": "local",
                "name": self.place,
                "stage": None,
                "prefix": "",
                "viewTable": settings.view_table,
                "region": None,
            },
            counts=self.counts,
        )
        if self.repairs is None:
            self.repairs = make_repairs(target)
        else:
            use_model(self.repairs, target)
        api = make_console_api(target, self.sessions, self.repairs)
        if self.gateway is None:
            self.gateway = ConsoleGateway(api, self.sessions, StaticFiles.load())
        self.gateway.api = api

    def listen(self, port: int) -> Server:
        """Bind the server; a model must be published."""
        assert self.gateway
        return self.gateway.listen(port)

    def url(self, server: Server) -> str:
        return f"{server.url}/?token={self.sessions.launch_token}"
