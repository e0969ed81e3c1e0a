"""Letters are read back as they were written, and nothing else passes for one."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adminview.dead_letters.parse import BatchLetter, RecordLetter, open_letter, tried_again
from adminview.model.errors import MovingItemError, UnknownLetterError, ViewError
from adminview.sync.dead_letter import dead_letter, identify
from tests.support.dead_letter_queue import batch_facts, errand, facts, lambdas_own, ours, things
from tests.support.stream_records import AT, STREAM, record

MOVED = MovingItemError("the item changed 10 times")
WITHIN_A_MINUTE = 1_790_000_000.0


def opened(body: str) -> RecordLetter:
    letter = open_letter(body)
    assert isinstance(letter, RecordLetter)
    return letter


def opened_batch(body: str) -> BatchLetter:
    letter = open_letter(body)
    assert isinstance(letter, BatchLetter)
    return letter


def test_our_letter_names_its_item_the_rows_and_the_error() -> None:
    letter = opened(ours("a", "X", "Y"))
    assert (letter.source, letter.table) == ("Things", "Things")
    assert letter.key == {"id": {"S": "a"}}
    assert letter.rows == {("THING#a", "X"), ("THING#a", "Y")}
    assert (letter.error, letter.reason) == ("ViewError", "the view raised LookupError")
    assert (letter.at, letter.attempts) == (AT, 0)


def test_what_the_sync_writes_can_be_read() -> None:
    unreadable = record(things, None, {"id": "a", "parts": []})
    identity = identify(unreadable, None, "model-1")
    written = dead_letter(0, identity, ViewError(LookupError()), [("PK", "SK")])
    letter = opened(written.body)
    assert (letter.source, letter.at) == (None, None)
    assert (letter.table, letter.key) == ("Things", {"id": {"S": "a"}})
    assert letter.rows == {("PK", "SK")}


def test_a_letter_about_a_record_that_names_no_item_is_not_understood() -> None:
    written = dead_letter(0, identify({}, None, "model-1"), ViewError(LookupError()), ())
    with pytest.raises(UnknownLetterError):
        open_letter(written.body)


def test_a_letter_that_was_tried_tells_the_newest_error_and_keeps_the_first() -> None:
    once = opened(tried_again(opened(ours()), MOVED, WITHIN_A_MINUTE))
    assert (once.error, once.reason) == ("MovingItemError", str(MOVED))
    assert once.facts["error"]["kind"] == "ViewError"
    assert once.facts["attempts"]["at"] == "2026-09-21T14:13:20+00:00"
    twice = opened(tried_again(once, ViewError(LookupError()), WITHIN_A_MINUTE))
    assert (twice.error, twice.attempts) == ("ViewError", 2)
    assert twice.key == once.key


def test_lambdas_letter_names_its_stretch_and_when_its_records_came() -> None:
    letter = opened_batch(lambdas_own(5, 9))
    assert letter.stretch.stream_arn == STREAM.format("Things")
    assert letter.stretch.shard_id.startswith("shardId-")
    assert (int(letter.stretch.first), int(letter.stretch.last)) == (5, 9)
    assert (letter.table, letter.source, letter.count) == ("Things", None, 5)
    assert (letter.begin, letter.end) == ("2026-09-21T14:13:20Z", "2026-09-21T14:14:20Z")
    assert letter.at == AT
    assert letter.error == "RetryAttemptsExhausted"
    assert letter.reason == "Lambda gave up on 5 records: RetryAttemptsExhausted"


@pytest.mark.parametrize("missing", ["responseContext", "version", "timestamp", "requestContext"])
def test_lambdas_letter_needs_no_more_than_its_stretch(missing: str) -> None:
    given_up = batch_facts()
    del given_up[missing]
    letter = opened_batch(json.dumps(given_up))
    expected = "Unknown" if missing == "requestContext" else "RetryAttemptsExhausted"
    assert (letter.error, letter.count) == (expected, 2)


def test_lambdas_letter_that_was_tried_is_still_lambdas() -> None:
    letter = opened_batch(lambdas_own())
    again = opened_batch(tried_again(letter, MOVED, WITHIN_A_MINUTE))
    assert (again.error, again.attempts) == ("MovingItemError", 1)
    assert again.stretch == letter.stretch


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("", "it is not JSON"),
        ("[" * 100_000, "it is not JSON"),
        ("[]", "it is neither 'adminview.letter/1' nor one of Lambda's letters"),
        ('{"kind": "adminview.letter/2"}', "it is neither"),
        ('{"kind": ["adminview.letter/1"]}', "it is neither"),
        ('{"kind": "adminview.letter/1"}', "it lacks something that such a letter has: KeyError"),
        ('{"DDBStreamBatchInfo": null}', "it lacks something that such a letter has: TypeError"),
        (lambdas_own(startSequenceNumber="-1"), "it lacks something"),
        (lambdas_own(endSequenceNumber=1.5), "it lacks something"),
        (lambdas_own(batchSize="many"), "it lacks something"),
        (lambdas_own(streamArn="arn:aws:kinesis:us-east-1:1:stream/s"), "UnreadableRecordError"),
        (lambdas_own(approximateArrivalOfFirstRecord="yesterday"), "it lacks something"),
        (ours(key=["a"]), "it lacks something"),
        (ours(key=None), "it lacks something"),
        (ours(table=5), "it lacks something"),
        (ours(rows=[["PK"]]), "it lacks something"),
        (ours(rows=None), "it lacks something"),
        (ours(error="ViewError"), "it lacks something"),
        (ours(attempts=None), "it lacks something"),
    ],
)
def test_anything_else_is_not_understood_and_it_says_why(body: str, why: str) -> None:
    with pytest.raises(UnknownLetterError, match=why.replace("[", r"\[")):
        open_letter(body)


def test_why_it_is_not_understood_quotes_nothing_of_it() -> None:
    for body in (
        "secret",
        '{"kind": "secret"}',
        ours(key="secret"),
        lambdas_own(batchSize="secret"),
    ):
        with pytest.raises(UnknownLetterError) as caught:
            open_letter(body)
        assert "secret" not in str(caught.value)


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
json_values = st.recursive(
    scalars, lambda deeper: st.lists(deeper) | st.dictionaries(st.text(max_size=5), deeper)
)


@given(st.text())
def test_no_text_passes_for_a_letter(body: str) -> None:
    with pytest.raises(UnknownLetterError):
        open_letter(body)


@given(json_values)
def test_no_other_json_passes_for_a_letter(value: Any) -> None:
    with pytest.raises(UnknownLetterError):
        open_letter(json.dumps(value))


@given(st.sets(st.sampled_from(sorted(facts()))))
def test_our_letter_with_parts_missing_is_whole_enough_or_not_understood(missing: set[str]) -> None:
    body = json.dumps({name: value for name, value in facts().items() if name not in missing})
    if missing <= {"event", "sequence", "stream", "model", "owner"}:
        assert errand(body).about == "Things/a"
    else:
        with pytest.raises(UnknownLetterError):
            open_letter(body)


@given(st.sampled_from(sorted(batch_facts()["DDBStreamBatchInfo"])))
def test_lambdas_letter_with_any_part_of_its_stretch_missing_is_not_understood(name: str) -> None:
    body = batch_facts()
    del body["DDBStreamBatchInfo"][name]
    with pytest.raises(UnknownLetterError):
        open_letter(json.dumps(body))
