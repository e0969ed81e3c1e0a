"""Ask the deployed HTTP API, over HTTP and with a signature."""

import json
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from threading import Event
from typing import Any
from urllib.parse import urlsplit

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from tests.support.e2e.cloud import REGION, Checkout

KILLED = "Worker process died"  # the cloud says so, with status 502
OK, BAD_REQUEST, FORBIDDEN, UNKNOWN, BEING_BUILT = 200, 400, 403, 404, 503


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: Any


class Api:
    """The deployed API, behind the cloud's emulation of an API gateway.

    The gateway refuses a request without a signature, as AWS does; which rights the signer has is
    not looked at here. Its address names the API by path: by host name, as in `ApiUrl`, the cloud
    would answer `/health` itself.
    """

    def __init__(self, checkout: Checkout) -> None:
        self._cloud = urlsplit(checkout.environment["AWS_ENDPOINT_URL"])
        name = str(urlsplit(checkout.outputs("Api")["ApiUrl"]).hostname).partition(".")[0]
        self._root = f"/_aws/execute-api/{name}/$default"

    def get(self, path: str, *, signed: bool = True) -> Answer:
        """Ask once."""
        request = AWSRequest("GET", f"{self._cloud.geturl()}{self._root}{path}")
        if signed:
            caller = Credentials("test", "test")
            SigV4Auth(caller, "execute-api", REGION).add_auth(request)
        connection = HTTPConnection(self._cloud.netloc, timeout=60)
        connection.request("GET", f"{self._root}{path}", headers=dict(request.headers))
        answer = connection.getresponse()
        found = Answer(answer.status, dict(answer.getheaders()), json.loads(answer.read()))
        connection.close()
        return found


@dataclass
class Panel:
    """An admin panel that asks all the time, and keeps what was answered and what was wrong.

    *questions* are paths, each with what must be in its answer, and what else it may come to. An
    answer must have the very rows that the first one had: nothing that they show changes meanwhile.
    """

    api: Api
    questions: Mapping[str, tuple[str, frozenset[int]]]
    beside: Callable[[], object] = lambda: None  # what else goes on meanwhile
    seen: dict[str, list[int]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    first: dict[str, Any] = field(default_factory=dict)  # rows, by question

    @contextmanager
    def asking(self) -> Iterator["Panel"]:
        """Ask until left, and once more."""
        stop = Event()
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(self._ask_until, stop)
            try:
                yield self
            finally:
                stop.set()
            asked.result()
        self.ask_again()

    def _ask_until(self, stop: Event) -> None:
        while not stop.wait(0.5):
            self.beside()
            self.ask_again()

    def ask_again(self) -> None:
        """Ask everything once, and keep what was answered."""
        for question, (expected, else_) in self.questions.items():
            answer = self._answer(f"/patterns/{question}")
            self.seen.setdefault(question.partition("?")[0], []).append(answer.status)
            if answer.status not in else_ and not self._is_right(question, expected, answer):
                self.wrong.append(f"{question}: {answer}")

    def _is_right(self, question: str, expected: str, answer: Answer) -> bool:
        if answer.status != OK or expected not in str(answer.body):
            return False
        rows = [(row["key"], row["data"]) for row in answer.body["rows"]]
        return bool(rows == self.first.setdefault(question, rows))

    def _answer(self, path: str) -> Answer:
        """Ask again if the function was replaced under a question: Lambda lets it end, this not."""
        answer = self.api.get(path)
        return self.api.get(path) if KILLED in str(answer.body) else answer
