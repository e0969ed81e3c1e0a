"""An update of a source item is retried only while a retry can succeed."""

from typing import Any

import pytest

from adminview.aws.deadline import Deadline
from adminview.aws.source_updates import SourceUpdates
from adminview.model.errors import MigrationError, ServiceError
from adminview.model.migration import Update
from tests.support.fakes import NETWORK_DOWN, NO_WAIT, refusal

UPDATE = Update({"id": {"B": "AP8="}}, {"photo": {"B": "AQ=="}}, {})


class FakeTable:
    """A client with scripted responses."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.requests: list[Any] = []

    def update_item(self, **request: Any) -> Any:
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def write(table: Any) -> bool:
    return SourceUpdates(table, NO_WAIT).write("Things", UPDATE, deadline=Deadline.after(60))


def test_an_update_is_sent_as_boto3_wants_it() -> None:
    table = FakeTable({})
    assert write(table)
    (request,) = table.requests
    assert request["TableName"] == "Things"
    assert request["Key"] == {"id": {"B": b"\x00\xff"}}
    assert request["ExpressionAttributeValues"] == {":s0": {"B": b"\x01"}}


def test_trouble_that_passes_is_sat_out() -> None:
    throttled = refusal("ProvisionedThroughputExceededException", "UpdateItem")
    assert write(FakeTable(throttled, NETWORK_DOWN, {}))


def test_an_item_that_is_another_by_now_is_no_error() -> None:
    assert not write(FakeTable(refusal("ConditionalCheckFailedException", "UpdateItem")))


def test_what_dynamodb_will_never_take_is_the_items_fault_and_tried_once() -> None:
    table = FakeTable(refusal("ValidationException", "UpdateItem"))
    with pytest.raises(MigrationError, match="refused the update of an item: ValidationException"):
        write(table)


def test_a_missing_permission_to_write_is_reported() -> None:
    with pytest.raises(ServiceError, match="update an item of Things: AWS answered AccessDenied"):
        write(FakeTable(refusal("AccessDeniedException", "UpdateItem")))
