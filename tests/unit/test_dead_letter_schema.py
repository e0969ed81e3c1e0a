"""Dead letters are read as they were written; other messages are rejected."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adminview.model.dead_letter import (
    MAX_ATTEMPTS,
    Attempts,
    BatchLetter,
    ErrorSummary,
    InDoubtLetter,
    ItemOrigin,
    RecordLetter,
    TouchedItem,
    from_json,
    on_failure_message,
    retried,
)
from adminview.model.errors import MovingItemError, UnknownLetterError, ViewError
from adminview.model.source import TABLE_NAME
from adminview.model.stream import FAR_FUTURE, SequenceRange
from adminview.sync.dead_letter import dead_letter, identify
from adminview.sync.decode import sequence_of
from tests.support.dead_letter_queue import (
    batch_facts,
    facts,
    lambdas_own,
    letter_body,
    resolved,
    things,
)
from tests.support.stream_records import AT, STREAM, record

MOVED = MovingItemError("the item changed 10 times")
WITHIN_A_MINUTE = 1_790_000_000.0


def opened(body: str) -> RecordLetter:
    letter = from_json(body)
    assert isinstance(letter, RecordLetter)
    return letter


def opened_batch(body: str) -> BatchLetter:
    letter = from_json(body)
    assert isinstance(letter, BatchLetter)
    return letter


def test_our_dead_letter_names_its_item_the_rows_and_the_error() -> None:
    letter = opened(letter_body("a", "X", "Y"))
    assert (letter.source, letter.table) == ("Things", "Things")
    assert letter.key == {"id": {"S": "a"}}
    assert letter.rows == {("THING#a", "X"), ("THING#a", "Y")}
    assert (letter.latest_error.kind, letter.latest_error.reason) == (
        "ViewError",
        "the view raised LookupError",
    )
    assert (letter.at, letter.failed_replays) == (AT, 0)


def test_what_the_sync_writes_can_be_read() -> None:
    unreadable = record(things, None, {"id": "a", "parts": []})
    identity = identify(unreadable, None, "model-1")
    written = dead_letter(0, identity, ViewError(LookupError()), [("PK", "SK")])
    letter = opened(written.body)
    assert (letter.source, letter.at) == (None, None)
    assert (letter.table, letter.key) == ("Things", {"id": {"S": "a"}})
    assert letter.rows == {("PK", "SK")}


def test_a_dead_letter_about_a_record_that_names_no_item_is_not_understood() -> None:
    written = dead_letter(0, identify({}, None, "model-1"), ViewError(LookupError()), ())
    with pytest.raises(UnknownLetterError, match="names no table"):
        resolved(written.body)
    written = dead_letter(0, ItemOrigin.salvaged(table="Things"), ViewError(LookupError()), ())
    with pytest.raises(UnknownLetterError, match="names no item"):
        resolved(written.body)


def test_a_retried_dead_letter_has_the_newest_error_and_keeps_the_first() -> None:
    once = opened(retried(opened(letter_body()), MOVED, WITHIN_A_MINUTE).to_json())
    assert once.latest_error == ErrorSummary(kind="MovingItemError", reason=str(MOVED))
    assert once.error.kind == "ViewError"
    assert once.attempts
    assert once.attempts.at == "2026-09-21T14:13:20+00:00"
    twice = opened(retried(once, ViewError(LookupError()), WITHIN_A_MINUTE).to_json())
    assert (twice.latest_error.kind, twice.failed_replays) == ("ViewError", 2)
    assert twice.key == once.key


def test_lambdas_dead_letter_names_its_range_and_when_its_records_arrived() -> None:
    letter = opened_batch(lambdas_own(5, 9))
    assert letter.records.stream_arn == STREAM.format("Things")
    assert letter.records.shard_id.startswith("shardId-")
    assert (int(letter.records.first), int(letter.records.last)) == (5, 9)
    assert (letter.table, letter.source, letter.count) == ("Things", None, 5)
    assert (letter.begin, letter.end) == ("2026-09-21T14:13:20Z", "2026-09-21T14:14:20Z")
    assert letter.at == AT
    assert letter.latest_error.kind == "RetryAttemptsExhausted"
    assert letter.latest_error.reason == "Lambda gave up on 5 records: RetryAttemptsExhausted"


@pytest.mark.parametrize("missing", ["responseContext", "version", "timestamp", "requestContext"])
def test_lambdas_dead_letter_needs_no_more_than_its_range(missing: str) -> None:
    given_up = batch_facts()
    del given_up[missing]
    letter = opened_batch(json.dumps(given_up))
    expected = "Unknown" if missing == "requestContext" else "RetryAttemptsExhausted"
    assert (letter.latest_error.kind, letter.count) == (expected, 2)


def test_lambdas_dead_letter_is_still_lambdas_after_a_retry() -> None:
    letter = opened_batch(lambdas_own())
    again = opened_batch(retried(letter, MOVED, WITHIN_A_MINUTE).to_json())
    assert (again.latest_error.kind, again.failed_replays) == ("MovingItemError", 1)
    assert again.records == letter.records


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("", "it is not JSON"),
        ("[" * 100_000, "it is not JSON"),
        ("[]", "it is neither 'adminview.letter/1' nor an on-failure message of Lambda"),
        ('{"kind": "adminview.letter/2"}', "it is neither"),
        ('{"kind": ["adminview.letter/1"]}', "it is neither"),
        ('{"kind": "adminview.letter/1"}', "a field is missing or malformed: KeyError"),
        ('{"DDBStreamBatchInfo": null}', "a field is missing or malformed: TypeError"),
        (lambdas_own(startSequenceNumber="-1"), "a field is missing or malformed"),
        (lambdas_own(endSequenceNumber=1.5), "a field is missing or malformed"),
        (lambdas_own(batchSize="many"), "a field is missing or malformed"),
        (
            lambdas_own(streamArn="arn:aws:kinesis:us-east-1:1:stream/s"),
            "a field is missing or malformed",
        ),
        (
            lambdas_own(approximateArrivalOfFirstRecord="yesterday"),
            "a field is missing or malformed",
        ),
        (letter_body(key=["a"]), "a field is missing or malformed"),
        (letter_body(table=5), "a field is missing or malformed"),
        (letter_body(rows=[["PK"]]), "a field is missing or malformed"),
        (letter_body(rows=None), "a field is missing or malformed"),
        (letter_body(error="ViewError"), "a field is missing or malformed"),
        (letter_body(attempts=None), "a field is missing or malformed"),
    ],
)
def test_anything_else_is_not_understood_and_it_says_why(body: str, why: str) -> None:
    with pytest.raises(UnknownLetterError, match=why.replace("[", r"\[")):
        from_json(body)


def test_why_it_is_not_understood_quotes_nothing_of_it() -> None:
    for body in (
        "secret",
        '{"kind": "secret"}',
        letter_body(key="secret"),
        lambdas_own(batchSize="secret"),
    ):
        with pytest.raises(UnknownLetterError) as caught:
            from_json(body)
        assert "secret" not in str(caught.value)


texts = st.text(max_size=9)
keys = st.dictionaries(
    st.text(max_size=5),
    st.dictionaries(st.sampled_from("SNB"), texts, min_size=1, max_size=1),
    max_size=2,
)
row_keys = st.frozensets(st.tuples(*(st.text(min_size=1, max_size=9) for _ in ("PK", "SK"))))
errors = st.builds(ErrorSummary, kind=texts, reason=texts)
origins: dict[str, Any] = {
    "source": st.none() | texts,
    "table": st.none() | st.from_regex(TABLE_NAME, fullmatch=True),
    "sequence": st.none() | texts,
    "at": st.none() | st.floats(0, FAR_FUTURE, exclude_max=True),
    "model": st.none() | texts,
    "error": errors,
    "attempts": st.none()
    | st.builds(Attempts, count=st.integers(0, MAX_ATTEMPTS - 1), at=texts, error=errors),
}
record_letters = st.builds(
    RecordLetter,
    **origins,
    key=st.none() | keys,
    owner=st.none() | texts,
    event=st.none() | texts,
    stream=st.none() | texts,
    rows=row_keys,
    find_rows=st.none() | texts,
)
in_doubt_letters = st.builds(
    InDoubtLetter,
    **origins,
    items=st.lists(
        st.builds(TouchedItem, key=keys, owner=st.none() | texts, rows=row_keys), min_size=1
    ).map(tuple),
)


@given(record_letters | in_doubt_letters)
def test_every_dead_letter_is_read_back_as_it_was_written(
    letter: RecordLetter | InDoubtLetter,
) -> None:
    body = letter.to_json()
    assert body.isascii()
    assert from_json(body) == letter


sequences = st.integers(0, 10**38).map("{:040d}".format)
arrivals = st.integers(0, FAR_FUTURE // 20).map(
    lambda seconds: datetime.fromtimestamp(seconds, UTC).isoformat()
)


@given(
    st.tuples(sequences, sequences).map(sorted),
    texts,
    st.integers(0, 10_000),
    st.tuples(arrivals, arrivals),
    texts,
)
def test_lambdas_message_is_read_back_as_the_emulator_writes_it(
    bounds: list[str], shard: str, count: int, arrival: tuple[str, str], condition: str
) -> None:
    records = SequenceRange(STREAM.format("Things"), shard, *bounds)
    written = on_failure_message(records, count, arrival, condition)
    letter = opened_batch(json.dumps(written))
    assert (letter.records, letter.count, letter.error.kind) == (records, count, condition)
    assert (letter.begin, letter.end) == arrival
    assert json.loads(letter.to_json()) == written


any_record = st.fixed_dictionaries(
    {},
    optional={
        "eventName": st.none() | texts | st.integers(),
        "eventSourceARN": st.none() | texts | st.just(STREAM.format("Things")),
        "dynamodb": st.none()
        | st.fixed_dictionaries(
            {}, optional={"Keys": keys | texts | st.lists(texts), "SequenceNumber": texts}
        ),
    },
)


@given(any_record)
def test_a_dead_letter_about_any_record_is_read_back(unreadable: dict[str, Any]) -> None:
    written = dead_letter(0, identify(unreadable, None, "m"), ViewError(LookupError()), ())
    letter = opened(written.body)
    assert (letter.sequence or "", letter.model) == (sequence_of(unreadable) or "", "m")


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
json_values = st.recursive(
    scalars, lambda deeper: st.lists(deeper) | st.dictionaries(st.text(max_size=5), deeper)
)


@given(st.text())
def test_no_text_passes_for_a_dead_letter(body: str) -> None:
    with pytest.raises(UnknownLetterError):
        from_json(body)


@given(json_values)
def test_no_other_json_passes_for_a_dead_letter(value: Any) -> None:
    with pytest.raises(UnknownLetterError):
        from_json(json.dumps(value))


@given(st.sets(st.sampled_from(sorted(facts()))))
def test_our_dead_letter_with_parts_missing_is_whole_enough_or_not_understood(
    missing: set[str],
) -> None:
    body = json.dumps({name: value for name, value in facts().items() if name not in missing})
    if missing <= {"event", "sequence", "stream", "model", "owner"}:
        assert resolved(body).about == "Things/a"
    else:
        with pytest.raises(UnknownLetterError):
            from_json(body)


@given(st.sampled_from(sorted(batch_facts()["DDBStreamBatchInfo"])))
def test_lambdas_dead_letter_with_any_part_of_its_range_missing_is_not_understood(
    name: str,
) -> None:
    body = batch_facts()
    del body["DDBStreamBatchInfo"][name]
    with pytest.raises(UnknownLetterError):
        from_json(json.dumps(body))
