"""The records of a range are read from the stream again, and no others."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from adminview.aws.deadline import Deadline
from adminview.aws.streams import Streams, delivered
from adminview.model.errors import ExpiredRecordsError, ServiceError
from adminview.model.stream import SequenceRange
from adminview.sync.decode import decode
from tests.support.dead_letter_queue import ROUTES
from tests.support.fakes import NETWORK_DOWN, NO_WAIT, refusal
from tests.support.stream_records import AT, STREAM

ARN = STREAM.format("Things")
STRETCH = SequenceRange(ARN, "shard-1", "3", "11")


def got(sequence: int, **images: Any) -> dict[str, Any]:
    """Make a record as GetRecords gives it."""
    return {
        "eventID": str(sequence),
        "eventName": "INSERT",
        "dynamodb": {
            "ApproximateCreationDateTime": datetime.fromtimestamp(AT, UTC),
            "Keys": {"id": {"S": "a"}},
            "NewImage": {"id": {"S": "a"}},
            "SequenceNumber": f"{sequence:021d}",
        }
        | images,
    }


class FakeStream:
    """A shard, page by page; the last page has no iterator to follow it."""

    def __init__(self, *pages: Sequence[int], faults: Sequence[Exception] = ()) -> None:
        self.pages = pages
        self.faults = list(faults)
        self.requests: list[dict[str, Any]] = []

    def get_shard_iterator(self, **request: Any) -> dict[str, str]:
        self.requests.append(request)
        return {"ShardIterator": "0"}

    def get_records(self, ShardIterator: str) -> dict[str, Any]:  # noqa: N803 - boto3's
        self.requests.append({"page": ShardIterator})
        if self.faults:
            raise self.faults.pop(0)
        page = int(ShardIterator)
        answer: dict[str, Any] = {"Records": [got(sequence) for sequence in self.pages[page]]}
        if page + 1 < len(self.pages):
            answer["NextShardIterator"] = str(page + 1)
        return answer


def read(stream: FakeStream, seconds: float = 60) -> list[int]:
    streams = Streams(cast("Any", stream), NO_WAIT)
    records = streams.read(STRETCH, deadline=Deadline.after(seconds))
    return [int(record["dynamodb"]["SequenceNumber"]) for record in records]


def test_reading_begins_at_the_first_record() -> None:
    stream = FakeStream([3, 11])
    read(stream)
    assert stream.requests[0] == {
        "StreamArn": ARN,
        "ShardId": "shard-1",
        "ShardIteratorType": "AT_SEQUENCE_NUMBER",
        "SequenceNumber": "3",
    }


@pytest.mark.parametrize(
    ("pages", "calls"),
    [
        ([[3, 4, 11]], 1),
        ([[3, 4, 11, 12, 13]], 1),
        ([[3, 4], [11], [12]], 2),
        ([[3, 4], [11, 12], [13]], 2),
        ([[], [3, 4], [], [], [11], []], 5),
    ],
)
def test_reading_ends_with_the_last_record_without_another_call(
    pages: list[list[int]], calls: int
) -> None:
    stream = FakeStream(*pages)
    assert read(stream) == [3, 4, 11]
    assert len(stream.requests) == 1 + calls


def test_no_record_after_the_last_is_given_even_if_the_last_is_gone() -> None:
    numbers: list[int] = []
    records = Streams(cast("Any", FakeStream([3, 4], [12], [13])), NO_WAIT).read(
        STRETCH, deadline=Deadline.after(60)
    )
    with suppress(ExpiredRecordsError):
        numbers += (int(record["dynamodb"]["SequenceNumber"]) for record in records)
    assert 12 not in numbers


@pytest.mark.parametrize("pages", [[[]], [[3, 4]], [[3], [4], []]])
def test_a_shard_that_ends_before_the_last_record_has_lost_it(pages: list[list[int]]) -> None:
    with pytest.raises(ExpiredRecordsError, match="no longer has all records"):
        read(FakeStream(*pages))


@pytest.mark.parametrize("code", ["TrimmedDataAccessException", "ResourceNotFoundException"])
def test_records_that_are_gone_have_expired(code: str) -> None:
    with pytest.raises(ExpiredRecordsError, match="no longer has the records"):
        read(FakeStream([3], faults=[refusal(code, "GetRecords")]))


@pytest.mark.parametrize("code", ["AccessDeniedException", "ExpiredIteratorException"])
def test_other_errors_are_raised_unchanged(code: str) -> None:
    with pytest.raises(ServiceError, match=f"read the stream again: AWS answered {code}"):
        read(FakeStream([3], faults=[refusal(code, "GetRecords")]))


def test_throttling_and_the_network_are_waited_out() -> None:
    throttled = refusal("LimitExceededException", "GetRecords")
    assert read(FakeStream([3, 11], faults=[throttled, NETWORK_DOWN])) == [3, 11]


def test_nothing_is_read_after_the_deadline() -> None:
    stream = FakeStream([3, 11])
    with pytest.raises(ServiceError, match="OutOfTime"):
        read(stream, seconds=-1)
    assert stream.requests == []


def test_a_record_reads_as_lambda_delivers_it() -> None:
    whole = delivered(cast("Any", got(5)), ARN)
    assert whole["eventSourceARN"] == ARN
    assert whole["dynamodb"]["ApproximateCreationDateTime"] == AT
    change = decode(whole, ROUTES)
    assert (change.owner, change.sequence, change.at) == ("Things/a", f"{5:021d}", AT)


def test_binary_becomes_text_and_empty_maps_get_their_type() -> None:
    image = {"b": {"B": b"\x00\xff"}, "s": {"BS": [b"a"]}, "m": {"M": {"b": {"B": b""}}}, "e": {}}
    change = delivered(cast("Any", got(5, NewImage=image, OldImage=image)), ARN)["dynamodb"]
    expected = {
        "b": {"B": "AP8="},
        "s": {"BS": ["YQ=="]},
        "m": {"M": {"b": {"B": ""}}},
        "e": {"M": {}},
    }
    assert change["NewImage"] == change["OldImage"] == expected


def test_a_deletion_by_ttl_says_so_as_lambda_spells_it() -> None:
    who = {"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"}
    whole = delivered(cast("Any", got(5) | {"userIdentity": who}), ARN)
    expected = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}
    assert whole["userIdentity"] == expected
