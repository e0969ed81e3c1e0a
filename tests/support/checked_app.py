"""`adminview check` of view files that a test writes."""

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from adminview.cli.main import app as command

HEAD = """\
from adminview import AccessPattern, Index, Join, Row, Source, Total, key, migration, number, view

pets = Source("Pets", partition_key="id")
"""
PET = """

@view(pets)
def pet(item):
    yield Row(key("PET", item["id"]), "DETAILS", data=item.pick("id"))
"""


def check(*words: str) -> tuple[int, list[str]]:
    """Run the command; returns its status and the lines that it prints."""
    result = CliRunner().invoke(command, ["check", *words])
    assert isinstance(result.exception, SystemExit | None), result.exception
    return result.exit_code, result.stdout.splitlines()


def sample(*items: dict[str, Any], source: str = "Pets") -> tuple[str, str]:
    """Write items to a file in the current folder; returns the option that names it."""
    lines = [json.dumps({"source": source, "item": item}) for item in items]
    Path("sample.jsonl").write_text("\n".join(lines))
    return "--items-file", "sample.jsonl"
