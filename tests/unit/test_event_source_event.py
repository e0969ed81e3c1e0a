"""A stream record becomes the JSON that Lambda delivers."""

from datetime import UTC, datetime
from typing import Any

from adminview.local.event_source.event import PAYLOAD_LIMIT, StreamRecord, event, fitting

ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/Things/stream/2026-01-01T00:00:00.000"


def wire(image: dict[str, Any], **more: Any) -> Any:
    """Make a record as boto3 reads it from GetRecords."""
    return {
        "eventID": "e1",
        "eventName": "INSERT",
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": "us-east-1",
        "dynamodb": {
            "ApproximateCreationDateTime": datetime(2026, 1, 1, 0, 0, 1, 750_000, tzinfo=UTC),
            "Keys": {"id": {"S": "1"}},
            "NewImage": image,
            "SequenceNumber": "1",
            "SizeBytes": 1,
            "StreamViewType": "NEW_AND_OLD_IMAGES",
        },
        **more,
    }


def delivered(image: dict[str, Any], **more: Any) -> Any:
    [record] = event([StreamRecord.of(wire(image, **more), ARN)])["Records"]
    return record


def test_bytes_become_base64_text_wherever_they_are() -> None:
    image = {
        "b": {"B": b"\x00\xff"},
        "bs": {"BS": [b"a", b"b"]},
        "deep": {"M": {"list": {"L": [{"B": b"c"}, {"M": {"bs": {"BS": [b"d"]}}}]}}},
    }

    assert delivered(image)["dynamodb"]["NewImage"] == {
        "b": {"B": "AP8="},
        "bs": {"BS": ["YQ==", "Yg=="]},
        "deep": {"M": {"list": {"L": [{"B": "Yw=="}, {"M": {"bs": {"BS": ["ZA=="]}}}]}}},
    }


def test_all_other_values_arrive_as_they_were() -> None:
    image = {
        "n": {"N": "1234567890123456789012345678901234567.8"},
        "ns": {"NS": ["1", "2.50"]},
        "s": {"S": 'ä "quoted" 🎉'},
        "ss": {"SS": ["x"]},
        "flag": {"BOOL": False},
        "none": {"NULL": True},
        "empty": {"M": {}},
    }

    assert delivered(image)["dynamodb"]["NewImage"] == image


def test_an_empty_map_has_its_type_even_if_the_engine_left_it_out() -> None:
    image: dict[str, Any] = {"m": {}, "deep": {"M": {"m": {}, "l": {"L": [{}, {"M": {}}]}}}}

    assert delivered(image)["dynamodb"]["NewImage"] == {
        "m": {"M": {}},
        "deep": {"M": {"m": {"M": {}}, "l": {"L": [{"M": {}}, {"M": {}}]}}},
    }


def test_the_time_of_a_change_is_given_in_whole_seconds() -> None:
    assert delivered({})["dynamodb"]["ApproximateCreationDateTime"] == 1_767_225_601


def test_a_record_names_its_stream_and_region() -> None:
    record = delivered({})

    assert record["eventSourceARN"] == ARN
    assert record["awsRegion"] == "us-east-1"
    assert "userIdentity" not in record


def test_the_identity_of_a_ttl_deletion_is_encoded_as_lambda_encodes_it() -> None:
    record = delivered(
        {}, userIdentity={"PrincipalId": "dynamodb.amazonaws.com", "Type": "Service"}
    )

    assert record["userIdentity"] == {"principalId": "dynamodb.amazonaws.com", "type": "Service"}


def test_an_event_shares_nothing_with_the_next_one_of_the_same_records() -> None:
    records = [StreamRecord.of(wire({"n": {"N": "1"}}), ARN)]

    event(records)["Records"][0]["dynamodb"].clear()

    assert event(records)["Records"][0]["dynamodb"]["NewImage"] == {"n": {"N": "1"}}


def test_a_size_counts_bytes_and_not_characters() -> None:
    plain = StreamRecord.of(wire({"s": {"S": "aa"}}), ARN)
    other = StreamRecord.of(wire({"s": {"S": "ää"}}), ARN)

    assert other.size == plain.size + 2


def test_as_many_records_as_6_mb_hold_fit_in_an_event() -> None:
    half = StreamRecord("1", 0.0, "", PAYLOAD_LIMIT // 2 - len('{"Records":[,]}') // 2 - 1)

    assert fitting([half, half], 10) == 2
    assert fitting([half, half, StreamRecord("3", 0.0, "", 10)], 10) == 2


def test_no_more_records_fit_than_are_asked_for() -> None:
    small = StreamRecord("1", 0.0, "", 10)

    assert fitting([small] * 5, 3) == 3


def test_a_record_alone_always_fits() -> None:
    assert fitting([StreamRecord("1", 0.0, "", PAYLOAD_LIMIT * 2)], 10) == 1
