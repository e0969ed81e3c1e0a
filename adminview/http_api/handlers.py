"""The handlers of the API's routes, on a Powertools resolver."""

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
from adminview.http_api.health import AlarmReader, health
from adminview.http_api.openapi import document
from adminview.http_api.page import PageBuilder
from adminview.http_api.problems import ProblemError, problem_of
from adminview.http_api.render import Order, Renderer, text
from adminview.http_api.request import ApiRequest, read_query
from adminview.model import AccessPattern
from adminview.model.attribute import PK, SK
from adminview.model.errors import PatternNotReadyError, ServiceError, kind_of
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
MOST_SPLITS: Final = 100  # of a path with slashes: as many keys as one BatchGetItem reads
EXACT_PATH: Final = f"{paths.ROW_BY_QUERY}?{PK.name}=…&{SK.name}=… names the row exactly"


@dataclass
class Api:
    engine: QueryEngine
    alarms: AlarmReader
    model: str  # the deployed fingerprint
    logger: Logger
    order: Order | None = None  # of the attributes of data

    def __call__(self, event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        """Handle one request of an HTTP API (payload format 2.0)."""
        response: dict[str, Any] = self.resolver.resolve(event, context)
        response["headers"] = {**response.get("headers", {}), **HEADERS}
        return response

    @cached_property
    def resolver(self) -> APIGatewayHttpResolver:
        resolver = APIGatewayHttpResolver()
        handlers: dict[str, Callable[[], Response[str]]] = {
            paths.PATTERNS: self.patterns,
            paths.PATTERN: self.pattern,
            paths.COUNT: self.count,
            paths.ROW_BY_QUERY: self.row_by_query,
            paths.ROW: self.row,
            paths.HEALTH: self.health,
            paths.OPENAPI: self.openapi,
        }
        for path in paths.PATHS:
            resolver.get(paths.rule(path))(handlers[path])
        resolver.exception_handler(NotFoundError)(self.not_found)
        resolver.exception_handler(Exception)(self.problem)
        return resolver

    @cached_property
    def renderer(self) -> Renderer:
        return Renderer(self.engine.registry, self.order)

    @cached_property
    def openapi_document(self) -> str:
        return text(document(self.engine.registry, self.model))

    def patterns(self) -> Response[str]:
        read_query(self._query, ())
        pending = dict(self.engine.pending)  # as it is now
        return _ok(text(catalogue(self.engine.registry, self.model, pending)))

    def pattern(self) -> Response[str]:
        pattern = self._pattern()
        request = ApiRequest.read(self._query)
        builder = PageBuilder(
            self.engine, self.renderer, pattern, typed(pattern, request.parameters), request.order
        )
        page = builder.fill(request)
        rows = ",".join(page.rows)
        return _ok(
            f'{{"pattern":{text(pattern.name)},"rows":[{rows}],"cursor":{text(page.cursor)}}}'
        )

    def count(self) -> Response[str]:
        pattern = self._pattern()
        parameters = typed(pattern, read_query(self._query, None))
        pattern.condition(**parameters)  # refuses names that count() would take as its own
        number = self.engine.count(pattern.name, **parameters)
        return _ok(text({"pattern": pattern.name, "count": number}))

    def row_by_query(self) -> Response[str]:
        parameters = read_query(self._query, (PK.name, SK.name))
        if missing := [name for name in (PK.name, SK.name) if name not in parameters]:
            detail = ", ".join(f"{name} is missing" for name in missing)
            raise ProblemError(HTTPStatus.BAD_REQUEST, detail)
        return self._find_row([(parameters[PK.name], parameters[SK.name])])

    def row(self) -> Response[str]:
        """Return the row of the key in the path, which may be split in several ways."""
        read_query(self._query, ())
        after = self.resolver.current_event.path.removeprefix(f"{paths.ROW_BY_QUERY}/")
        return self._find_row(list(_splits(after)))

    def health(self) -> Response[str]:
        read_query(self._query, ())
        return _ok(text(health(self.alarms, self.logger)))

    def openapi(self) -> Response[str]:
        read_query(self._query, ())
        return _ok(self.openapi_document)

    def not_found(self, _: NotFoundError) -> Response[str]:
        """Return 405 for a known path with another method, otherwise 404."""
        event = self.resolver.current_event
        if event.http_method != paths.METHOD and paths.known(event.path):
            detail = f"this path supports only {paths.METHOD}"
            allow = {"Allow": paths.METHOD}
            return ProblemError(HTTPStatus.METHOD_NOT_ALLOWED, detail, headers=allow).response()
        detail = f"no such path; the API has {', '.join(paths.PATHS)}"
        return ProblemError(HTTPStatus.NOT_FOUND, detail).response()

    def problem(self, error: Exception) -> Response[str]:
        """Return the problem, and log server errors without customer data."""
        problem = problem_of(error)
        expected = isinstance(error, PatternNotReadyError)  # ends when the backfill is complete
        if problem.status >= HTTPStatus.INTERNAL_SERVER_ERROR and not expected:
            cause = error.__cause__ if isinstance(error, ProblemError) else error
            code = cause.code if isinstance(cause, ServiceError) else None
            at = extract_tb(error.__traceback__)[-1]
            place = f"{at.filename}:{at.lineno}"
            self.logger.error(
                "request failed", error=kind_of(cause or error), place=place, code=code
            )
        return problem.response()

    @property
    def _query(self) -> str:
        return self.resolver.current_event.get("rawQueryString") or ""

    def _pattern(self) -> AccessPattern:
        name = self.resolver.current_event.path.split("/")[2]
        try:
            return self.engine.registry.pattern(name)
        except KeyError as error:
            raise ProblemError(HTTPStatus.NOT_FOUND, error.args[0]) from error

    def _find_row(self, keys: list[RowKey]) -> Response[str]:
        """Return the row of the only key that exists."""
        keys = [key for key in keys if is_valid_key(key)][:MOST_SPLITS]
        rows: dict[RowKey, Attributes] = {}
        if keys:
            rows = self.engine.reader.get(keys, deadline=Deadline.after(SECONDS))
        if len(rows) > 1:
            detail = f"this path matches {len(rows)} rows; {EXACT_PATH}"
            raise ProblemError(HTTPStatus.CONFLICT, detail)
        for row in rows.values():
            return _ok(text(self.renderer.row(row, PROVENANCE)))
        detail = "there is no row with this key; write # as %23 in a path"
        raise ProblemError(HTTPStatus.NOT_FOUND, f"{detail}; {EXACT_PATH}")


def _splits(path: str) -> Iterator[RowKey]:
    """Yield PK and SK for each slash at which a decoded path can be split."""
    pieces = path.split("/")
    for place in range(1, len(pieces)):
        yield "/".join(pieces[:place]), "/".join(pieces[place:])


def is_valid_key(key: RowKey) -> bool:
    """Return whether a row can have this key: DynamoDB rejects a call with an invalid one."""
    try:
        pk, sk = (len(part.encode()) for part in key)
    except UnicodeEncodeError:  # a lone surrogate, which no row holds
        return False
    return 0 < pk <= PARTITION_LIMIT and 0 < sk <= SORT_LIMIT


def _ok(body: str) -> Response[str]:
    return Response(HTTPStatus.OK.value, JSON, body)
