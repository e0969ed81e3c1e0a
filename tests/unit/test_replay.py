"""A replay reconciles the items of dead letters, and loses none of them."""

from dataclasses import replace

import pytest

from adminview.aws.deadline import Deadline
from adminview.dead_letters.letter_filter import LetterFilter
from adminview.dead_letters.replay import ROUND
from adminview.dead_letters.replay_summary import LetterOutcome, Summary
from adminview.model.dead_letter import from_json
from adminview.model.delivery import RETENTION_SECONDS
from adminview.model.errors import (
    ExpiredRecordsError,
    MovingItemError,
    ServiceError,
    ViewError,
)
from adminview.reconcile.reconciler import Reconciled
from tests.support.dead_letter_queue import HIDDEN_SECONDS, Lab, lambdas_own, letter_body, things
from tests.support.fakes import refusal
from tests.support.stream_records import record

POISON = ViewError(LookupError("quoting customer data"))
REFUSED = ServiceError("AccessDeniedException", "read an item of Things")


@pytest.fixture
def lab() -> Lab:
    """Begin with an empty queue."""
    return Lab()


def outcomes(summary: Summary) -> dict[LetterOutcome, int]:
    return {outcome: count for outcome, count in summary.outcomes.items() if count}


def test_an_empty_queue_is_no_work(lab: Lab) -> None:
    assert lab.replay() == Summary()
    assert lab.log == []


def test_a_dead_letter_is_deleted_after_its_reconcile_and_not_before(lab: Lab) -> None:
    lab.sqs.add(letter_body("a"))
    summary = lab.replay()
    assert lab.log == ["reconcile Things/a", "delete m-1"]
    assert outcomes(summary) == {LetterOutcome.RECONCILED: 1}
    assert summary.reasons == {}


def test_a_dead_letter_whose_rows_were_right_is_deleted_and_counted_separately(lab: Lab) -> None:
    lab.sqs.add(letter_body("a"))
    lab.reconciler.results["Things/a"] = Reconciled()
    assert outcomes(lab.replay()) == {LetterOutcome.UNCHANGED: 1}
    assert lab.letters() == []


def test_many_dead_letters_for_one_item_are_one_reconcile_that_knows_all_their_rows(
    lab: Lab,
) -> None:
    lab.sqs.add(*(letter_body("a", f"ROW#{number}") for number in range(12)), letter_body("b", "X"))
    summary = lab.replay()
    assert sorted(lab.log[:2]) == ["reconcile Things/a", "reconcile Things/b"]
    assert lab.log.count("reconcile Things/a") == 1
    assert lab.reconciler.rows["Things/a"] == {("THING#a", f"ROW#{n}") for n in range(12)}
    assert lab.reconciler.rows["Things/b"] == {("THING#b", "X")}
    assert (summary.items, summary.outcomes.total()) == (2, 13)
    assert lab.letters() == []


def test_a_failing_dead_letter_is_sent_again_before_the_old_one_is_deleted(lab: Lab) -> None:
    lab.sqs.add(letter_body("a", "X"))
    lab.fail("a", POISON)
    summary = lab.replay()
    assert lab.log == ["reconcile Things/a", "send", "delete m-1"]
    assert outcomes(summary) == {LetterOutcome.FAILING: 1}
    (letter,) = lab.letters()
    assert letter["rows"] == [["THING#a", "X"]]
    assert letter["attempts"]["count"] == 1
    assert letter["attempts"]["error"]["kind"] == "ViewError"
    assert lab.sqs.delays == [HIDDEN_SECONDS]


def test_a_dead_letter_that_fails_again_counts_on_and_keeps_its_first_error(lab: Lab) -> None:
    lab.sqs.add(letter_body("a"))
    lab.fail("a", POISON)
    lab.replay()
    lab.sqs.now += HIDDEN_SECONDS
    lab.fail("a", MovingItemError("the item changed 10 times"))
    lab.replay()
    (letter,) = lab.letters()
    assert letter["attempts"]["count"] == 2
    assert letter["attempts"]["error"]["kind"] == "MovingItemError"
    assert letter["error"]["kind"] == "ViewError"


def test_the_old_dead_letter_stays_when_the_queue_refuses_the_new_one(lab: Lab) -> None:
    lab.sqs.add(letter_body("a"))
    lab.fail("a", POISON)
    lab.sqs.faults["send"] = [refusal("AccessDenied", "SendMessageBatch")]
    assert outcomes(lab.replay()) == {LetterOutcome.FAILING: 1}
    assert lab.log == ["reconcile Things/a"]
    assert [*lab.sqs.bodies] == ["m-1"]


