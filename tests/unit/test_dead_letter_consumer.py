"""Dead letters are received, deleted and made visible again, ten per call, until the deadline."""

from typing import Any, cast

import pytest

from adminview.aws.boto3_clients import sqs_client
from adminview.aws.dead_letter_consumer import DeadLetterConsumer, Message, Waiting
from adminview.aws.deadline import Deadline
from adminview.model.errors import ServiceError
from tests.support.dead_letter_queue import FakeSqs, message
from tests.support.fakes import NETWORK_DOWN, NO_WAIT, refusal
from tests.support.faulty_server import Faulty, answer
from tests.support.stream_records import AT

THROTTLED = refusal("RequestThrottled", "ReceiveMessage")


def soon() -> Deadline:
    return Deadline.after(60)


def consumer(sqs: Any) -> DeadLetterConsumer:
    return DeadLetterConsumer(cast("Any", sqs), "queue", NO_WAIT)


@pytest.fixture
def sqs() -> FakeSqs:
    """Begin with two dead letters."""
    queue = FakeSqs()
    queue.add("one", "two")
    return queue


def test_dead_letters_are_received_with_their_attributes_of_sqs(sqs: FakeSqs) -> None:
    first, two = consumer(sqs).take(deadline=soon())
    assert first == Message("m-1", "m-1/1", "one", AT + 0.5, 2)
    assert two.body == "two"
    assert sqs.requests[0]["WaitTimeSeconds"] == 1, "or not all servers are asked"


def test_at_most_ten_dead_letters_are_received_at_once_and_hidden_from_others(sqs: FakeSqs) -> None:
    sqs.add(*map(str, range(10)))
    assert len(consumer(sqs).take(deadline=soon())) == 10
    assert len(consumer(sqs).take(deadline=soon())) == 2
    assert consumer(sqs).take(deadline=soon()) == []


def test_dead_letters_are_invisible_for_the_time_of_the_queue_or_of_the_call(sqs: FakeSqs) -> None:
    consumer(sqs).take(deadline=soon())
    assert "VisibilityTimeout" not in sqs.requests[0]
    consumer(sqs).take(deadline=soon(), hide_seconds=0)
    assert sqs.requests[1]["VisibilityTimeout"] == 0


@pytest.mark.parametrize("content", ["{}", '{"Attributes": null}', "<html>", ""])
def test_a_count_without_attributes_counts_as_no_answer(
    content: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Faulty([answer(200, content)] * 100) as server:
        for name, value in {
            "AWS_ENDPOINT_URL_SQS": server.url,
            "AWS_DEFAULT_REGION": "eu-west-1",
            "AWS_ACCESS_KEY_ID": "access",
            "AWS_SECRET_ACCESS_KEY": "secret",
        }.items():
            monkeypatch.setenv(name, value)
        times = iter(range(100))
        deadline = Deadline(5.0, lambda: float(next(times)))
        with pytest.raises(ServiceError, match="no answer from AWS"):
            DeadLetterConsumer(sqs_client(), server.url, NO_WAIT).count(deadline=deadline)


def test_a_message_without_attributes_can_be_taken_up() -> None:
    class Bare:
        """A queue that tells no more than it must."""

        def receive_message(self, **_: Any) -> Any:
            return {"Messages": [{"MessageId": "m", "ReceiptHandle": "r", "Body": ""}]}

    assert consumer(Bare()).take(deadline=soon()) == [Message("m", "r", "", 0, 1)]


def test_throttling_and_the_network_are_waited_out(sqs: FakeSqs) -> None:
    sqs.faults["receive"] = [THROTTLED, NETWORK_DOWN]
    assert len(consumer(sqs).take(deadline=soon())) == 2
    assert len(sqs.requests) == 3


def test_a_refusal_is_raised_at_once(sqs: FakeSqs) -> None:
    sqs.faults["receive"] = [refusal("AccessDenied", "ReceiveMessage")]
    with pytest.raises(
        ServiceError, match="receive dead letters from queue: AWS answered AccessDenied"
    ):
        consumer(sqs).take(deadline=soon())
    assert len(sqs.requests) == 1


def test_throttling_is_not_waited_out_past_the_deadline(sqs: FakeSqs) -> None:
    sqs.faults["delete"] = [THROTTLED] * 5
    deadline = Deadline(3, lambda: len(sqs.requests))
    with pytest.raises(ServiceError, match="of queue: AWS answered RequestThrottled"):
        consumer(sqs).delete([message("one")], deadline=deadline)
    assert len(sqs.requests) == 3
    assert len(sqs.bodies) == 2


def test_no_call_is_made_after_the_deadline(sqs: FakeSqs) -> None:
    with pytest.raises(ServiceError, match="OutOfTime"):
        consumer(sqs).take(deadline=Deadline.after(-1))
    assert sqs.requests == []


def test_dead_letters_are_deleted_in_tens(sqs: FakeSqs) -> None:
    consumer(sqs).delete([message("", f"m-{number}") for number in range(21)], deadline=soon())
    assert [len(call["Entries"]) for call in sqs.requests] == [10, 10, 1]
    assert sqs.bodies == {}


def test_dead_letters_are_made_visible_again_in_tens(sqs: FakeSqs) -> None:
    sqs.add(*map(str, range(9)))
    box = consumer(sqs)
    taken = box.take(deadline=soon()) + box.take(deadline=soon())
    assert len(sqs.hidden()) == 11
    box.put_back(taken, deadline=soon())
    assert [len(call["Entries"]) for call in sqs.requests[2:]] == [10, 1]
    assert sqs.hidden() == set()


def test_no_dead_letters_make_no_call(sqs: FakeSqs) -> None:
    consumer(sqs).delete([], deadline=Deadline.after(-1))
    consumer(sqs).put_back([], deadline=Deadline.after(-1))
    assert sqs.requests == []


def test_dead_letters_are_counted_by_where_they_are() -> None:
    class Counted:
        """A queue that counts."""

        def get_queue_attributes(self, **_: Any) -> Any:
            name = "ApproximateNumberOfMessages"
            counts = {name: "1", f"{name}NotVisible": "2", f"{name}Delayed": "3"}
            return {"Attributes": counts}

    counted = consumer(Counted()).count(deadline=soon())
    assert counted == Waiting(ready=1, taken=2, delayed=3)
    assert counted.invisible == 5
