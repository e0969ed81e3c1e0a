"""`adminview check`: find mistakes in view files before they are deployed."""

import json
from collections import Counter
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from adminview.checks.finding import Level, ModelFinding, load_finding
from adminview.checks.read_sample import read_sample
from adminview.checks.sampled import FAILED, sample_findings
from adminview.checks.static import VIEW_REQUIREMENTS, static_findings
from adminview.cli.errors import UsageError, usage_errors
from adminview.cli.options import Json
from adminview.cli.output.printing import Console, doing, echo, print_json
from adminview.item_files import LINE
from adminview.views import load_errors, registry, views_package

SOUND, UNSOUND = 0, 1  # exit statuses
STYLES = {Level.ERROR: "red", Level.WARNING: "yellow"}
NO_ITEMS = "Rows were not checked: name a file of items with --items-file."
FAILED_ITEMS = (
    "Templates, indexes and totals were not compared with the rows: first fix the views that fail."
)


def check(
    *,
    items: Annotated[
        list[str] | None,
        typer.Option(
            "--items-file", metavar="FILE", help=f"Items, one per line: {LINE}; may be repeated."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Find mistakes in view files, each with its file and line.

    Errors: a file that cannot be loaded, declarations that contradict or
    replace each other, rows that a view does not yield, and imports of packages
    that a view may not use. Warnings: indexes and totals that no access pattern
    uses.

    With --items-file, the rows of each of these items are derived. Then these
    are errors too: a view that fails; rows that differ when an item is derived
    twice, after other items, under another clock or with another random seed;
    templates of access patterns and joins that no row can match; indexes and
    totals that no row fills. A view that applies to none of these items is a
    warning.

    Exit status: 0 no errors, 1 errors.
    """
    findings, count = _examine(items or [])
    status = UNSOUND if any(finding.level is Level.ERROR for finding in findings) else SOUND
    if as_json:
        data = {"status": status, "findings": [finding.data() for finding in findings]}
        print_json(json.dumps(data, indent=2))
    else:
        _show(findings, count)
    raise typer.Exit(status)


def _examine(files: Sequence[str]) -> tuple[list[ModelFinding], int]:
    """Return the findings, and the number of items that were derived."""
    if errors := load_errors():
        return [load_finding(error) for error in errors], 0
    model = registry()
    with usage_errors():
        items = read_sample(files, model)
    if files and not items:
        msg = f"{', '.join(files)}: no items"
        raise UsageError(msg)
    doing(f"deriving the rows of {len(items)} items" if items else "checking the view files")
    findings = static_findings(model, view_requirements())
    return findings + (sample_findings(model, items) if items else []), len(items)


def view_requirements() -> Path | None:
    """Return the file that lists the packages of the functions, whether or not it exists."""
    package = views_package().rpartition(".")[0]
    spec = find_spec(package) if package else None
    folders = spec.submodule_search_locations if spec else None
    return Path(next(iter(folders))) / VIEW_REQUIREMENTS if folders else None


def _show(findings: Sequence[ModelFinding], count: int) -> None:
    console = Console()
    for finding in findings:
        console.print(str(finding), style=STYLES[finding.level], soft_wrap=True)
    levels = Counter(finding.level for finding in findings)
    counts = [f"{levels[level]} {level}{'s' * (levels[level] != 1)}" for level in Level]
    checked = f"; {count} {'item' if count == 1 else 'items'} checked" if count else ""
    echo(", ".join(counts) + checked)
    if not count and Level.ERROR not in levels:
        echo(NO_ITEMS)
    if any(finding.rule == FAILED for finding in findings):
        echo(FAILED_ITEMS)
