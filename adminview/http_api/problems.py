"""What is wrong, as `application/problem+json` (RFC 9457)."""

from collections.abc import Mapping
from http import HTTPStatus
from json import dumps
from typing import Any, Final

from aws_lambda_powertools.event_handler.api_gateway import Response

from adminview.aws.retry import OUT_OF_TIME, THROTTLED
from adminview.model.errors import AdminViewError, BeingBuiltError, QuestionError, ServiceError

TYPE: Final = "application/problem+json"
RETRY_SECONDS: Final = 5
BUILD_SECONDS: Final = 60  # to look again whether a question is built: it takes minutes to hours
BEING_BUILT: Final = "being built"
REFUSED: Final = "ValidationException"
BUSY: Final = "the view cannot be read at the moment; ask again later"
BROKEN: Final = "the view could not be read; the function's log says why"
INTERNAL: Final = "the answer could not be made; the function's log says why"
# What passes our own checks and not DynamoDB's.
REFUSAL: Final = (
    "DynamoDB refuses these parameters: with what the pattern adds to it, a value takes at most "
    "2048 bytes (1024 if rows are sorted by it), and a range goes from the lower to the higher"
)


class ProblemError(AdminViewError):
    """Say what is wrong with a request, or with what should answer it."""

    def __init__(
        self,
        status: HTTPStatus,
        detail: str,
        *,
        title: str = "",
        headers: Mapping[str, str] | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.title = title or status.phrase
        self.headers = dict(headers or {})
        self.more = dict(more or {})

    def response(self) -> Response[str]:
        """Write the problem down; its type is its status, so it needs no page of its own."""
        body = {
            "type": "about:blank",
            "title": self.title,
            "status": self.status.value,
            "detail": str(self),
            **self.more,
        }
        return Response(self.status.value, TYPE, dumps(body, ensure_ascii=False), self.headers)


def problem_of(error: Exception) -> ProblemError:
    """Tell whose doing an error is. What AWS said stays in the log."""
    match error:
        case ProblemError():
            return error
        case BeingBuiltError():
            return ProblemError(
                HTTPStatus.SERVICE_UNAVAILABLE,
                str(error),
                title=BEING_BUILT,
                headers={"Retry-After": str(BUILD_SECONDS)},
            )
        case QuestionError():
            return ProblemError(HTTPStatus.BAD_REQUEST, str(error))
        case ServiceError():
            return _problem_of_aws(error.code)
    return ProblemError(HTTPStatus.INTERNAL_SERVER_ERROR, INTERNAL)


def _problem_of_aws(code: str) -> ProblemError:
    if code == REFUSED:
        return ProblemError(HTTPStatus.BAD_REQUEST, REFUSAL)
    if _passes(code):
        headers = {"Retry-After": str(RETRY_SECONDS)}
        return ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, BUSY, headers=headers)
    return ProblemError(HTTPStatus.BAD_GATEWAY, BROKEN)


def _passes(code: str) -> bool:
    return code in {*THROTTLED, OUT_OF_TIME} or "Connect" in code or "Timeout" in code
