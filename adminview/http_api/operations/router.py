"""Dispatch requests to operations, and describe the operations as OpenAPI.

Unlike the resolver of Powertools, it keeps no state of a request, so that a slow request delays no
other.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from json import loads
from typing import Any, Final
from urllib.parse import unquote

from aws_lambda_powertools import Logger

from adminview.http_api.handlers import HEADERS, JSON
from adminview.http_api.paths import rule
from adminview.http_api.problems import TYPE as PROBLEM
from adminview.http_api.problems import ProblemError, problem_of
from adminview.http_api.render import text
from adminview.http_api.request import read_query
from adminview.http_api.schemas import Schema, reference
from adminview.model.errors import ServiceError, kind_of

BODY_LIMIT: Final = 256 * 1024  # bytes of a request
NOT_AN_OBJECT: Final = "the body must be a JSON object"

Response = dict[str, Any]  # as a function returns it to a gateway


@dataclass(frozen=True, slots=True)
class Request:
    """A request to an operation."""

    variables: tuple[str, ...] = ()  # of the path
    query: str = ""
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)  # by lower-case name

    def parameters(self, *known: str) -> dict[str, str]:
        """Return the query parameters; raise a ProblemError for one that is not *known*."""
        return read_query(self.query, known)

    def json(self) -> dict[str, Any]:
        """Return the body; raise a ProblemError if it is not a JSON object."""
        try:
            value = loads(self.body.decode())
        except (ValueError, RecursionError) as error:
            raise ProblemError(HTTPStatus.BAD_REQUEST, NOT_AN_OBJECT) from error
        if not isinstance(value, dict):
            raise ProblemError(HTTPStatus.BAD_REQUEST, NOT_AN_OBJECT)
        return value


@dataclass(frozen=True, slots=True)
class Reply:
    """The result of an operation; *content* None is an empty body."""

    content: Any
    status: HTTPStatus = HTTPStatus.OK
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A route: what it does, and how OpenAPI describes it."""

    method: str
    path: str
    id: str
    summary: str
    handle: Callable[[Request], Reply]
    response: str  # the name of its schema
    parameters: Sequence[Mapping[str, Any]] = ()
    body: str | None = None  # the name of its schema
    status: HTTPStatus = HTTPStatus.OK

    def describe(self) -> dict[str, Any]:
        """Return the OpenAPI operation."""
        problem = {PROBLEM: {"schema": reference("Problem")}}
        empty = self.status is HTTPStatus.NO_CONTENT
        content = {"content": {JSON: {"schema": reference(self.response)}}}
        body = {"required": True, "content": {JSON: {"schema": reference(self.body or "")}}}
        invalid = {"description": "The request is invalid; see detail", "content": problem}
        return {
            "operationId": self.id,
            "summary": self.summary,
            "parameters": [*self.parameters],
            **({"requestBody": body} if self.body else {}),
            "responses": {
                str(self.status.value): {"description": "OK", **({} if empty else content)},
                "400": invalid,
                "default": {"description": "An error; see detail", "content": problem},
            },
        }


@dataclass(frozen=True, slots=True)
class OperationGroup:
    """Operations that a server has or leaves out together."""

    name: str
    operations: Sequence[Operation]
    schemas: Mapping[str, Schema] = field(default_factory=dict)


class Operations:
    """The operations of some groups."""

    def __init__(self, groups: Iterable[OperationGroup], logger: Logger) -> None:
        self.groups = tuple(groups)
        self._logger = logger
        self._rules = [
            (re.compile(rule(operation.path)), operation)
            for group in self.groups
            for operation in group.operations
        ]

    def answer(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: bytes = b"",
    ) -> Response | None:
        """Return the response to a request; None if no operation has this path."""
        path, _, query = target.partition("?")
        path = unquote(path)
        matches = [
            (match.groups(), operation)
            for pattern, operation in self._rules
            if (match := pattern.fullmatch(path))
        ]
        if not matches:
            return None
        try:
            for variables, operation in matches:
                if operation.method == method:
                    return respond(operation.handle(Request(variables, query, body, headers)))
            allowed = sorted({operation.method for _, operation in matches})
            detail = f"this path supports only {', '.join(allowed)}"
            headers = {"Allow": ", ".join(allowed)}
            raise ProblemError(HTTPStatus.METHOD_NOT_ALLOWED, detail, headers=headers)  # noqa: TRY301 - one way to answer
        except Exception as error:  # noqa: BLE001 - every error is answered
            return self._problem(error)

    def describe(self, document: dict[str, Any]) -> dict[str, Any]:
        """Return an OpenAPI document with these operations added."""
        paths = {at: {**methods} for at, methods in document["paths"].items()}
        schemas = {**document["components"]["schemas"]}
        for group in self.groups:
            schemas |= group.schemas
            for operation in group.operations:
                described = {"tags": [group.name], **operation.describe()}
                paths.setdefault(operation.path, {})[operation.method.lower()] = described
        return {**document, "paths": paths, "components": {"schemas": schemas}}

    def _problem(self, error: Exception) -> Response:
        """Return the problem, and log server errors without customer data."""
        problem = problem_of(error)
        if problem.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            code = error.code if isinstance(error, ServiceError) else None
            self._logger.error("request failed", error=kind_of(error), code=code)
        return refusal(problem)


def respond(reply: Reply) -> Response:
    """Return a reply in the form of a gateway."""
    kind = {} if reply.content is None else {"Content-Type": JSON}
    return {
        "statusCode": reply.status.value,
        "headers": {**kind, **reply.headers, **HEADERS},
        "body": "" if reply.content is None else text(reply.content),
    }


def refusal(problem: ProblemError) -> Response:
    """Return a problem in the form of a gateway."""
    response = problem.response()
    return {
        "statusCode": response.status_code,
        "headers": {"Content-Type": PROBLEM, **response.headers, **HEADERS},
        "body": response.body,
    }
