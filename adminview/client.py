"""Query AdminViewTable from Python: `connect` finds a deployment, or a local engine."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from adminview.aws.aws_calls import Aws, AwsCallError
from adminview.aws.boto3_clients import dynamodb_client, service_client
from adminview.aws.deadline import Deadline
from adminview.aws.endpoints import (
    ACCESS_KEY,
    ENDPOINT,
    REGION,
    SDK_REGION,
    SECRET_KEY,
    check_endpoint,
    check_endpoints,
    local_defaults,
    replace_endpoints,
)
from adminview.aws.error_hints import add_hint, settings_errors
from adminview.aws.settings import DEFAULT_VIEWS, PREFIX, VIEW_TABLE, VIEWS_PACKAGE
from adminview.aws.settings import STAGE as STAGE_VARIABLE
from adminview.aws.stack_outputs import STAGE, StackOutputs, deployed_settings, find_pending
from adminview.aws.view_reader import Boto3Reader, ViewReader
from adminview.model import AccessPattern, Registry
from adminview.model import row as view_row
from adminview.model.errors import DeclarationError, QueryError, ServiceError
from adminview.query.engine import MOST, PAGE, SECONDS, QueryEngine, QueryResult
from adminview.query.plain_rows import PlainRow, RowDecoder
from adminview.views import registry

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

Parameter: TypeAlias = str | int | Decimal | bytes
Order: TypeAlias = Literal["asc", "desc"]

PAGE_OPTIONS: Final = ("limit", "cursor")
NO_VIEWS: Final = "save a script in that folder, beside app.py, or set PYTHONPATH=. there"
NO_STACKS: Final = (
    "a local engine such as the one at {} has no stacks: leave out stage and prefix to query it, "
    f"or leave out endpoint and unset {ENDPOINT} to query a deployment"
)


def connect(
    stage: str | None = None,
    *,
    prefix: str | None = None,
    endpoint: str | None = None,
    views: Registry | None = None,
) -> "ViewClient":
    """Return a client of a deployment, or of a local engine.

    *stage* and *prefix* name the deployment, as in `cdk.json`. They default to ADMINVIEW_STAGE and
    ADMINVIEW_PREFIX; without these, the stage is dev. *endpoint*, such as http://127.0.0.1:8000, is
    the URL of a local engine and defaults to AWS_ENDPOINT_URL. If ADMINVIEW_TABLE is set and
    *stage* and *prefix* are not given, the client queries that table. boto3 finds the credentials
    and the region; AWS_REGION wins over AWS_DEFAULT_REGION. *views* defaults to the app's view
    files.

    The deployment is read once: connect again after another model was deployed. Raises a
    SettingsError that says what to do if there is no such deployment, if its model differs from
    *views*, or if the endpoint does not respond.
    """
    model = views or _app_views()
    environ = {name: value for name, value in os.environ.items() if value}
    if endpoint:
        check_endpoint(endpoint, "endpoint")
        environ = replace_endpoints(environ, endpoint)
        for name in (STAGE_VARIABLE, PREFIX):
            environ.pop(name, None)
    else:
        check_endpoints(environ, "DYNAMODB")
    if stage or prefix:
        environ.pop(VIEW_TABLE, None)
    stage = stage or environ.get(STAGE_VARIABLE)
    prefix = environ.get(PREFIX, "") if prefix is None else prefix
    options = _client_options(environ, endpoint)
    aws = Aws(partial(service_client, **options))
    deployment = StackOutputs(aws, stage or STAGE, prefix, environ, bool(stage or prefix))
    with settings_errors(), _advice(engine=environ.get(ENDPOINT, "")):
        table, pending = _table(deployment), find_pending(model, deployment)
        client = dynamodb_client(**options)
    return ViewClient.of(model, table, client, pending, environ.get(ENDPOINT, ""))


@dataclass(frozen=True, slots=True)
class ViewClient:
    """Queries the access patterns of one AdminViewTable. Reads only. Thread-safe."""

    table: str
    engine: QueryEngine = field(repr=False)
    endpoint: str = ""  # of a local engine; empty for AWS

    @classmethod
    def of(
        cls,
        views: Registry,
        table: str,
        client: "DynamoDBClient",
        pending: Mapping[str, str | None],
        endpoint: str = "",
    ) -> "ViewClient":
        """Return a client that reads *table* with a boto3 client."""
        engine = QueryEngine(views, ViewReader(Boto3Reader(client), table), pending)
        return cls(table, engine, endpoint)

    @property
    def patterns(self) -> tuple[AccessPattern, ...]:
        """The declared access patterns."""
        return tuple(self.engine.registry.patterns)

    def query(
        self, pattern: str, /, *, order: Order | None = None, **parameters: Parameter
    ) -> "Rows":
        """Return the rows of an access pattern. They are read when they are needed.

        *order* is the order of the sort key; None means as declared. Raises a QueryError for an
        unknown access pattern or wrong parameters. Raises a PatternNotReadyError while the rows of
        the access pattern are still being backfilled.
        """
        for option in PAGE_OPTIONS:
            if option in parameters:
                msg = (
                    f"access pattern {pattern!r}: {option} is an option of a page; "
                    f"write query(…).page({option}=…)"
                )
                raise QueryError(msg)
        declared = self.engine.prepare(pattern, parameters, order).pattern
        return Rows(self, declared, parameters, order)

    def row(self, pk: str, sk: str) -> PlainRow | None:
        """Return one row by its key; None if it does not exist."""
        with self.hints():
            rows = self.engine.reader.get([(pk, sk)], deadline=Deadline.after(SECONDS))
        row = rows.get((pk, sk))
        return RowDecoder(self.engine.registry).row(row) if row else None

    @contextmanager
    def hints(self) -> Iterator[None]:
        """Add what to do to the text of a ServiceError."""
        try:
            yield
        except ServiceError as error:
            add_hint(error, self.endpoint)
            raise


@dataclass(frozen=True, slots=True)
class RowPage:
    """Some rows of a query, and the cursor of the next page, which is None for the last page."""

    rows: list[PlainRow]
    cursor: str | None


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a query in the order of the sort key, as plain Python.

    A row is a dict with `PK`, `SK`, its index keys and `data`. If the access pattern has joins,
    `joined` has the joined rows by name, and None for a row that does not exist. Numbers are
    Decimal. Rows are read page by page. Each iteration reads them again.
    """

    view: ViewClient
    pattern: AccessPattern
    parameters: Mapping[str, Any]
    order: Order | None = None

    def __repr__(self) -> str:
        """Hide the parameters: a repr may end in a log."""
        return f"Rows({self.pattern.name!r})"

    def __iter__(self) -> Iterator[PlainRow]:
        cursor, limit = None, PAGE
        while True:
            page = self.page(cursor, limit)
            yield from page.rows
            if page.cursor is None:
                return
            # Larger pages need fewer calls, if more than a few rows are needed.
            cursor, limit = page.cursor, min(2 * limit, MOST)

    def first(self) -> PlainRow | None:
        """Return the first row; None if there is none."""
        return next(iter(self.page(limit=1).rows), None)

    def page(self, cursor: str | None = None, limit: int = PAGE) -> RowPage:
        """Return at most *limit* rows after *cursor*, which an earlier page returned.

        Raises a QueryError for a cursor of another query, and for a limit over 1,000.
        """
        page = self.read(cursor, limit)
        decoder, shows = RowDecoder(self.view.engine.registry), self.pattern.shows
        return RowPage([decoder.result(row, shows) for row in page.rows], page.cursor)

    def count(self) -> int:
        """Count the rows without transferring them."""
        with self.view.hints():
            return self.view.engine.count(self.pattern.name, **self.parameters)

    def read(self, cursor: str | None = None, limit: int = PAGE) -> QueryResult:
        """Return a page in DynamoDB JSON, with its consumed read units."""
        options: Any = {"limit": limit, "cursor": cursor, "order": self.order}
        with self.view.hints():
            return self.view.engine.page(self.pattern.name, **options, **self.parameters)


