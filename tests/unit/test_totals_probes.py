"""Probes show whether the totals include all rows, whatever the metrics say."""

from collections.abc import Iterable
from typing import Any
from zlib import crc32

import pytest

from adminview.bulk import totals_probes
from adminview.bulk.totals_probes import Shards, TotalsProbes
from adminview.model.errors import ServiceError, SettingsError
from adminview.totals.position import position_name
from tests.support.fakes import NO_WAIT, refusal

STREAM = "arn:aws:dynamodb:us-east-1:000000000000:table/V/stream/1"


def named(*shards: str) -> set[str]:
    return {position_name(shard) for shard in shards}


@pytest.mark.parametrize(
    ("parents", "covered", "missing"),
    [
        ({"a": None}, [], ["a"]),
        ({"a": None}, ["a"], []),
        ({"a": None, "b": None}, ["a"], ["b"]),
        ({"a": None, "b": "a"}, ["b"], []),  # a was read to its end before b
        ({"a": None, "b": "a"}, ["a"], []),  # a had a probe, so b began after it
        ({"a": None, "b": "a", "c": "a"}, ["b"], ["c"]),
        ({"b": "trimmed", "c": "b"}, ["trimmed"], []),
        ({"a": None, "b": "a", "c": "b", "d": "b"}, ["a"], []),
        ({"a": None}, ["other"], ["a"]),
        ({"a": "b", "b": "a", "c": "b"}, [], ["c"]),  # nonsense, but it ends
    ],
)
def test_each_youngest_shard_needs_a_probe_or_an_ancestor_with_one(
    parents: dict[str, str | None], covered: list[str], missing: list[str]
) -> None:
    assert Shards(parents).uncovered(named(*covered)) == missing


@pytest.mark.parametrize(("shards", "least"), [(1, 7), (4, 28), (30, 300), (1000, 10_000)])
def test_the_number_of_probes_grows_with_the_shards(shards: int, least: int) -> None:
    probes = Shards({str(number): None for number in range(shards)}).probes
    assert least <= probes <= 15 * shards


class Cloud:
    """A view table, its stream and the totals table. A shard takes the rows of a hash."""

    def __init__(self, *shards: str) -> None:
        self.shards: dict[str, str | None] = dict.fromkeys(shards)
        self.rows: set[str] = set()
        self.put: list[tuple[str, dict[str, Any]]] = []  # the shard, and the row
        self.totals: list[dict[str, Any]] = []
        self.unprocessed = 0
        self.faults: list[Exception] = []

    def describe_table(self, **_: Any) -> Any:
        keys = [("PK", "HASH"), ("SK", "RANGE")]
        table = {
            "TableName": "V",
            "TableStatus": "ACTIVE",
            "KeySchema": [{"AttributeName": name, "KeyType": role} for name, role in keys],
            "AttributeDefinitions": [
                {"AttributeName": name, "AttributeType": "S"} for name, _ in keys
            ],
        }
        return {"Table": table | ({"LatestStreamArn": STREAM} if self.shards else {})}

    def describe_stream(self, **request: Any) -> Any:
        """List one shard per page."""
        assert request["StreamArn"] == STREAM
        names = [*self.shards]
        start = request.get("ExclusiveStartShardId")
        name = names[names.index(start) + 1 if start else 0]
        parent = self.shards[name]
        shard = {"ShardId": name} | ({"ParentShardId": parent} if parent else {})
        more = {"LastEvaluatedShardId": name} if name != names[-1] else {}
        return {"StreamDescription": {"Shards": [shard], **more}}

    def batch_write_item(self, *, RequestItems: Any) -> Any:  # noqa: N803 - boto3's
        if self.faults:
            raise self.faults.pop(0)
        ((table, requests),) = RequestItems.items()
        assert table == "V"
        assert len(requests) <= 25
        left = requests[: self.unprocessed]
        self.unprocessed = 0
        for request in requests[len(left) :]:
            if "PutRequest" in request:
                row = request["PutRequest"]["Item"]
                self.rows.add(row["PK"]["S"])
                self.put.append((self.home(row["PK"]["S"]), row))
            else:
                self.rows.discard(request["DeleteRequest"]["Key"]["PK"]["S"])
        return {"UnprocessedItems": {table: left} if left else {}}

    def query(self, **request: Any) -> Any:
        """Return half of the totals per page."""
        assert request["TableName"] == "VTotals"
        assert request["ConsistentRead"]
        wanted = request["ExpressionAttributeValues"][":probe"]
        probes = [total for total in self.totals if total["PK"] == wanted]
        half = (len(probes) + 1) // 2
        if "ExclusiveStartKey" in request:
            return {"Items": probes[half:]}
        return {"Items": probes[:half]} | (
            {"LastEvaluatedKey": probes[half]} if probes[half:] else {}
        )

    def home(self, key: str) -> str:
        """Return the shard that takes the rows of a key."""
        youngest = sorted(self.shards.keys() - set(self.shards.values()))
        return youngest[crc32(key.encode()) % len(youngest)]

    def deliver(self, *shards: str, count: int | None = None) -> None:
        """Let the totals function count the probes of these shards, or some of them."""
        for shard, row in [probe for probe in self.put if probe[0] in shards][:count]:
            self.put.remove((shard, row))
            ((group, sorts),) = row["_totals"]["M"].items()
            (sort,) = sorts["M"]
            position = {position_name(shard): {"B": b"1"}}
            self.totals.append({"PK": {"S": group}, "SK": {"S": sort}, **position})


