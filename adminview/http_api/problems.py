"""Errors as `application/problem+json` (RFC 9457)."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from aws_lambda_powertools.event_handler.api_gateway import Response

from adminview.aws.retry import OUT_OF_TIME, THROTTLED
from adminview.http_api.render import text
from adminview.model.errors import AdminViewError, PatternNotReadyError, QueryError, ServiceError

TYPE: Final = "application/problem+json"
RETRY_SECONDS: Final = 5
BUILD_SECONDS: Final = 60  # Retry-After while a backfill runs, which takes minutes to hours
NOT_READY: Final = "not ready"
REFUSED: Final = "ValidationException"
BUSY: Final = "the view cannot be read at the moment; try again later"
BROKEN: Final = "the view could not be read; see the function's log"
INTERNAL: Final = "the request failed; see the function's log"
# For parameters that pass our checks and not DynamoDB's.
REFUSAL: Final = (
    "DynamoDB refuses these parameters: a key value may have at most 2048 bytes (1024 in a sort "
    "key), including the fixed parts of the access pattern, and a range must not be reversed"
)


class ProblemError(AdminViewError):
    """An error that is returned as a problem document."""

    def __init__(  # noqa: PLR0913 - all but two are keywords
        self,
        status: HTTPStatus,
        detail: str,
        *,
        title: str = "",
        headers: Mapping[str, str] | None = None,
        more: Mapping[str, Any] | None = None,
        kind: str = "about:blank",  # then the status says it all
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.title = title or status.phrase
        self.headers = dict(headers or {})
        self.more = dict(more or {})
        self.kind = kind

    def response(self) -> Response[str]:
        body = {
            "type": self.kind,
            "title": self.title,
            "status": self.status.value,
            "detail": str(self),
            **self.more,
        }
        return Response(self.status.value, TYPE, text(body), self.headers)


def problem_of(error: Exception) -> ProblemError:
    """Map an error to a problem. Messages of AWS stay in the log."""
    match error:
        case ProblemError():
            return error
        case PatternNotReadyError():
            return ProblemError(
                HTTPStatus.SERVICE_UNAVAILABLE,
                str(error),
                title=NOT_READY,
                headers={"Retry-After": str(BUILD_SECONDS)},
            )
        case QueryError():
            return ProblemError(HTTPStatus.BAD_REQUEST, str(error))
        case ServiceError():
            return _problem_of_aws(error.code)
    return ProblemError(HTTPStatus.INTERNAL_SERVER_ERROR, INTERNAL)


def _problem_of_aws(code: str) -> ProblemError:
    if code == REFUSED:
        return ProblemError(HTTPStatus.BAD_REQUEST, REFUSAL)
    if _is_transient(code):
        headers = {"Retry-After": str(RETRY_SECONDS)}
        return ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, BUSY, headers=headers)
    return ProblemError(HTTPStatus.BAD_GATEWAY, BROKEN)


def _is_transient(code: str) -> bool:
    return code in {*THROTTLED, OUT_OF_TIME} or "Connect" in code or "Timeout" in code
