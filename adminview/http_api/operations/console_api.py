"""The API of the console: the queries of the deployed API, and the operations of some groups."""

from collections.abc import Callable, Mapping
from typing import Any

from adminview.http_api import paths
from adminview.http_api.handlers import HEADERS, JSON
from adminview.http_api.operations.router import Operations, Response
from adminview.http_api.render import text

ABOUT = (
    "The console's API: whatever the console does, a script can do. Every request needs the header "
    "`Authorization: Bearer TOKEN`, with the token that `adminview console` prints."
)
QUERIES = "queries"  # the name of the group that the deployed API has


class ConsoleApi:
    """Routes requests to operations, and all others to the queries."""

    def __init__(
        self,
        queries: Callable[[str, str, Mapping[str, str]], Response],
        operations: Operations,
        document: Mapping[str, Any],
    ) -> None:
        self._queries = queries
        self._operations = operations
        described = {
            **document,
            "info": {**document["info"], "title": "AdminView console", "description": ABOUT},
            "servers": [{"url": "/api"}],
            "security": [{"token": []}],
        }
        described = operations.describe(described)
        schemes = {"token": {"type": "http", "scheme": "bearer"}}
        described["components"] = {**described["components"], "securitySchemes": schemes}
        self.document = described

    @property
    def features(self) -> list[str]:
        """The groups of routes that this server has."""
        return [QUERIES, *(group.name for group in self._operations.groups)]

    def answer(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes = b""
    ) -> Response:
        """Return the response to a request; *target* is relative to the base URL of the API."""
        if method == paths.METHOD and target == paths.OPENAPI:
            headers = {"Content-Type": JSON, **HEADERS}
            return {"statusCode": 200, "headers": headers, "body": text(self.document)}
        answered = self._operations.answer(method, target, headers, body)
        return answered or self._queries(method, target, headers)
