"""The benchmark of totals compares programs that keep the same totals, and states its results."""

from collections.abc import Iterator
from dataclasses import replace
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


def test_a_limit_that_is_exceeded_is_reported() -> None:
    results = {"records": 1000, "counted": count(1000), "seconds": Seconds()}
    assert [limit.name for limit in limits(results) if not limit.met] == []
    limit = next(limits(results))
    assert not replace(limit, figure=limit.most + 1).met


class Seconds(dict[str, float]):
    """All runs took the same time."""

    def __missing__(self, _: str) -> float:
        return 1.0
