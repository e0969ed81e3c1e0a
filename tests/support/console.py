"""A console on a local cloud, called without a socket or served to a browser."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from adminview.cli.console.compose import ConsoleTarget, make_console_api, make_repairs
from adminview.cli.console.gateway import ConsoleGateway
from adminview.cli.console.sessions import Sessions
from adminview.cli.console.static_files import StaticFiles
from adminview.cli.deployment.deployment import Deployment
from adminview.cli.private_files import Audit
from adminview.local.http_server import Server
from adminview.local.local_cloud import LocalCloud
from tests.support.api_client import Answered

HOST = "127.0.0.1:8090"
REASON = "a test repairs this"
PAGE = StaticFiles(b"<!doctype html>", {"/assets/app.1a2b.js": ("text/javascript", b"1")})
DESCRIBED = {
    "kind": "local",
    "name": "a test",
    "stage": None,
    "prefix": "",
    "viewTable": "AdminViewTable",
    "region": None,
}


@dataclass
class ConsoleClient:
    """Calls a console as its page would."""

    gateway: ConsoleGateway
    token: str

    def send(
        self, target: str, method: str = "GET", body: Any = None, **headers: str | None
    ) -> Answered:
        """Make one request below /api; a header that is None is left out."""
        all_headers: dict[str, str | None] = {
            "Host": HOST,
            "Authorization": f"Bearer {self.token}",
            **({} if body is None else {"Content-Type": "application/json"}),
            **{name.replace("_", "-"): text for name, text in headers.items()},
        }
        sent = {name: text for name, text in all_headers.items() if text}
        content = body if isinstance(body, bytes) else b"" if body is None else _json(body)
        answer = self.gateway.answer(method, f"/api{target}", sent, content)
        text = answer["body"]
        text = text.decode() if isinstance(text, bytes) else text
        return Answered(answer["statusCode"], answer["headers"], text)

    def get(self, target: str) -> Any:
        """Return the body of a successful response."""
        answered = self.send(target)
        assert answered.status == 200, answered.text
        return answered.json

    def post(self, target: str, body: Any, status: int = 200) -> Any:
        answered = self.send(target, "POST", body)
        assert answered.status == status, answered.text
        return answered.json

    def repair(self, action: str, select: Any, **more: Any) -> Any:
        """Start a repair, wait for its end, and return the job."""
        body = {"select": select, "reason": REASON, "perSecond": 100, **more}
        job = self.post(f"/repairs/{action}", body, 202)["job"]
        return self.ended(job["id"])

    def ended(self, id_: str) -> Any:
        """Wait until a job has ended, and return it."""
        patience = monotonic() + 60
        while (job := self.get(f"/jobs/{id_}"))["endedAt"] is None:
            assert monotonic() < patience, job
            sleep(0.02)
        return job


def _json(body: Any) -> bytes:
    return json.dumps(body).encode()


def console_of(cloud: LocalCloud, audit: Path, **changes: Any) -> ConsoleClient:
    """Make a console of everything that runs on a local cloud."""
    target = ConsoleTarget(
        **{
            "registry": cloud.registry,
            "settings": cloud.settings,
            "clients": cloud.clients,
            "streams": cloud.engine.streams(),
            "described": DESCRIBED,
            "pending": cloud.pending,
            "audit": Audit(audit),
            **changes,
        }
    )
    sessions = Sessions()
    api = make_console_api(target, sessions, make_repairs(target))
    gateway = ConsoleGateway(api, sessions, PAGE)
    gateway.hosts = frozenset({HOST, "localhost:8090"})
    return ConsoleClient(gateway, sessions.launch_token)


@contextmanager
def serve_console(cloud: LocalCloud, audit: Path) -> Iterator[tuple[Server, Sessions]]:
    """Serve the console of *cloud* with its page; the cloud's environment must be set."""
    deployment = Deployment.from_options(None, "", cloud.environment)
    target = ConsoleTarget.of(cloud.registry, deployment, Audit(audit))
    sessions = Sessions()
    repairs = make_repairs(target)
    assert repairs
    api = make_console_api(target, sessions, repairs)
    gateway = ConsoleGateway(api, sessions, StaticFiles.load())
    with gateway.listen(0).running() as server:
        yield server, sessions
    repairs.jobs.end(60)  # before the engine is emptied
