"""The API: Powertools' resolver, with our routes on it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from http import HTTPStatus
from traceback import extract_tb
from typing import Any, Final

from aws_lambda_powertools import Logger
from aws_lambda_powertools.event_handler.api_gateway import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler.exceptions import NotFoundError

from adminview.aws.deadline import Deadline
from adminview.http_api import paths
from adminview.http_api.catalogue import catalogue
from adminview.http_api.health import Pulse, health
from adminview.http_api.openapi import document
from adminview.http_api.page import PageMaker
from adminview.http_api.problems import ProblemError, problem_of
from adminview.http_api.render import Renderer, text
from adminview.http_api.request import ApiRequest, read_query
from adminview.model import AccessPattern
from adminview.model.attribute import PK, SK
from adminview.model.errors import BeingBuiltError, ServiceError, kind_of
from adminview.model.limits import PARTITION_LIMIT, SORT_LIMIT
from adminview.model.row import PROVENANCE, Attributes, RowKey
from adminview.query.engine import SECONDS, QueryEngine
from adminview.query.parameters import typed

JSON: Final = "application/json"
HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "Strict-Transport-Security": "max-age=63072000; includeSubDomains",
    "X-Content-Type-Options": "nosniff",
}
MOST_READINGS: Final = 100  # of a path that holds slashes: as many as one BatchGetItem reads
EXACTLY: Final = f"{paths.ROW_BY_QUERY}?{PK.name}=…&{SK.name}=… says exactly which is meant"


@dataclass
class Api:
    """The routes, and what answers them."""

    asker: QueryEngine
    pulse: Pulse
    model: str  # the fingerprint of what is deployed
    logger: Logger

    def __call__(self, event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        """Answer one request of an HTTP API, in its payload format 2.0."""
        answer: dict[str, Any] = self.resolver.resolve(event, context)
        answer["headers"] = {**answer.get("headers", {}), **HEADERS}
        return answer

    @cached_property
    def resolver(self) -> APIGatewayHttpResolver:
        """Put the routes on a resolver."""
        resolver = APIGatewayHttpResolver()
        answers: dict[str, Callable[[], Response[str]]] = {
            paths.PATTERNS: self.patterns,
            paths.QUESTION: self.question,
            paths.COUNT: self.count,
            paths.ROW_BY_QUERY: self.row_by_query,
            paths.ROW: self.row,
            paths.HEALTH: self.health,
            paths.OPENAPI: self.openapi,
        }
        for path in paths.PATHS:
            resolver.get(paths.rule(path))(answers[path])
        resolver.exception_handler(NotFoundError)(self.nothing_here)
        resolver.exception_handler(Exception)(self.problem)
        return resolver

    @cached_property
    def renderer(self) -> Renderer:
        """Show rows of this model."""
        return Renderer(self.asker.registry)

    @cached_property
    def described(self) -> str:
        """The OpenAPI document: it takes milliseconds, and is rarely asked for twice."""
        return text(document(self.asker.registry, self.model))

    def patterns(self) -> Response[str]:
        """List the questions."""
        read_query(self._query, ())
        return _ok(text(catalogue(self.asker.registry, self.model, self.asker.pending)))

    def question(self) -> Response[str]:
        """Answer a question with one page."""
        pattern = self._pattern()
        asked = ApiRequest.read(self._query)
        maker = PageMaker(
            self.asker, self.renderer, pattern, typed(pattern, asked.parameters), asked.order
        )
        page = maker.fill(asked)
        rows = ",".join(page.rows)
        return _ok(
            f'{{"pattern":{text(pattern.name)},"rows":[{rows}],"cursor":{text(page.cursor)}}}'
        )

    def count(self) -> Response[str]:
        """Count the rows that answer a question."""
        pattern = self._pattern()
        given = typed(pattern, read_query(self._query, None))
        pattern.condition(**given)  # what is no parameter of it would be one of the method below
        number = self.asker.count(pattern.name, **given)
        return _ok(text({"pattern": pattern.name, "count": number}))

    def row_by_query(self) -> Response[str]:
        """Give the row of a key."""
        given = read_query(self._query, (PK.name, SK.name))
        if missing := [name for name in (PK.name, SK.name) if name not in given]:
            detail = ", ".join(f"{name} is missing" for name in missing)
            raise ProblemError(HTTPStatus.BAD_REQUEST, detail)
        return self._one([(given[PK.name], given[SK.name])])

    def row(self) -> Response[str]:
        """Give the row of a key in the path, which may be read in several ways."""
        read_query(self._query, ())
        after = self.resolver.current_event.path.removeprefix(f"{paths.ROW_BY_QUERY}/")
        return self._one(list(_readings(after)))

    def health(self) -> Response[str]:
        """Tell whether the streams are read."""
        read_query(self._query, ())
        return _ok(text(health(self.pulse)))

    def openapi(self) -> Response[str]:
        """Describe all this."""
        read_query(self._query, ())
        return _ok(self.described)

    def nothing_here(self, _: NotFoundError) -> Response[str]:
        """Say that there is no such route, or not for this method."""
        event = self.resolver.current_event
        if event.http_method != paths.METHOD and paths.known(event.path):
            detail = f"there is {paths.METHOD} here, and nothing else"
            allow = {"Allow": paths.METHOD}
            return ProblemError(HTTPStatus.METHOD_NOT_ALLOWED, detail, headers=allow).response()
        detail = f"there is nothing here; there are {', '.join(paths.PATHS)}"
        return ProblemError(HTTPStatus.NOT_FOUND, detail).response()

    def problem(self, error: Exception) -> Response[str]:
        """Say what is wrong; log what only we can mend, without quoting anybody's data."""
        problem = problem_of(error)
        mended = isinstance(error, BeingBuiltError)  # by the plan that is under way
        if problem.status >= HTTPStatus.INTERNAL_SERVER_ERROR and not mended:
            cause = error.__cause__ if isinstance(error, ProblemError) else error
            code = cause.code if isinstance(cause, ServiceError) else None
            at = extract_tb(error.__traceback__)[-1]
            place = f"{at.filename}:{at.lineno}"
            self.logger.error("no answer", error=kind_of(cause or error), place=place, code=code)
        return problem.response()

    @property
    def _query(self) -> str:
        return self.resolver.current_event.get("rawQueryString") or ""

    def _pattern(self) -> AccessPattern:
        name = self.resolver.current_event.path.split("/")[2]
        try:
            return self.asker.registry.pattern(name)
        except KeyError as error:
            raise ProblemError(HTTPStatus.NOT_FOUND, error.args[0]) from error

    def _one(self, keys: list[RowKey]) -> Response[str]:
        """Give the one row that is meant."""
        keys = [key for key in keys if _possible(key)][:MOST_READINGS]
        found: dict[RowKey, Attributes] = {}
        if keys:
            found = self.asker.reader.get(keys, deadline=Deadline.after(SECONDS))
        if len(found) > 1:
            detail = f"{len(found)} rows can be read from this path; {EXACTLY}"
            raise ProblemError(HTTPStatus.CONFLICT, detail)
        for row in found.values():
            return _ok(text(self.renderer.row(row, PROVENANCE)))
        detail = "there is no row of this key; # is written %23 in a path"
        raise ProblemError(HTTPStatus.NOT_FOUND, f"{detail}, and {EXACTLY}")


def _readings(path: str) -> Iterator[RowKey]:
    """Split a decoded path into PK and SK, at each of its slashes."""
    pieces = path.split("/")
    for place in range(1, len(pieces)):
        yield "/".join(pieces[:place]), "/".join(pieces[place:])


def _possible(key: RowKey) -> bool:
    """Tell whether a row may have this key; DynamoDB would refuse to look for another."""
    try:
        pk, sk = (len(part.encode()) for part in key)
    except UnicodeEncodeError:  # a lone surrogate, which no row holds
        return False
    return 0 < pk <= PARTITION_LIMIT and 0 < sk <= SORT_LIMIT


def _ok(body: str) -> Response[str]:
    return Response(HTTPStatus.OK.value, JSON, body)
