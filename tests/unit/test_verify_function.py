"""The scheduled verification: counts and a drift metric, no keys, no success when incomplete."""

import json
from itertools import count
from typing import Any

import pytest

from adminview.aws.observability import DriftObserver
from adminview.aws.rate_limit import RateLimiter
from adminview.bulk.runs import Bulk
from adminview.handlers.verify import PAGES_RESERVE, VerifyDependencies, verify
from adminview.model.errors import SettingsError
from tests.support.bulk_tables import KilledError, at_call
from tests.support.fakes import TABLE, Context, refusal
from tests.support.verify_tables import HeardDrift, Lab

ALL = {"sample": 1, "segments": 1, "grace": 0.001}


@pytest.fixture
def lab() -> Lab:
    """Let a thing be in step, and another not."""
    lab = Lab()
    lab.put("fine", x="1")
    lab.put("secret-customer", x="1", synced=False)
    return lab


def verification(lab: Lab, observer: Any = None) -> VerifyDependencies:
    def make(budget: RateLimiter) -> Bulk:
        assert budget.per_second in {None, 50.0}
        return lab.bulk

    return VerifyDependencies(make, observer or HeardDrift(), sleep=lab.sleep)


def test_it_counts_by_source_and_names_no_key(lab: Lab) -> None:
    received = HeardDrift()
    summary = verify({**ALL, "max_rcu": 50}, Context(), verification(lab, received))
    assert summary["finished"] is True
    assert summary["sources"]["Things"]["missing"] == 1
    assert received.reported["Things"][1:] == (1, "")
    assert received.reported["Notes"][1:] == (0, "")
    assert received.reported.keys() == {"Things", "Notes", "unknown"}
    assert "secret" not in json.dumps(summary)


def test_it_repairs_nothing(lab: Lab) -> None:
    before = dict(lab.view)
    verify(ALL, Context(), verification(lab))
    assert lab.view == before
    assert lab.db.written(TABLE, "Things", "Notes") == []


def test_one_source_is_verified_alone(lab: Lab) -> None:
    summary = verify({**ALL, "source": "Notes"}, Context(), verification(lab))
    assert summary["sources"] == {"Notes": {}}


def test_rows_with_a_broken_owner_count_for_the_source_that_it_names(lab: Lab) -> None:
    lab.view["Z", "1"] = {"PK": {"S": "Z"}, "SK": {"S": "1"}, "_owner": {"S": "Notes/broken"}}
    summary = verify({**ALL, "source": "Notes"}, Context(), verification(lab))
    assert summary["sources"]["Notes"]["orphaned"] == 1


def test_by_default_it_looks_at_a_hundredth(lab: Lab) -> None:
    for number in range(2000):
        lab.put(f"t{number}", x="1")
    lab.view.clear()
    lab.db.tables["Things"].pop(("secret-customer",))
    verify({"grace": 0.001}, Context(), verification(lab))
    assert [name for name, _ in lab.db.calls].count("scan") == 3 * 4


def test_what_one_invocation_does_not_finish_the_next_one_does(lab: Lab) -> None:
    """Also after the last worker was killed: its lease expires long before the next day."""
    lab.put("another", x="1", synced=False)
    whole = verify(ALL, Context(), verification(lab))["sources"]["Things"]
    killed = 0
    for call in count(5):
        lab.now += 24 * 3600
        lab.db.on(before=at_call(call, die))
        try:
            finished = verify(ALL, Context(), verification(lab))
        except KilledError:
            killed += 1
            lab.db.on()
            lab.now += 24 * 3600
            finished = verify(ALL, Context(), verification(lab))
        else:
            break
        assert finished["sources"]["Things"] == whole
        assert finished["finished"]
    assert killed > 20


def die() -> None:
    raise KilledError


def test_an_unfinished_run_of_other_options_is_started_over(lab: Lab) -> None:
    lab.db.on(before=at_call(15, die))
    with pytest.raises(KilledError):
        verify({**ALL, "grace": 500}, Context(), verification(lab))
    assert lab.records("daily-verify/*")
    lab.db.on()
    lab.later()
    assert verify(ALL, Context(), verification(lab))["finished"]


def test_out_of_time_it_says_so_and_not_that_all_is_well(lab: Lab) -> None:
    received = HeardDrift()
    context = Context(remaining_ms=PAGES_RESERVE * 1000)
    summary = verify(ALL, context, verification(lab, received))
    assert (summary["finished"], summary["trouble"]) == (False, "out of time")
    assert received.reported["Things"][1:] == (0, "out of time")


def test_when_aws_refuses_it_says_so(lab: Lab) -> None:
    def refuse(_: str, table: str) -> None:
        if table == "Things":
            raise refusal("AccessDeniedException")

    lab.db.on(before=refuse)
    summary = verify(ALL, Context(), verification(lab))
    assert summary["trouble"] == "scan Things: AWS answered AccessDeniedException"


@pytest.mark.parametrize(
    "event", [{"smaple": 1}, {"sample": 2}, {"segments": "4"}, {"max_rcu": 0}, {"grace": "1s"}]
)
def test_an_event_that_cannot_be_meant_is_refused(lab: Lab, event: dict[str, Any]) -> None:
    with pytest.raises(SettingsError):
        verify(event, Context(), verification(lab))


def metrics(printed: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in printed.splitlines()]
    return [line for line in lines if "_aws" in line]


def test_drift_is_measured_per_source(lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    verify(ALL, Context(), verification(lab, DriftObserver()))
    printed = capsys.readouterr().out
    by_source = {line["source"]: line for line in metrics(printed)}
    assert by_source["Things"]["Drift"] == [1.0]
    assert by_source["Things"]["Checked"] == [3.0]
    assert by_source["Things"]["VerifyUnfinished"] == [0.0]
    assert by_source["Notes"]["Drift"] == [0.0]
    assert "secret" not in printed


def test_an_unfinished_run_never_measures_a_drift_of_nothing(
    lab: Lab, capsys: pytest.CaptureFixture[str]
) -> None:
    verify(ALL, Context(remaining_ms=1000), verification(lab, DriftObserver()))
    messages = metrics(capsys.readouterr().out)
    assert messages
    assert all("Drift" not in line and line["VerifyUnfinished"] == [1.0] for line in messages)
