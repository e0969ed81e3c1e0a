"""The arithmetic between what was measured and what is told."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

import bench.__main__
from adminview.cli.costing.baseline import FIGURES
from bench.asking.model import QUESTIONS
from bench.bulk.measure import WENT
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
from bench.picture import picture
from bench.plan import GROWTH, LEAN, SUMMARY, Part, Run, lean_plan, quick_plan, whole_plan
from bench.report import headline, report, with_headline
from bench.streams import Load
from bench.units import replay, table_before
from bench.ways import WAYS
from bench.ways.rows import key_of, wire_rows_of

ROOT = Path(__file__).parents[2]
MACHINE = {"date": "2026-11-16", "cores": 2, "python": "3.11.7", "system": "Linux x86_64"}


def line(way: str, processor: float, **where: Any) -> dict[str, Any]:
    """Write a run down as the measurement does."""
    seconds = where.pop("seconds", processor)
    what = {"part": "p", "stream": "neutral", "latency": 0, "rounds": 3}
    load = {"records": 1000, "fan_out": 3, "batch": 1000}
    took = {"processor": spread([processor]), "seconds": spread([seconds]), "calls": spread([120])}
    return {**what, **load, "way": way, **took, **where}


def found() -> dict[str, Any]:
    """Make up measurements."""
    runs = [
        line("adminview", 0.1),
        line("batch_writer", 0.9),
        line("usual", 5.0),
        line("floor", 0.04),
        line("adminview", 0.05, stream="ordinary"),
        line("batch_writer", 0.9, stream="ordinary"),
        line("adminview", 0.1, latency=8, seconds=0.15),
        line("batch_writer", 0.9, latency=8, seconds=2.1),
        line("adminview", 0.04, fan_out=1),
        line("adminview", 0.25, fan_out=8),
        line("adminview", 0.11, part=GROWTH, records=10_000),
        line("adminview", 0.12, part=GROWTH, records=10_000, batch=2500),
        line("adminview", 0.22, part=GROWTH, records=10_000, batch=10_000),
        line("adminview", 0.1, part=LEAN),
        line("batch_writer", 0.7, part=LEAN),
    ]
    sent = {
        "adminview": {"units": 3000, "units without owner": 2000},
        "pseudo_code": {"units": 5000},
        "pseudo_code, summaries": {"units": 3750},
        "usual": {"units": 4000},
    }
    cold = {
        "adminview": {"processor": spread([0.2]), "seconds": spread([0.3])},
        "usual": {"processor": spread([0.8]), "seconds": spread([0.9])},
    }
    return {
        "machine": MACHINE,
        "timed": runs,
        "counted": {"ordinary": sent},
        "cold": cold,
        "memory": {"adminview": 130.0},
        "asking": {
            "one-partition": {
                "adminview": {"p50": 0.006, "p99": 0.01, "processor": 0.002},
                "over boto3": {"p50": 0.0055, "p99": 0.01, "processor": 0.0096},
                "boto3": {"p50": 0.005, "p99": 0.01, "processor": 0.008},
            }
        },
    }


def test_goals_are_ratios_of_what_was_measured_and_say_whether_they_are_met() -> None:
    told = goals(found())
    figures = {goal.name: goal.figure for goal in told if goal.figure is not None}
    assert figures == pytest.approx(
        {
            "neutral/batch_writer": 9,
            "neutral/usual": 50,
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
            "ordinary/own units": 0.5,
            "lean neutral/batch_writer": 7,
        }
    )
    missed = {"one batch", "6 MB batch", "one-partition/p50", "one-partition over boto3/processor"}
    only_told = {"ordinary/blind units", "ordinary/own units", "lean neutral/batch_writer"}
    only_told |= {"ordinary/summary units"}
    assert {goal.name for goal in told if goal.met is False} == missed
    assert {goal.name for goal in told if goal.met} == {*figures} - missed - only_told


def test_a_goal_is_met_up_to_its_limit() -> None:
    assert Goal("one", "", 8.0, least=8).met
    assert not Goal("one", "", 7.9, least=8).met
    assert Goal("one", "", 1.1, most=1.1).met
    assert not Goal("one", "", 1.2, most=1.1).met
    assert Goal("one", "", None, most=1.1).met is None
    assert Goal("one", "", 1.2).met is None, "nothing was promised"


def test_the_cost_of_a_record_is_split_into_its_own_and_that_of_its_rows() -> None:
    assert per_record_and_row(found()) == pytest.approx((0.00001, 0.00003))


def test_nothing_measured_is_told_as_nothing() -> None:
    nothing = {"machine": MACHINE}
    assert ratios(nothing) == "ratios: nothing was measured"
    assert all(goal.met is None for goal in goals(nothing))
    assert (growth(nothing), per_record_and_row(nothing)) == (None, None)
    assert report(nothing)[-1] == ratios(nothing)
    ET.fromstring(picture(nothing))  # noqa: S314 - our own


def test_a_run_is_put_down_per_thousand_with_its_spread() -> None:
    took: list[dict[str, float]] = [{"seconds": one, "processor": one} for one in (3, 1, 2)]
    run = Run("floor", "neutral", Load(100))
    told = {"timed": [summary(Part("part", (run,), 3), run, took)]}
    assert timed(told, "floor") == 2
    assert timed(told, "floor", latency=8) is None
    assert told["timed"][0]["seconds"] == {"median": 2, "least": 1, "most": 3}
    assert (told["timed"][0]["rounds"], told["timed"][0]["records"]) == (3, 100)


def test_write_units_are_counted_call_by_call_on_the_rows_that_are_there() -> None:
    (event,) = Load(1).batches()
    row, *_ = wire_rows_of(event["Records"][0]["dynamodb"]["NewImage"])
    put, gone = {"TableName": "t", "Item": row}, {"TableName": "t", "Key": key_of(row)}
    table: dict[tuple[str, str], Any] = {}
    assert replay([put], table).total == 2  # the row, and its place by status
    assert replay([put], table).total == 1
    batch = {"RequestItems": {"t": [{"DeleteRequest": gone}, {"PutRequest": put}]}}
    assert replay([batch], table).total == 4
    assert replay([gone, gone], table).total == 3
    assert table == {}
    assert table_before(Load(1), stamped=True) == {}


def test_every_plan_measures_every_way_and_what_the_goals_need() -> None:
    for plan in (whole_plan(), quick_plan()):
        parts = list(plan)
        runs = [run for part in parts for run in part.runs]
        assert {run.way for run in parts[0].runs} == {run.way for run in parts[1].runs} == {*WAYS}
        assert {run.latency for run in runs} == {0, 8}
        assert {run.stream for run in runs} == {"neutral", "ordinary"}
    assert {run.way for run in lean_plan().runs} >= {"usual", "batch_writer", "adminview"}
    records = {run.load.records for part in whole_plan() for run in part.runs}
    rows = {run.load.fan_out for part in whole_plan() for run in part.runs}
    assert (records >= {100, 1000, 10_000}, rows) == (True, {1, 3, 8})


def test_the_picture_is_well_formed_and_says_when_and_on_what() -> None:
    drawn = ET.fromstring(picture(found()))  # noqa: S314 - our own
    texts = [one.text or "" for one in drawn.iter() if one.tag.endswith("text")]
    assert "2026-11-16, 2 cores, Linux x86_64, Python 3.11.7" in texts
    assert "5.000 s  x50.0" in texts
    bars = [one for one in drawn.iter() if one.tag.endswith("rect")]
    assert len(bars) == 6  # those that were measured


def test_who_stops_it_is_told_what_was_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def stop(_: object, into: dict[str, Any], *, quick: bool) -> None:
        into |= found()
        raise KeyboardInterrupt(quick)

    monkeypatch.setattr(bench.__main__, "measure", stop)
    monkeypatch.setattr(sys, "argv", ["bench", "--out", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        bench.__main__.main()
    assert ended.value.code == 130
    assert capsys.readouterr().out.splitlines()[-1].startswith("ratios: neutral/batch_writer 9.00,")
    assert list(tmp_path.iterdir()) == []


def finish(monkeypatch: pytest.MonkeyPatch, root: Path, *words: str) -> None:
    """Run the command as if it had measured what is made up here, in a checkout at *root*."""
    monkeypatch.setattr(bench.__main__, "measure", lambda _, into, **__: into.update(found()))
    monkeypatch.setattr(bench.__main__, "ROOT", root)
    monkeypatch.setattr(bench.__main__, "KEPT", root / "bench" / "results")
    monkeypatch.setattr(sys, "argv", ["bench", "--out", str(root / "build" / "bench"), *words])
    bench.__main__.main()


PAGE = "# Title\n\n<!-- bench -->\nold\n<!-- end -->\n\nThe rest.\n"


def test_results_replace_the_tracked_ones_only_if_asked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "docs" / "scale.md"
    page.parent.mkdir()
    page.write_text(PAGE)
    finish(monkeypatch, tmp_path)
    assert json.loads((tmp_path / "build/bench/latest.json").read_text())["timed"]
    assert not (tmp_path / "bench").exists()
    assert page.read_text() == PAGE

    finish(monkeypatch, tmp_path, "--keep")
    kept = json.loads((tmp_path / "bench/results/latest.json").read_text())
    assert page.read_text() == with_headline(PAGE, kept)
    assert page.read_text().count(headline(kept)) == 1
    assert page.read_text().endswith("\n<!-- end -->\n\nThe rest.\n")
    assert (tmp_path / "bench/results/latest.svg").read_text() == picture(kept)
    assert "usual, 3 rows: adminview/cli/costing/baseline.py estimates" in capsys.readouterr().err


def test_by_default_results_go_where_git_ignores_them(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[Path] = []
    monkeypatch.setattr(bench.__main__, "measure", lambda _, into, **__: into.update(found()))
    monkeypatch.setattr(bench.__main__, "write", lambda _, folder: written.append(folder))
    monkeypatch.setattr(sys, "argv", ["bench"])
    bench.__main__.main()
    assert written == [ROOT / "build" / "bench"]
    assert "build/" in (ROOT / ".gitignore").read_text().splitlines()


def test_a_quick_run_cannot_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["bench", "--quick", "--keep"])
    with pytest.raises(SystemExit):
        bench.__main__.main()


def test_estimates_that_a_run_contradicts_are_named() -> None:
    exact = [
        line("adminview", 1000 * (FIGURES.per_record + rows * FIGURES.per_row), fan_out=rows)
        for rows in (1, 3, 8)
    ]
    assert [*stale_estimates({"timed": exact})] == []
    (told,) = stale_estimates({"timed": [*exact, line("usual", 5.0)]})
    assert told.startswith("usual, 3 rows: ")
    assert told.endswith("estimates 3.200 s of a core for 1,000 records, this run measured 5.000 s")


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
    assert set(kept["counted"]["ordinary"]) == {*WAYS, SUMMARY}
    assert set(kept["asking"]) == {*QUESTIONS}
    assert set(kept["whole tables"]) == {*WENT}
    ET.parse(tmp_path / "latest.svg")  # noqa: S314 - our own
