"""The benchmark computes, reports and stores figures from its measurements."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

import bench.__main__
from adminview.cli.costing.baseline import FIGURES
from bench.bulk.measure import LABELS
from bench.chart import bar_chart
from bench.contenders import CONTENDERS
from bench.contenders.rows import derive_raw_rows, key_of
from bench.figures import (
    Goal,
    goals,
    growth,
    per_record_and_row,
    ratios,
    stale_estimates,
    timed,
)
from bench.measure import spread, summary
from bench.plan import GROWTH, LEAN, SUMMARY, Part, Run, lean_plan, quick_plan, whole_plan
from bench.query.model import QUERIES
from bench.report import headline, report, with_headline
from bench.streams import Load
from bench.units import replay, table_before

ROOT = Path(__file__).parents[2]
MACHINE = {"date": "2026-11-16", "cores": 2, "python": "3.11.7", "system": "Linux x86_64"}


def timed_run(contender: str, processor: float, **fields: Any) -> dict[str, Any]:
    """Return a run as the measurement stores it."""
    seconds = fields.pop("seconds", processor)
    description = {"part": "p", "stream": "neutral", "latency": 0, "rounds": 3}
    load = {"records": 1000, "fan_out": 3, "batch": 1000}
    timing = {"processor": spread([processor]), "seconds": spread([seconds])}
    timing["calls"] = spread([120])
    return {**description, **load, "contender": contender, **timing, **fields}


def measurements() -> dict[str, Any]:
    """Return made-up results of a run."""
    runs = [
        timed_run("adminview", 0.1),
        timed_run("batch_writer", 0.9),
        timed_run("powertools", 5.0),
        timed_run("floor", 0.04),
        timed_run("adminview", 0.05, stream="ordinary"),
        timed_run("batch_writer", 0.9, stream="ordinary"),
        timed_run("adminview", 0.1, latency=8, seconds=0.15),
        timed_run("batch_writer", 0.9, latency=8, seconds=2.1),
        timed_run("adminview", 0.04, fan_out=1),
        timed_run("adminview", 0.25, fan_out=8),
        timed_run("adminview", 0.11, part=GROWTH, records=10_000),
        timed_run("adminview", 0.12, part=GROWTH, records=10_000, batch=2500),
        timed_run("adminview", 0.22, part=GROWTH, records=10_000, batch=10_000),
        timed_run("adminview", 0.1, part=LEAN),
        timed_run("batch_writer", 0.7, part=LEAN),
    ]
    sent = {
        "adminview": {"units": 3000, "units without owner": 2000},
        "pseudo_code": {"units": 5000},
        "pseudo_code, summaries": {"units": 3750},
        "powertools": {"units": 4000},
    }
    cold = {
        "adminview": {"processor": spread([0.2]), "seconds": spread([0.3])},
        "powertools": {"processor": spread([0.8]), "seconds": spread([0.9])},
    }
    return {
        "machine": MACHINE,
        "timed": runs,
        "counted": {"ordinary": sent},
        "cold_start": cold,
        "memory": {"adminview": 130.0},
        "query": {
            "one-partition": {
                "adminview": {"p50": 0.006, "p99": 0.01, "processor": 0.002},
                "over boto3": {"p50": 0.0055, "p99": 0.01, "processor": 0.0096},
                "boto3": {"p50": 0.005, "p99": 0.01, "processor": 0.008},
            }
        },
    }


def test_goals_are_ratios_of_the_measurements_and_know_whether_they_are_met() -> None:
    all_goals = goals(measurements())
    figures = {goal.name: goal.figure for goal in all_goals if goal.figure is not None}
    assert figures == pytest.approx(
        {
            "neutral/batch_writer": 9,
            "neutral/powertools": 50,
            "neutral/floor": 2.5,
            "ordinary/batch_writer": 18,
            "8 ms/batch_writer": 14,
            "cold start": 0.25,
            "ordinary/units": 0.6,
            "10,000 records": 0.12 / 0.11,
            "one batch": 2,
            "8 rows": 0.25 / 8 / (0.1 / 3),
            "6 MB batch": 130,
            "one-partition/processor": 0.25,
            "one-partition/p50": 1.2,
            "one-partition over boto3/processor": 1.2,
            "one-partition over boto3/p50": 1.1,
            "ordinary/summary units": 0.8,
            "ordinary/blind units": 0.75,
            "ordinary/units without owner": 0.5,
            "lean neutral/batch_writer": 7,
        }
    )
    missed = {"one batch", "6 MB batch", "one-partition/p50", "one-partition over boto3/processor"}
    without_limit = {
        "ordinary/blind units",
        "ordinary/units without owner",
        "lean neutral/batch_writer",
    }
    without_limit |= {"ordinary/summary units"}
    assert {goal.name for goal in all_goals if goal.met is False} == missed
    assert {goal.name for goal in all_goals if goal.met} == {*figures} - missed - without_limit


def test_a_goal_is_met_up_to_its_limit() -> None:
    assert Goal("ratio", "", 8.0, at_least=8).met
    assert not Goal("ratio", "", 7.9, at_least=8).met
    assert Goal("ratio", "", 1.1, at_most=1.1).met
    assert not Goal("ratio", "", 1.2, at_most=1.1).met
    assert Goal("ratio", "", None, at_most=1.1).met is None
    assert Goal("ratio", "", 1.2).met is None, "a goal without limits is neither met nor missed"


def test_the_time_of_a_record_is_split_into_a_part_per_record_and_a_part_per_row() -> None:
    assert per_record_and_row(measurements()) == pytest.approx((0.00001, 0.00003))


def test_a_run_without_measurements_is_reported_as_such() -> None:
    empty = {"machine": MACHINE}
    assert ratios(empty) == "ratios: nothing was measured"
    assert all(goal.met is None for goal in goals(empty))
    assert (growth(empty), per_record_and_row(empty)) == (None, None)
    assert report(empty)[-1] == ratios(empty)
    ET.fromstring(bar_chart(empty))  # noqa: S314 - our own


def test_a_run_is_stored_with_its_spread() -> None:
    timings: list[dict[str, float]] = [{"seconds": s, "processor": s} for s in (3, 1, 2)]
    run = Run("floor", "neutral", Load(100))
    results = {"timed": [summary(Part("part", (run,), 3), run, timings)]}
    assert timed(results, "floor") == 2
    assert timed(results, "floor", latency=8) is None
    assert results["timed"][0]["seconds"] == {"median": 2, "min": 1, "max": 3}
    assert (results["timed"][0]["rounds"], results["timed"][0]["records"]) == (3, 100)


def test_write_units_are_counted_call_by_call_on_the_existing_rows() -> None:
    (event,) = Load(1).batches()
    row, *_ = derive_raw_rows(event["Records"][0]["dynamodb"]["NewImage"])
    put, delete = {"TableName": "t", "Item": row}, {"TableName": "t", "Key": key_of(row)}
    table: dict[tuple[str, str], Any] = {}
    assert replay([put], table).total == 2  # the row, and its entry in the index by status
    assert replay([put], table).total == 1
    batch = {"RequestItems": {"t": [{"DeleteRequest": delete}, {"PutRequest": put}]}}
    assert replay([batch], table).total == 4
    assert replay([delete, delete], table).total == 3
    assert table == {}
    assert table_before(Load(1), with_provenance=True) == {}


def test_every_plan_measures_every_contender_and_the_runs_that_the_goals_need() -> None:
    for plan in (whole_plan(), quick_plan()):
        parts = list(plan)
        runs = [run for part in parts for run in part.runs]
        for part in parts[:2]:
            assert {run.contender for run in part.runs} == {*CONTENDERS}
        assert {run.latency for run in runs} == {0, 8}
        assert {run.stream for run in runs} == {"neutral", "ordinary"}
    assert {run.contender for run in lean_plan().runs} >= {
        "powertools",
        "batch_writer",
        "adminview",
    }
    records = {run.load.records for part in whole_plan() for run in part.runs}
    rows = {run.load.fan_out for part in whole_plan() for run in part.runs}
    assert (records >= {100, 1000, 10_000}, rows) == (True, {1, 3, 8})


def test_the_chart_is_well_formed_and_names_the_date_and_the_machine() -> None:
    svg = ET.fromstring(bar_chart(measurements()))  # noqa: S314 - our own
    texts = [element.text or "" for element in svg.iter() if element.tag.endswith("text")]
    assert "2026-11-16, 2 cores, Linux x86_64, Python 3.11.7" in texts
    assert "5.000 s  x50.0" in texts
    bars = [element for element in svg.iter() if element.tag.endswith("rect")]
    assert len(bars) == 6  # the contenders that were measured


def test_an_interrupted_run_prints_what_it_has_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def interrupt(_: object, results: dict[str, Any], *, quick: bool) -> None:
        results |= measurements()
        raise KeyboardInterrupt(quick)

    monkeypatch.setattr(bench.__main__, "measure", interrupt)
    monkeypatch.setattr(sys, "argv", ["bench", "--out", str(tmp_path)])
    with pytest.raises(SystemExit) as exited:
        bench.__main__.main()
    assert exited.value.code == 130
    assert capsys.readouterr().out.splitlines()[-1].startswith("ratios: neutral/batch_writer 9.00,")
    assert list(tmp_path.iterdir()) == []


def run_bench(monkeypatch: pytest.MonkeyPatch, root: Path, *options: str) -> None:
    """Run the command with made-up measurements, in a checkout at *root*."""
    monkeypatch.setattr(
        bench.__main__, "measure", lambda _, results, **__: results.update(measurements())
    )
    monkeypatch.setattr(bench.__main__, "ROOT", root)
    monkeypatch.setattr(bench.__main__, "KEPT", root / "bench" / "results")
    monkeypatch.setattr(sys, "argv", ["bench", "--out", str(root / "build" / "bench"), *options])
    bench.__main__.main()


PAGE = "# Title\n\n<!-- bench -->\nold\n<!-- end -->\n\nThe rest.\n"


def test_results_replace_the_tracked_ones_only_with_keep(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "docs" / "scale.md"
    page.parent.mkdir()
    page.write_text(PAGE)
    run_bench(monkeypatch, tmp_path)
    assert json.loads((tmp_path / "build/bench/latest.json").read_text())["timed"]
    assert not (tmp_path / "bench").exists()
    assert page.read_text() == PAGE

    run_bench(monkeypatch, tmp_path, "--keep")
    kept = json.loads((tmp_path / "bench/results/latest.json").read_text())
    assert page.read_text() == with_headline(PAGE, kept)
    assert page.read_text().count(headline(kept)) == 1
    assert page.read_text().endswith("\n<!-- end -->\n\nThe rest.\n")
    assert (tmp_path / "bench/results/latest.svg").read_text() == bar_chart(kept)
    assert (
        "powertools, 3 rows: adminview/cli/costing/baseline.py estimates" in capsys.readouterr().err
    )


def test_results_are_written_to_an_ignored_folder_by_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written: list[Path] = []
    monkeypatch.setattr(
        bench.__main__, "measure", lambda _, results, **__: results.update(measurements())
    )
    monkeypatch.setattr(bench.__main__, "write", lambda _, folder: written.append(folder))
    monkeypatch.setattr(sys, "argv", ["bench"])
    bench.__main__.main()
    assert written == [ROOT / "build" / "bench"]
    assert "build/" in (ROOT / ".gitignore").read_text().splitlines()


def test_a_quick_run_cannot_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["bench", "--quick", "--keep"])
    with pytest.raises(SystemExit):
        bench.__main__.main()


def test_estimates_that_differ_from_the_measurement_are_reported() -> None:
    exact = [
        timed_run("adminview", 1000 * (FIGURES.per_record + rows * FIGURES.per_row), fan_out=rows)
        for rows in (1, 3, 8)
    ]
    assert [*stale_estimates({"timed": exact})] == []
    (message,) = stale_estimates({"timed": [*exact, timed_run("powertools", 5.0)]})
    assert message.startswith("powertools, 3 rows: ")
    assert message.endswith(
        "estimates 3.200 s of a core for 1,000 records, this run measured 5.000 s"
    )


@pytest.mark.slow
def test_a_quick_run_ends_with_the_ratios_and_writes_its_results(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "bench", "--quick", "--out", str(tmp_path)],
        capture_output=True,
        check=True,
        cwd=ROOT,
        text=True,
    )
    *_, last = run.stdout.splitlines()
    kept = json.loads((tmp_path / "latest.json").read_text())
    assert last == kept["ratios"]
    assert last.startswith("ratios: neutral/batch_writer ")
    assert set(kept["counted"]["ordinary"]) == {*CONTENDERS, SUMMARY}
    assert set(kept["query"]) == {*QUERIES}
    assert set(kept["bulk"]) == {*LABELS}
    ET.parse(tmp_path / "latest.svg")  # noqa: S314 - our own
