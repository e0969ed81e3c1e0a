"""`adminview dev` prints what `adminview check` finds in the view files."""

from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest

from adminview.checks.finding import ModelFinding
from adminview.checks.sampled import CheckError, SampleItem
from adminview.cli.commands.dev import check_rows, print_findings
from adminview.local.dev.item_checks import ItemChecks
from adminview.model import Registry
from tests.support.view_files import load_view_file

NO_RECORDS: Any = SimpleNamespace(printer=SimpleNamespace(sources=set()))
VIEWS = """
import boto3

from adminview import Index, Row, Source, view

parcels = Source("Parcels", partition_key="id")
by_day = Index("ByDay", partition="day")


@view(parcels)
def parcel(item):
    yield Row(item["id"], "DETAILS", indexes=[by_day(item["day"])])
"""


def test_imports_and_unused_indexes_are_printed_with_their_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    print_findings(Registry.of([load_view_file(tmp_path / "dev_findings.py", VIEWS)]))
    imported, unused = capsys.readouterr().out.splitlines()
    assert "dev_findings.py:2: error: " in imported
    assert "boto3" in imported
    assert "dev_findings.py:7: warning: " in unused
    assert "ByDay" in unused


def test_a_sample_that_cannot_be_derived_is_reported_unless_the_command_ends(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = Registry.of([load_view_file(tmp_path / "dev_findings.py", VIEWS)])
    items = [SampleItem(model.sources[0], {"id": {"S": "p-1"}})]

    def fail(*_: object) -> list[ModelFinding]:
        msg = "the rows of the sample cannot be derived"
        raise CheckError(msg)

    files: Any = SimpleNamespace(are_loaded=True)
    for is_stopped, printed in ((False, "the rows of the sample cannot be derived"), (True, "")):
        stop: Any = SimpleNamespace(event=Event())
        if is_stopped:
            stop.event.set()
        checks = ItemChecks(lambda _: items, list[str]().append, fail)
        for _ in range(3):  # settled at the second look, and not derived at the third
            check_rows(checks, model, NO_RECORDS, files, stop)
        shown = capsys.readouterr().err.strip()
        assert shown == (f"adminview: {printed}" if printed else "")


def test_a_check_that_a_saved_file_disturbs_is_made_again_and_not_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = Registry.of([load_view_file(tmp_path / "dev_findings.py", VIEWS)])
    items = [SampleItem(model.sources[0], {"id": {"S": "p-1"}})]
    files: Any = SimpleNamespace(are_loaded=True)
    stop: Any = SimpleNamespace(event=Event())
    derived: list[Registry] = []

    def disturbed(model: Registry, _: object) -> list[ModelFinding]:
        derived.append(model)
        files.are_loaded = False
        msg = "a view file has changed meanwhile: check again"
        raise CheckError(msg)

    checks = ItemChecks(lambda _: items, list[str]().append, disturbed)
    for is_loaded, number in ((True, 0), (True, 1), (False, 1), (True, 2)):
        files.are_loaded = is_loaded
        check_rows(checks, model, NO_RECORDS, files, stop)
        assert len(derived) == number
    assert capsys.readouterr().err == ""