def test_a_dead_letter_that_fails_harms_no_other(lab: Lab) -> None:
    lab.sqs.add(letter_body("a"), letter_body("b"), letter_body("c"))
    lab.fail("b", POISON)
    assert outcomes(lab.replay()) == {LetterOutcome.RECONCILED: 2, LetterOutcome.FAILING: 1}
    (letter,) = lab.letters()
    assert letter["owner"] == "Things/b"


def test_a_dead_letter_that_met_an_aws_failure_stays_unchanged_and_invisible(lab: Lab) -> None:
    lab.sqs.add(letter_body("a"))
    lab.fail("a", REFUSED)
    summary = lab.replay()
    assert lab.log == ["reconcile Things/a"]
    assert outcomes(summary) == {LetterOutcome.LEFT: 1}
    assert lab.sqs.hidden() == {"m-1"}
    assert [*summary.reasons] == [f"ServiceError: {REFUSED}"]


@pytest.mark.parametrize(
    "body", ["", "null", "hello", '{"kind": "another"}', letter_body(table=None, source=None)]
)
def test_a_message_that_is_not_understood_is_reported_and_stays(lab: Lab, body: str) -> None:
    lab.sqs.add(body, letter_body("a"))
    summary = lab.replay()
    assert lab.log == ["reconcile Things/a", "delete m-2", "put back m-1"]
    assert outcomes(summary) == {LetterOutcome.UNKNOWN: 1, LetterOutcome.RECONCILED: 1}
    assert lab.sqs.bodies == {"m-1": body}
    assert lab.sqs.hidden() == set()


def test_a_dead_letter_of_a_source_that_is_no_longer_declared_stays(lab: Lab) -> None:
    lab.sqs.add(letter_body(source="Gone", table="gone-table"))
    summary = lab.replay()
    assert outcomes(summary) == {LetterOutcome.UNKNOWN: 1}
    assert "no view file declares a source for table 'gone-table'" in next(iter(summary.reasons))


def test_a_dead_letter_of_a_source_that_has_moved_to_another_table_is_understood(lab: Lab) -> None:
    lab.sqs.add(letter_body(table="things-of-old"))
    assert outcomes(lab.replay()) == {LetterOutcome.RECONCILED: 1}


def test_dead_letters_that_do_not_match_are_released_and_not_counted(lab: Lab) -> None:
    lab.sqs.add(letter_body("a"), letter_body("b"), "no letter")
    summary = lab.replay(LetterFilter(key="b"))
    assert lab.log == ["reconcile Things/b", "delete m-2", "put back m-1", "put back m-3"]
    assert outcomes(summary) == {LetterOutcome.RECONCILED: 1}
    assert lab.sqs.hidden() == set()


def test_dead_letters_are_released_even_if_the_run_breaks(lab: Lab) -> None:
    lab.sqs.add("no letter", letter_body("a"))
    lab.sqs.faults["delete"] = [refusal("AccessDenied", "DeleteMessageBatch")]
    with pytest.raises(ServiceError, match="delete dead letters"):
        lab.replay()
    assert lab.log == ["reconcile Things/a", "put back m-1"]


def test_what_lambda_gave_up_on_is_reconciled_item_by_item(lab: Lab) -> None:
    was, now = {"id": "a", "parts": ["X"]}, {"id": "a", "parts": ["Y"]}
    unreadable = {"id": "b", "parts": 5}
    lab.streams.records = [record(things, was, now), record(things, None, unreadable)]
    lab.sqs.add(lambdas_own())
    summary = lab.replay()
    assert lab.reconciler.rows == {
        "Things/a": {("THING#a", "X"), ("THING#a", "Y")},
        "Things/b": frozenset(),
    }
    assert (outcomes(summary), summary.items) == ({LetterOutcome.RECONCILED: 1}, 2)
    assert lab.letters() == []


def test_records_of_lambdas_dead_letter_that_still_fail_become_dead_letters_of_our_own(
    lab: Lab,
) -> None:
    lab.streams.records = [record(things, None, {"id": id_, "parts": ["X"]}) for id_ in "abcb"]
    lab.sqs.add(lambdas_own(1, 4))
    lab.fail("b", POISON)
    assert outcomes(lab.replay()) == {LetterOutcome.FAILING: 1}
    assert lab.log[-2:] == ["send", "delete m-1"]
    (letter,) = lab.letters()
    assert (letter["kind"], letter["owner"]) == ("adminview.letter/1", "Things/b")
    assert letter["rows"] == [["THING#b", "X"]]
    lab.sqs.now += HIDDEN_SECONDS
    lab.reconciler.results.clear()
    assert outcomes(lab.replay()) == {LetterOutcome.RECONCILED: 1}


