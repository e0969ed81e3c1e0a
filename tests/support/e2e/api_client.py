"""Query the deployed API over HTTP, with signed requests."""

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

    @property
    def url(self) -> str:
        """The address of the API."""
        return f"{self._cloud.geturl()}{self._root}"

    def get(self, path: str, *, signed: bool = True) -> Answer:
        """Send one request and return the response."""
        request = AWSRequest("GET", f"{self.url}{path}")
        if signed:
            caller = Credentials("test", "test")
            SigV4Auth(caller, "execute-api", REGION).add_auth(request)
        connection = HTTPConnection(self._cloud.netloc, timeout=60)
        connection.request("GET", f"{self._root}{path}", headers=dict(request.headers))
        response = connection.getresponse()
        answer = Answer(response.status, dict(response.getheaders()), json.loads(response.read()))
        connection.close()
        return answer


@dataclass
class Panel:
    """An admin panel that queries all the time, and records every status and every wrong response.

    *queries* are paths, each with a text that its response must contain, and the other statuses
    that are allowed. All responses of a query must have the same rows: their items do not change.
    """

    api: Api
    queries: Mapping[str, tuple[str, frozenset[int]]]
    between: Callable[[], object] = lambda: None  # called before each round of queries
    seen: dict[str, list[int]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    first: dict[str, Any] = field(default_factory=dict)  # rows, by query

    @contextmanager
    def querying(self) -> Iterator["Panel"]:
        """Query until the context ends, and once more."""
        stop = Event()
        with ThreadPoolExecutor(1) as pool:
            background = pool.submit(self._query_until, stop)
            try:
                yield self
            finally:
                stop.set()
            background.result()
        self.query_all()

    def _query_until(self, stop: Event) -> None:
        while not stop.wait(0.5):
            self.between()
            self.query_all()

    def query_all(self) -> None:
        """Run every query once, and record the responses."""
        for query, (expected, allowed) in self.queries.items():
            answer = self._answer(f"/patterns/{query}")
            self.seen.setdefault(query.partition("?")[0], []).append(answer.status)
            if answer.status not in allowed and not self._is_right(query, expected, answer):
                self.wrong.append(f"{query}: {answer}")

    def _is_right(self, query: str, expected: str, answer: Answer) -> bool:
        if answer.status != OK or expected not in str(answer.body):
            return False
        rows = [(row["key"], row["data"]) for row in answer.body["rows"]]
        return bool(rows == self.first.setdefault(query, rows))

    def _answer(self, path: str) -> Answer:
        """Query again if the function was replaced meanwhile: Lambda would let the call finish."""
        answer = self.api.get(path)
        return self.api.get(path) if KILLED in str(answer.body) else answer
