"""`adminview dev` prints what `adminview check` finds in the view files."""

from pathlib import Path

import pytest

from adminview.cli.commands.dev import print_findings
from adminview.model import Registry
from tests.support.view_files import load_view_file

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