def test_a_record_of_lambdas_dead_letter_that_cannot_be_read_becomes_a_dead_letter(
    lab: Lab,
) -> None:
    broken = record(things, None, {"id": "a", "parts": []})
    del broken["dynamodb"]["NewImage"]
    lab.streams.records = [broken, record(things, None, {"id": "b", "parts": []})]
    lab.sqs.add(lambdas_own())
    lab.replay()
    (letter,) = lab.letters()
    assert letter["error"]["kind"] == "UnreadableRecordError"
    assert letter["key"] == {"id": {"S": "a"}}
    assert "reconcile Things/b" in lab.log


def test_lambdas_dead_letter_stays_when_not_all_of_its_items_could_be_reconciled(lab: Lab) -> None:
    lab.streams.records = [record(things, None, {"id": id_, "parts": []}) for id_ in "ab"]
    lab.sqs.add(lambdas_own())
    lab.fail("a", POISON)
    lab.fail("b", REFUSED)
    assert outcomes(lab.replay()) == {LetterOutcome.LEFT: 1}
    assert [*lab.sqs.bodies] == ["m-1"]
    assert "send" not in lab.log


def test_items_of_lambdas_dead_letter_are_named_before_the_stream_drops_their_records(
    lab: Lab,
) -> None:
    """Otherwise only a comparison of the whole source would find them."""
    lab.streams.records = [record(things, None, {"id": id_, "parts": []}) for id_ in "abc"]
    lab.sqs.add(lambdas_own())
    lab.fail("a", POISON)
    lab.fail("b", REFUSED)
    changed_at = from_json(lambdas_own()).at
    assert changed_at
    lab.sqs.now = changed_at + RETENTION_SECONDS - 75 * 60
    assert outcomes(lab.replay()) == {LetterOutcome.LEFT: 1}
    lab.sqs.now = changed_at + RETENTION_SECONDS - 59 * 60
    assert outcomes(lab.replay()) == {LetterOutcome.FAILING: 1}
    letters = {letter["owner"]: letter["error"]["kind"] for letter in lab.letters()}
    assert letters == {"Things/a": "ViewError", "Things/b": "ServiceError"}
    assert lab.log[-2:] == ["send", "delete m-1"]


def test_lambdas_dead_letter_stays_while_the_stream_cannot_be_read(lab: Lab) -> None:
    lab.streams.records = [record(things, None, {"id": "a", "parts": []})]
    lab.streams.error = ServiceError("AccessDeniedException", "read the stream again")
    lab.sqs.add(lambdas_own())
    assert outcomes(lab.replay()) == {LetterOutcome.LEFT: 1}
    assert lab.log == []


def test_a_dead_letter_whose_records_have_expired_names_the_command_to_run(lab: Lab) -> None:
    lab.streams.records = [record(things, None, {"id": "a", "parts": []})]
    lab.streams.error = ExpiredRecordsError("gone")
    lab.sqs.add(lambdas_own())
    summary = lab.replay()
    assert outcomes(summary) == {LetterOutcome.EXPIRED: 1}
    assert lab.log == ["send", "delete m-1"]
    (letter,) = lab.letters()
    reason = letter["attempts"]["error"]["reason"]
    assert "from 2026-09-21T14:13:20Z to 2026-09-21T14:14:20Z" in reason
    assert "adminview verify --source Things --repair" in reason
    assert letter["DDBStreamBatchInfo"]["batchSize"] == 2
    assert [*summary.reasons] == [f"ExpiredRecordsError: {reason}"]


@pytest.mark.parametrize("body", [letter_body("a"), lambdas_own()])
def test_what_failed_is_not_tried_twice_in_one_run(lab: Lab, body: str) -> None:
    lab.retry_seconds = 0
    lab.sqs.add(body)
    lab.fail("a", POISON)
    lab.streams.error = ExpiredRecordsError("gone")
    assert lab.replay().outcomes.total() == 1
    (letter,) = lab.letters()
    assert letter["attempts"]["count"] == 1
    assert lab.sqs.hidden() == {"m-2"}, "it is invisible"


def test_more_dead_letters_than_a_round_holds_are_all_replayed(lab: Lab) -> None:
    lab.sqs.add(*(letter_body(f"i{number}") for number in range(ROUND + 15)))
    assert lab.replay().outcomes == {LetterOutcome.RECONCILED: ROUND + 15}
    assert lab.letters() == []


def test_nothing_is_begun_after_the_deadline(lab: Lab) -> None:
    lab.sqs.add(letter_body("a"))
    assert lab.replay(deadline=Deadline.after(-1)) == Summary(complete=False)
    assert lab.sqs.requests == []


