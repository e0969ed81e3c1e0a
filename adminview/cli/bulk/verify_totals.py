"""Run a verification of totals for the command."""

import json
from dataclasses import replace

from adminview.bulk.verify.scope import Scope
from adminview.bulk.verify.totals import TotalsVerifier
from adminview.bulk.verify.totals_run import TotalsRun
from adminview.cli.output.printing import Console
from adminview.cli.output.progress import progress_bar
from adminview.cli.output.verify import STOPPED
from adminview.cli.output.verify_totals import as_data, show
from adminview.model import Registry
from adminview.model.errors import ServiceError

EQUAL, DIFFERENT, UNFINISHED = 0, 1, 2  # exit statuses


def compare_totals(
    verifier: TotalsVerifier, scope: Scope, model: Registry, console: Console, *, as_json: bool
) -> int:
    """Run a verification, print the result, and return the exit status."""
    run = verifier.begin(scope)
    trouble = _run(verifier, run)
    status = UNFINISHED if trouble else DIFFERENT if run.counts["differing"] else EQUAL
    if as_json:
        console.write_json(json.dumps(as_data(run, model, status, trouble), indent=2))
    else:
        show(run, model, status, trouble, console)
    return status


def _run(verifier: TotalsVerifier, run: TotalsRun) -> str:
    """Run to the end and return "", or return why it stopped."""
    try:
        with progress_bar("rows", lambda: _expected(verifier, run)) as move:
            replace(verifier, watch=lambda now: move(now.scanned)).verify(run)
    except ServiceError as error:
        return str(error)
    return "" if run.finished else STOPPED


def _expected(verifier: TotalsVerifier, run: TotalsRun) -> int | None:
    """Estimate the rows to scan; None if the view table cannot be described."""
    try:
        count = verifier.reader.count(verifier.view_table, deadline=verifier.deadline())
    except ServiceError:
        return None
    return count * len(run.left)
