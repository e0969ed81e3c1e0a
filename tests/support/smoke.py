"""A run of `adminview smoke` on fakes: services that answer as a test says, and a fake clock."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from adminview.aws.aws_calls import Aws
from adminview.aws.settings import Settings
from adminview.aws.transport.eligibility import StaticCredentials
from adminview.checks.sampled import SampleItem
from adminview.cli.deployment.deployment import Deployment as RealDeployment
from adminview.cli.shutdown import Shutdown
from adminview.cli.smoke.catalogue import ALL
from adminview.cli.smoke.check import Seen, run_check
from adminview.cli.smoke.letters import LetterQueue
from adminview.cli.smoke.run import SmokeRun
from adminview.cli.smoke.wire import Wire, WireResponse
from adminview.preview import encode_item
from tests.support.deployment import Client, Deployment
from tests.support.fakes import NO_WAIT, refusal
from tests.support.model import FAVOURITE, PAYMENT, PRODUCT, USER, order, registry

MARK = "smoke-0a1b2c3d"
NOW = 1_800_000_000.0
SHORTEST_SLEEP = 5.0  # seconds: engines answer slowly, and tests wait for what never comes
ITEMS: Mapping[str, list[dict[str, Any]]] = {
    "Orders": [order(), FAVOURITE],
    "Payments": [PAYMENT],
    "Products": [PRODUCT],
    "Users": [USER],
}


def samples(items: Mapping[str, list[dict[str, Any]]] = ITEMS) -> list[SampleItem]:
    """Return sample items of the sources that the model of the tests declares."""
    names = {source.name for source in registry().sources}
    return [
        SampleItem(registry().source(source), encode_item(item))
        for source, entries in items.items()
        if source in names
        for item in entries
    ]


class Waiting(Shutdown):
    """A stop request whose sleeps pass at once, on a clock of their own."""

    def __init__(self) -> None:
        super().__init__()
        self.time = 0.0
        self.meanwhile: Callable[[], object] = lambda: None  # called during each sleep

    def sleep(self, seconds: float) -> None:
        self.time += max(seconds, SHORTEST_SLEEP)
        self.meanwhile()

    def clock(self) -> float:
        return self.time

    def now(self) -> float:
        return NOW + self.time


@dataclass
class Answers:
    """The responses of AWS by method: data, or a function of the arguments."""

    here: Deployment
    answers: dict[str, Any] = field(default_factory=dict)
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def client(self, service: str) -> Any:
        """Return the client of a service."""
        return AnsweringClient(self, service)


@dataclass
class AnsweringClient:
    """One client; a method that a test gives no answer for is that of the doctor's deployment."""

    cloud: Answers
    service: str

    def __getattr__(self, name: str) -> Any:
        def call(**arguments: Any) -> Any:
            self.cloud.calls.append((name, arguments))
            if name in self.cloud.answers:
                answer = self.cloud.answers[name]
                answer = answer(**arguments) if callable(answer) else answer
                if isinstance(answer, Exception):
                    raise answer
                return answer
            try:
                known = getattr(Client(self.cloud.here), name)
            except AttributeError:
                raise refusal("UnknownOperationException", name) from None
            return known(**arguments)

        return call


@dataclass
class FakeWire:
    """HTTP responses, as a test says."""

    get_response: Callable[[str], WireResponse] = lambda _: WireResponse(500, b"{}")
    post_status: Callable[[float], int] = lambda _: 200
    client: Any = None
    has_tls: bool = True
    region: str = "eu-west-1"

    def get(self, url: str) -> WireResponse:
        return self.get_response(url)

    def post(self, _: str, __: bytes, signed_at: float) -> WireResponse:
        return WireResponse(self.post_status(signed_at), b"{}")

    def direct_client(self) -> Any:
        return self.client


def wire() -> Wire:
    """Return the real thing, which these tests do not use."""
    return Wire(StaticCredentials("key", "secret"), "eu-west-1", "https://dynamodb.example")


def smoke_run(
    here: Deployment, answers: Mapping[str, Any], over: Any = None, **changes: Any
) -> SmokeRun:
    """Return a run on a deployment; *answers* are the responses that matter."""
    cloud = Answers(here, dict(answers))
    deployment = RealDeployment(Aws(cloud.client, timeout=0.05, backoff=NO_WAIT), "dev", "")
    names = {source.name: source.name for source in registry().sources}
    settings = Settings("AdminViewTable", "https://queue", names, registry().fingerprint)
    waiting = changes.pop("stop", None) or Waiting()
    letters: Any = changes.pop("letters", LetterQueue(None, lambda _: {}))  # type: ignore[arg-type]
    return SmokeRun(
        deployment,
        registry(),
        settings,
        samples(),
        MARK,
        over or wire(),
        letters,
        stop=waiting,
        clock=waiting.clock,
        now=waiting.now,
        **changes,
    )


def seen(number: int, run: SmokeRun) -> Seen:
    """Run one check, as the command does."""
    return run_check(ALL[number], run).seen


def log(**fields: Any) -> dict[str, str]:
    """Return a line of a log, as FilterLogEvents does."""
    return {"message": json.dumps(fields)}