def test_a_run_stops_at_the_deadline_with_its_dead_letters_settled(lab: Lab) -> None:
    lab.sqs.add(*(letter_body(f"i{number}") for number in range(ROUND + 50)))
    clock = iter([0.0] * 1000)
    deadline = Deadline(1.0, lambda: 2.0 if "delete m-1" in lab.log else next(clock))
    assert lab.replay(deadline=deadline).outcomes == {LetterOutcome.RECONCILED: ROUND}
    assert len(lab.letters()) == 50
    assert lab.sqs.hidden() == set()


def test_two_replays_of_the_same_dead_letter_are_harmless(lab: Lab) -> None:
    lab.sqs.add(letter_body("a"))
    first = lab.replayer
    taken = first.take_round(Deadline.after(60))
    lab.sqs.now += HIDDEN_SECONDS  # so slow that the dead letter is shown to another
    assert outcomes(lab.replay()) == {LetterOutcome.RECONCILED: 1}
    lab.reconciler.results["Things/a"] = Reconciled()
    consumer = first.consumer
    consumer.delete(taken, deadline=Deadline.after(60))
    consumer.put_back(taken, deadline=Deadline.after(60))
    assert outcomes(lab.replay()) == {}
    assert lab.letters() == []


def test_two_replays_share_the_dead_letters_between_them(lab: Lab) -> None:
    lab.sqs.add(letter_body("a"), *(letter_body(f"i{number}") for number in range(10)))
    other = lab.replayer.consumer.take(deadline=Deadline.after(60))
    assert len(other) == 10
    assert outcomes(lab.replay()) == {LetterOutcome.RECONCILED: 1}
    assert len(lab.letters()) == 10


def test_a_dead_letter_that_is_delivered_twice_is_counted_once(lab: Lab) -> None:
    lab.sqs.add(letter_body("a"), "no letter")
    receive = lab.sqs.receive_message
    answers = [receive(QueueUrl="queue", MaxNumberOfMessages=10, VisibilityTimeout=0)] * 2
    lab.sqs.receive_message = lambda **request: answers.pop() if answers else receive(**request)  # type: ignore[method-assign]
    summary = lab.replay()
    assert outcomes(summary) == {LetterOutcome.RECONCILED: 1, LetterOutcome.UNKNOWN: 1}
    assert lab.log.count("reconcile Things/a") == 1
    assert lab.log.count("put back m-2") == 1


def test_dead_letters_that_are_delivered_again_and_again_end_the_run(lab: Lab) -> None:
    lab.sqs.add("no letter")
    receive = lab.sqs.receive_message
    lab.sqs.receive_message = lambda **request: receive(**request | {"VisibilityTimeout": 0})  # type: ignore[method-assign]
    summary = lab.replay()
    assert summary.outcomes == {LetterOutcome.UNKNOWN: 1}


def test_a_queue_that_is_gone_is_an_error(lab: Lab) -> None:
    gone = "AWS.SimpleQueueService.NonExistentQueue"
    lab.sqs.faults["receive"] = [refusal(gone, "ReceiveMessage")]
    with pytest.raises(ServiceError, match=gone):
        lab.replay()


def test_a_summary_adds_up_and_holds_no_data(lab: Lab) -> None:
    lab.sqs.add(
        letter_body("secret-a"),
        letter_body("secret-b"),
        letter_body("secret-c"),
        letter_body("d"),
        "secret {",
    )
    lab.fail("secret-a", POISON)
    lab.fail("secret-b", REFUSED)
    lab.reconciler.results["Things/secret-c"] = Reconciled(put=2, deleted=3)
    reported: list[tuple[LetterOutcome, str]] = []
    summary = lab.replay(report_error=lambda _, outcome, why: reported.append((outcome, why)))
    assert summary.outcomes.total() == len(reported) == 5
    assert summary.reasons.total() == 3, "one for each letter that is still there"
    assert (summary.items, summary.rows_put, summary.rows_deleted) == (2, 3, 3)
    assert "secret" not in str(summary.as_dict())
    assert summary.as_dict()["outcomes"] == {
        "reconciled": 2,
        "unchanged": 0,
        "still_failing": 1,
        "expired": 0,
        "not_understood": 1,
        "left_for_later": 1,
    }


def test_the_age_of_a_dead_letter_is_computed_with_the_injected_clock(lab: Lab) -> None:
    lab.sqs.add(letter_body("a"))
    assert outcomes(lab.replay(LetterFilter(older_than=1001))) == {}
    by = replace(lab.replayer, now=lambda: lab.sqs.now + 2)
    soon = Deadline.after(60)
    assert outcomes(by.replay(LetterFilter(older_than=1001), deadline=soon, end=soon)) == {
        LetterOutcome.RECONCILED: 1
    }