def _app_views() -> Registry:
    """Return the app's declarations; the error says how a script elsewhere can find them."""
    try:
        return registry()
    except DeclarationError as error:
        missing = getattr(error.__cause__, "name", None)  # of a package that cannot be imported
        package = os.environ.get(VIEWS_PACKAGE) or DEFAULT_VIEWS
        if missing and f"{package}.".startswith(f"{missing}."):
            error.args = (f"{error}; {NO_VIEWS}",)
        raise


def _client_options(environ: Mapping[str, str], endpoint: str | None) -> dict[str, Any]:
    """Return the options of boto3 clients; None leaves one to boto3."""
    defaults = local_defaults(environ)
    return {
        "endpoint_url": endpoint,
        "region_name": environ.get(REGION) or defaults.get(SDK_REGION),
        "aws_access_key_id": defaults.get(ACCESS_KEY),
        "aws_secret_access_key": defaults.get(SECRET_KEY),
    }


def _table(deployment: StackOutputs) -> str:
    """Return the name of the view table."""
    if named := deployment.environ.get(VIEW_TABLE):
        return named
    return view_row.VIEW_TABLE if deployment.local else deployed_settings(deployment).view_table


@contextmanager
def _advice(engine: str) -> Iterator[None]:
    """Add what to do to the text of an AwsCallError. *engine* is an endpoint, if there is one."""
    try:
        yield
    except AwsCallError as error:
        advice = NO_STACKS.format(engine) if engine else error.advice
        error.args = ("; ".join(filter(None, [str(error), advice])),)
        raise
