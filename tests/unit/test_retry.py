"""A failed call is retried if the same call can succeed later."""

import pytest

from adminview.aws.deadline import Deadline
from adminview.aws.retry import call_with_retry, is_transient
from adminview.model.errors import ServiceError
from tests.support.fakes import NO_WAIT, refusal

TRANSIENT = [
    refusal("TransactionConflictException"),
    refusal("ReplicatedWriteConflictException"),
    refusal("ThrottledException"),
    refusal("ProvisionedThroughputExceededException"),
    refusal("429", status=429),
    refusal("NewException", status=503),
]
PERMANENT = ["ValidationException", "ConditionalCheckFailedException", "AccessDeniedException"]


@pytest.mark.parametrize("error", TRANSIENT, ids=lambda error: error.response["Error"]["Code"])
def test_a_transient_error_is_retried(error: Exception) -> None:
    errors = [error]

    def call() -> str:
        if errors:
            raise errors.pop()
        return "done"

    assert call_with_retry(call, "call", NO_WAIT, Deadline.after(60)) == "done"


@pytest.mark.parametrize("code", PERMANENT)
def test_a_permanent_error_is_not_retried(code: str) -> None:
    calls = []

    def call() -> None:
        calls.append(code)
        raise refusal(code)

    assert not is_transient(refusal(code))
    with pytest.raises(ServiceError):
        call_with_retry(call, "call", NO_WAIT, Deadline.after(60))
    assert calls == [code]
