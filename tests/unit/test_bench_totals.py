"""The benchmark of totals compares programs that keep the same totals, and states its results."""

from collections.abc import Iterator
from typing import Any

import pytest

from adminview.model.row import key_of
from adminview.model.total import ARCHIVED
from bench.stub_client import StubClient, running_stub
from bench.totals.contenders import ADD, OURS, TRANSACTION
from bench.totals.counts import POSITIONS, count, requests_of
from bench.totals.items import before, updated
from bench.totals.measure import limits, lines, markdown, measure
from bench.totals.streams import TotalsLoad
from bench.totals.worker import ONE_BATCH, few_groups

LOADS = [TotalsLoad(60, 7), TotalsLoad(60, 60, 13), TotalsLoad(40, 5, 8, ranked=True)]


@pytest.fixture(scope="module")
def stub() -> Iterator[StubClient]:
    with running_stub() as stub:
        yield stub


def totals_after(requests: list[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    """Apply calls, and return the items without positions and the mark of archived ones."""
    items: dict[tuple[str, str], dict[str, Any]] = {}
    for request in requests:
        updates = [
            item["Update"] for item in request.get("TransactItems", []) if "Update" in item
        ] or [request]
        for update in updates:
            key = key_of(update["Key"])
            items[key] = updated(items.get(key) or before(update), update)
    return {
        key: {name: item[name] for name in item if name[0] != "@" and name != ARCHIVED}
        for key, item in items.items()
    }


@pytest.mark.parametrize("load", LOADS, ids=str)
def test_all_contenders_arrive_at_the_same_totals(load: TotalsLoad) -> None:
    expected = totals_after(requests_of(ADD, load, 0))
    assert len(expected) == load.groups
    assert totals_after(requests_of(TRANSACTION, load, 0)) == expected
    for positions in POSITIONS:
        assert totals_after(requests_of(OURS, load, positions)) == expected


def test_one_call_is_made_for_each_group_of_a_batch() -> None:
    for run in count(1000):
        groups, contender = run["groups"], run["contender"]
        assert run["calls"] == (groups if contender == OURS else 1000)


def test_records_without_groups_change_no_total() -> None:
    load = TotalsLoad(30, 0)
    assert requests_of(OURS, load, 1) == []
    (event,) = load.batches()
    assert all(record["eventName"] == "MODIFY" for record in event["Records"])


def test_a_quick_run_reports_each_figure_and_each_limit(stub: StubClient) -> None:
    results = measure(stub, 40, 1)
    assert all(seconds > 0 for seconds in results["seconds"].values())
    report = "\n".join(lines(results))
    for limit in limits(results):
        assert limit.name in report
    assert "one transaction per record" in markdown(results)


def test_the_counted_limits_are_kept_and_no_limit_was_moved() -> None:
    results = {"records": 1000, "counted": count(1000), "seconds": Seconds()}
    assert [limit.name for limit in limits(results) if not limit.met] == []
    expected: dict[str, float] = {"calls for a batch in 20 groups": 20}
    for positions in ("1 position", "30 positions", "200 positions"):
        few = f"20 groups, {positions}"
        expected[f"{few}: units of one ADD per record"] = 1 / 20
        expected[f"{few}: units of one transaction per record"] = 1 / 80
        expected[f"1,000 groups, {positions}: units of one ADD per record"] = 1
        for rows in ("1 row", "3 rows"):
            expected[f"{few}: processor time of the sync, {rows}"] = 1
    expected["10,000 records in one batch, times ten batches"] = 1.1
    assert {limit.name: limit.most for limit in limits(results)} == expected


def test_each_limit_that_is_exceeded_is_reported() -> None:
    counted = [
        {**run, "calls": run["calls"] + 1, "units": run["units"] * 100}
        if run["contender"] == OURS
        else run
        for run in count(1000)
    ]
    seconds = Seconds(dict.fromkeys(OUR_RUNS, 2.0))
    results = {"records": 1000, "counted": counted, "seconds": seconds}
    exceeded = [limit.name for limit in limits(results)]
    assert not any(limit.met for limit in limits(results))
    reported = [line for line in lines(results) if line.rstrip().endswith("NO")]
    assert len(reported) == len(exceeded)


OUR_RUNS = [*map(few_groups, POSITIONS), ONE_BATCH]


class Seconds(dict[str, float]):
    """All runs took the same time."""

    def __missing__(self, _: str) -> float:
        return 1.0
