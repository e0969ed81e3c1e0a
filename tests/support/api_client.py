"""Calls the API without a gateway: requests in, responses out."""

import json
from dataclasses import dataclass, field
from io import StringIO
from itertools import count
from typing import Any

from aws_lambda_powertools import Logger

from adminview.http_api.handlers import Api
from adminview.http_api.health import AlarmReader, NoAlarms
from adminview.local.http_server import LocalGateway
from adminview.query.engine import QueryEngine

NUMBERS = count()


@dataclass(frozen=True, slots=True)
class Answered:
    """The response to a request."""

    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def detail(self) -> str:
        """Return the detail of a problem document."""
        assert self.headers["Content-Type"] == "application/problem+json"
        assert self.json["status"] == self.status
        return str(self.json["detail"])


@dataclass(frozen=True, slots=True)
class Fixed:
    """Alarms that are always in the same state."""

    names: frozenset[str] | None

    def ringing(self) -> frozenset[str] | None:
        return self.names


@dataclass
class Client:
    """Calls an API as a front end would."""

    query_engine: QueryEngine
    alarms: AlarmReader = field(default_factory=NoAlarms)
    log: StringIO = field(default_factory=StringIO)

    def __post_init__(self) -> None:
        # A new name each: Powertools keeps the stream of a logger by name, and an object's id may
        # occur again.
        logger = Logger(service=f"api-{next(NUMBERS)}", stream=self.log)
        self.gateway = LocalGateway(Api(self.query_engine, self.alarms, "model-1", logger))

    def send(self, target: str, method: str = "GET", **headers: str) -> Answered:
        """Make one request; *target* is percent-encoded."""
        answer = self.gateway.answer(method, target, {"Host": "localhost:8080", **headers})
        return Answered(answer["statusCode"], answer["headers"], answer["body"])

    def get(self, target: str) -> Any:
        """Return the body of a successful response."""
        answered = self.send(target)
        assert answered.status == 200, answered.text
        assert answered.headers["Content-Type"] == "application/json"
        return answered.json
