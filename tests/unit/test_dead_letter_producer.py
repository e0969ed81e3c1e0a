"""Dead letters reach the queue, or are returned as unsent."""

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
    queue.codes = codes
    return unsent


def test_dead_letters_go_out_in_calls_of_ten() -> None:
    queue = FakeQueue()
    assert send(queue, letters(21)) == []
    assert (queue.calls, len(queue.bodies)) == (3, 21)


def test_large_dead_letters_go_out_in_calls_that_sqs_takes() -> None:
    queue = FakeQueue()
    assert send(queue, letters(4, CALL_LIMIT // 2)) == []
    assert queue.calls == 2


def test_no_dead_letters_make_no_call() -> None:
    queue = FakeQueue()
    assert send(queue, []) == []
    assert queue.calls == 0


def test_only_dead_letters_that_the_queue_failed_to_take_are_sent_again() -> None:
    queue = FakeQueue([{"1", "2"}, NETWORK_DOWN, {"0"}])
    assert send(queue, letters(3)) == []
    assert sorted(body.strip() for body in queue.bodies) == ["0", "1", "2"]
    assert queue.calls == 4


@pytest.mark.parametrize("code", ["AccessDenied", "AWS.SimpleQueueService.NonExistentQueue"])
def test_dead_letters_that_a_queue_refuses_for_good_are_returned_at_once(code: str) -> None:
    queue = FakeQueue([refusal(code, "SendMessageBatch")])
    assert send(queue, letters(3)) == letters(3)
    assert queue.calls == 1
    assert queue.codes == {code}


def test_dead_letters_that_are_not_sent_by_the_deadline_are_returned() -> None:
    assert send(FakeQueue(), letters(3), seconds=-1) == letters(3)


def test_a_refused_call_does_not_hold_up_the_other_dead_letters() -> None:
    queue = FakeQueue([refusal("AccessDenied", "SendMessageBatch")])
    assert [letter.position for letter in send(queue, letters(15))] == list(range(10))
    assert len(queue.bodies) == 5
