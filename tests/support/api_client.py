"""The API without a gateway before it: requests in, answers out."""

import json
from dataclasses import dataclass, field
from io import StringIO
from itertools import count
from typing import Any

from aws_lambda_powertools import Logger

from adminview.aws.stream_metrics import Reading
from adminview.cli.commands.serve import LocalGateway
from adminview.http_api.handlers import Api
from adminview.http_api.health import ActivityMetrics, NoMetrics
from adminview.query.engine import QueryEngine

NUMBERS = count()


@dataclass(frozen=True, slots=True)
class Answered:
    """What a request came to."""

    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def detail(self) -> str:
        """Read a problem's words."""
        assert self.headers["Content-Type"] == "application/problem+json"
        assert self.json["status"] == self.status
        return str(self.json["detail"])


@dataclass(frozen=True, slots=True)
class Fixed:
    """A pulse that reads the same always."""

    reading: Reading | None

    def read(self) -> Reading | None:
        return self.reading


@dataclass
class Client:
    """Asks an API as a front end would."""

    query_engine: QueryEngine
    pulse: ActivityMetrics = field(default_factory=NoMetrics)
    log: StringIO = field(default_factory=StringIO)

    def __post_init__(self) -> None:
        # A name that was never used: Powertools keeps a logger's stream by its name, and the id of
        # an object may come again.
        logger = Logger(service=f"api-{next(NUMBERS)}", stream=self.log)
        self.gateway = LocalGateway(Api(self.query_engine, self.pulse, "model-1", logger))

    def send(self, target: str, method: str = "GET", **headers: str) -> Answered:
        """Make one request; *target* is percent-encoded."""
        answer = self.gateway.answer(method, target, {"Host": "localhost:8080", **headers})
        return Answered(answer["statusCode"], answer["headers"], answer["body"])

    def get(self, target: str) -> Any:
        """Get what must be there."""
        answered = self.send(target)
        assert answered.status == 200, answered.text
        assert answered.headers["Content-Type"] == "application/json"
        return answered.json
