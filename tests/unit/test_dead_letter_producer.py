"""Letters reach the queue, or come back to be reported."""

from typing import Any, cast

import pytest

from adminview.aws.dead_letter_producer import CALL_LIMIT, DeadLetterProducer
from adminview.aws.deadline import Deadline
from adminview.model.dead_letter import OutgoingLetter
from tests.support.fakes import NETWORK_DOWN, NO_WAIT, FakeQueue, refusal


def letters(count: int, size: int = 10) -> list[OutgoingLetter]:
    return [OutgoingLetter(n, "Orders", f"{n}", "E", "r", f"{n}".ljust(size)) for n in range(count)]


def send(
    queue: FakeQueue, to_send: list[OutgoingLetter], seconds: float = 30
) -> list[OutgoingLetter]:
    post = DeadLetterProducer(cast("Any", queue), "queue", NO_WAIT)
    unsent, codes = post.send(to_send, deadline=Deadline.after(seconds))
    queue.said = codes
    return unsent


def test_letters_go_out_in_calls_of_ten() -> None:
    queue = FakeQueue()
    assert send(queue, letters(21)) == []
    assert (queue.calls, len(queue.bodies)) == (3, 21)


def test_large_letters_go_out_in_calls_that_sqs_takes() -> None:
    queue = FakeQueue()
    assert send(queue, letters(4, CALL_LIMIT // 2)) == []
    assert queue.calls == 2


def test_no_letters_make_no_call() -> None:
    queue = FakeQueue()
    assert send(queue, []) == []
    assert queue.calls == 0


def test_letters_the_queue_fails_to_take_are_sent_again_and_only_those() -> None:
    queue = FakeQueue([{"1", "2"}, NETWORK_DOWN, {"0"}])
    assert send(queue, letters(3)) == []
    assert sorted(body.strip() for body in queue.bodies) == ["0", "1", "2"]
    assert queue.calls == 4


@pytest.mark.parametrize("code", ["AccessDenied", "AWS.SimpleQueueService.NonExistentQueue"])
def test_letters_a_queue_refuses_for_good_come_back_at_once(code: str) -> None:
    queue = FakeQueue([refusal(code, "SendMessageBatch")])
    assert send(queue, letters(3)) == letters(3)
    assert queue.calls == 1
    assert queue.said == {code}


def test_letters_that_are_not_in_by_the_deadline_come_back() -> None:
    assert send(FakeQueue(), letters(3), seconds=-1) == letters(3)


def test_a_refused_call_does_not_keep_the_other_letters_back() -> None:
    queue = FakeQueue([refusal("AccessDenied", "SendMessageBatch")])
    assert [letter.position for letter in send(queue, letters(15))] == list(range(10))
    assert len(queue.bodies) == 5