def probes_of(cloud: Any, run: str = "1") -> TotalsProbes:
    return TotalsProbes(cloud, cloud, "V", NO_WAIT, run)


def arrived(probes: TotalsProbes, rounds: Iterable[object] = range(3)) -> bool:
    """Poll some times, and return what the last poll says."""
    results = [probes.have_arrived() for _ in rounds]
    return results[-1]


def test_nothing_delivered_is_not_caught_up() -> None:
    """A metric is absent then, and says nothing."""
    cloud = Cloud("a")
    probes = probes_of(cloud)
    assert not arrived(probes)
    assert probes.written == len(cloud.put) == 7, "no more are written until these are counted"
    cloud.deliver("a")
    assert arrived(probes)


def test_all_shards_must_have_counted_a_probe() -> None:
    cloud = Cloud("a", "b", "c")
    probes = probes_of(cloud)
    assert not arrived(probes)
    cloud.deliver("a", "c")
    assert not arrived(probes)
    cloud.deliver("b", count=1)
    assert arrived(probes)


def test_probes_of_another_wait_say_nothing() -> None:
    cloud = Cloud("a")
    arrived(probes_of(cloud))
    cloud.deliver("a")
    again = probes_of(cloud, run="2")
    assert not arrived(again)
    cloud.deliver("a")
    assert arrived(again)


def test_a_shard_that_no_probe_met_gets_more_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    cloud = Cloud(*"abcdefgh")
    monkeypatch.setattr(totals_probes, "PROBES_PER_SHARD", -2)  # one probe at a time
    probes = probes_of(cloud)
    for _ in range(500):
        if probes.have_arrived():
            break
        cloud.deliver(*cloud.shards)
    assert probes.written > 7
    assert {position_name(shard) for shard in "abcdefgh"} == {
        name for total in cloud.totals for name in total if name[0] == "@"
    }


def test_a_shard_that_splits_while_it_waits_needs_no_new_probe() -> None:
    cloud = Cloud("a")
    probes = probes_of(cloud)
    assert not arrived(probes)
    cloud.shards |= {"b": "a", "c": "a"}
    assert not arrived(probes)
    cloud.deliver("a")
    assert arrived(probes)


def test_the_probes_leave_no_rows_behind_even_if_writing_fails() -> None:
    cloud = Cloud(*"abcd")
    cloud.unprocessed = 9
    arrived(probes_of(cloud))
    assert len(cloud.put) > 25
    assert cloud.rows == set()
    cloud.faults = [refusal("AccessDeniedException")]
    with pytest.raises(ServiceError, match="AccessDenied"):
        arrived(probes_of(cloud, run="2"))
    assert cloud.rows == set()


def test_a_stream_whose_shards_the_function_never_names_is_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(totals_probes, "MOST_PROBES", 20)
    cloud = Cloud("a")
    probes = probes_of(cloud)
    monkeypatch.setattr(cloud, "home", lambda _: "of another stream")
    for _ in range(3):
        assert not probes.have_arrived()
        cloud.deliver("of another stream")
    with pytest.raises(SettingsError, match=r"21 probes are in the totals, but none.* a of the st"):
        probes.have_arrived()


def test_a_view_without_a_stream_is_reported() -> None:
    with pytest.raises(SettingsError, match="table V has no stream"):
        probes_of(Cloud()).have_arrived()
