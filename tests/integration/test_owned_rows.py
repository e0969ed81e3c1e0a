"""Rows are found, read and written by their owner, on real engines."""

from math import inf
from typing import Any

import pytest

from adminview.aws.attribute_codec import for_boto3
from adminview.aws.deadline import Deadline
from adminview.aws.row_store import RowStore
from adminview.aws.source_tables import SourceReader
from adminview.local.local_cloud import LocalCloud
from adminview.model.errors import RefusedRowError, ServiceError
from adminview.model.item import encode
from adminview.model.row import VIEW_TABLE
from tests.support.model import USER

SOON = Deadline(inf)  # a slow machine is no failure


@pytest.fixture
def rows(cloud: LocalCloud) -> RowStore:
    """Look at the shop's view."""
    return RowStore(cloud.clients.dynamodb, VIEW_TABLE)


def row(sk: str, owner: str, **data: Any) -> dict[str, Any]:
    return {
        "PK": {"S": "THING#1"},
        "SK": {"S": sk},
        "_owner": {"S": owner},
        "data": {"M": {name: encode(value) for name, value in data.items()}},
    }


def test_an_owners_rows_are_found_however_many_there_are(cloud: LocalCloud, rows: RowStore) -> None:
    long = "x" * 900  # so that they do not fit one page of a query, nor of a read
    keys = {("THING#1", f"{number:04d}{long}") for number in range(1200)}
    calls = [sorted(keys)[start : start + 25] for start in range(0, len(keys), 25)]
    for call in calls:
        requests: Any = [
            {"PutRequest": {"Item": for_boto3(row(sk, "Users/a", text="y" * 900))}}
            for _, sk in call
        ]
        cloud.clients.dynamodb.batch_write_item(RequestItems={VIEW_TABLE: requests})
    rows.put("Users/b", row("other", "Users/b"), deadline=SOON)
    assert rows.find("Users/a", deadline=SOON) == keys
    assert rows.read(keys | {("THING#1", "absent")}, deadline=SOON).keys() == keys


def test_a_row_is_written_only_while_it_is_nobody_elses(rows: RowStore) -> None:
    key = ("THING#1", "s")
    assert rows.put("Users/a", row("s", "Users/a", n=1), deadline=SOON)
    assert rows.put("Users/a", row("s", "Users/a", n=2), deadline=SOON)
    assert not rows.put("Users/b", row("s", "Users/b", n=3), deadline=SOON)
    assert rows.read([key], deadline=SOON) == {key: row("s", "Users/a", n=2)}
    assert not rows.delete("Users/b", key, deadline=SOON)
    assert rows.delete("Users/a", key, deadline=SOON)
    assert not rows.delete("Users/a", key, deadline=SOON), "it is gone"
    assert rows.read([key], deadline=SOON) == {}


def test_values_come_back_as_they_were_written(rows: RowStore) -> None:
    values = {"bytes": b"\x00\xff", "number": 10**37 + 1, "empty": {}, "set": {"a"}, "none": None}
    written = row("s", "Users/a", **values)
    rows.put("Users/a", written, deadline=SOON)
    assert rows.read([("THING#1", "s")], deadline=SOON) == {("THING#1", "s"): written}


def test_a_row_that_the_engine_refuses_is_distinguished_from_a_failed_call(rows: RowStore) -> None:
    too_large = row("s", "Users/a", text="x" * 410_000)
    with pytest.raises(RefusedRowError):
        rows.put("Users/a", too_large, deadline=SOON)


def test_an_item_is_read_as_it_is_now(cloud: LocalCloud) -> None:
    sources = SourceReader(cloud.clients.dynamodb)
    key = {"userId": {"S": "user-123"}}
    assert sources.read("Users", key, deadline=SOON) is None
    cloud.put("Users", USER)
    item = sources.read("Users", key, deadline=SOON)
    assert item == {name: encode(value) for name, value in USER.items()}


def test_a_table_that_is_not_there_is_trouble_and_says_so(cloud: LocalCloud) -> None:
    with pytest.raises(ServiceError, match=r"read an item of Nowhere.*ResourceNotFoundException"):
        SourceReader(cloud.clients.dynamodb).read("Nowhere", {"id": {"S": "1"}}, deadline=SOON)
