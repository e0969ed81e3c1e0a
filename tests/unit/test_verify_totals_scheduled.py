"""The scheduled verification of totals: within its read units, and continued by the next one."""

from typing import Any

from adminview.aws.rate_limit import RateLimiter
from adminview.bulk.runs import Bulk
from adminview.handlers.verify import VerifyDependencies, verify
from tests.support.fakes import Context
from tests.support.totals_lab import TotalsLab, history, quiet
from tests.support.verify_tables import HeardDrift


def scheduled(lab: TotalsLab, heard: HeardDrift, **event: Any) -> dict[str, Any]:
    """Run one scheduled verification, and return what it reports of the totals."""

    def make(budget: RateLimiter) -> Bulk:
        lab.reads = budget
        return lab.bulk

    lab.later()
    dependencies = VerifyDependencies(make, heard, sleep=lab.sleep)
    report: dict[str, Any] = verify(
        {"segments": 1, "grace": 0.001, **event}, Context(), dependencies
    )["totals"]
    return report


def test_the_scheduled_verification_compares_all_totals_whatever_its_sample() -> None:
    lab, heard = quiet(), HeardDrift()
    expected = quiet().verify().counts["totals"]
    report = scheduled(lab, heard)
    assert report == {"finished": True, "trouble": "", **expected}
    assert heard.reported["totals"] == (expected, 1, "")
    assert "day-1" not in str(report), "it names no key"
    assert scheduled(lab, heard) == report, "and the next one begins again"


def test_the_scheduled_verification_continues_what_its_read_units_did_not_cover() -> None:
    lab, heard = quiet(), HeardDrift()
    expected = quiet().verify().counts["totals"]
    runs = [scheduled(lab, heard, totals_units=2) for _ in range(3)]
    assert [run["finished"] for run in runs] == [False] * 3
    assert [run["trouble"] for run in runs] == [""] * 3
    assert "totals" not in heard.reported, "nothing is reported before all is compared"
    while not (report := scheduled(lab, heard, totals_units=2))["finished"]:
        runs.append(report)
    assert report == {"finished": True, "trouble": "", **expected}
    assert heard.reported["totals"][1:] == (1, "")
    assert len(runs) < 40


def test_a_total_that_changed_between_two_scheduled_runs_is_no_drift() -> None:
    for seed in range(3):
        lab, heard = history(seed), HeardDrift()
        lab.rate = 0.0
        for _ in range(25):
            report = scheduled(lab, heard, totals_units=2)
            assert not report.get("differing")
            lab.write_any()
            lab.settle()


def test_a_scheduled_run_that_reads_nothing_says_so() -> None:
    lab, heard = quiet(), HeardDrift()
    dependencies = VerifyDependencies(lambda _: lab.bulk, heard, sleep=lab.sleep)
    report = verify({"segments": 1}, Context(remaining_ms=15_000), dependencies)["totals"]
    assert (report["finished"], report["trouble"]) == (False, "out of time")
    assert heard.reported["totals"] == ({}, 0, "out of time")
