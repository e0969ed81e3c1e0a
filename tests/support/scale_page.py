"""The computed parts of docs/scale.md: `python -m tests.support.scale_page` writes them."""

import json
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from adminview.cli.costing.prices import Prices
from adminview.cli.main import app
from bench.figures import timed
from bench.plan import LATENCY, OURS
from bench.report import describe_machine, number
from bench.totals import measure as totals
from tests.support.scale_tables import figures, growth, limits
from tests.support.shop import registry

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "scale.md"
KEPT = ROOT / "bench" / "results" / "latest.json"
ROWS: Mapping[str, dict[str, Any]] = {
    "1": {"fan_out": 1},
    "3": {},
    "8": {"fan_out": 8},
    "3, with 35 % repeated changes, a quarter of the changes in no row": {"stream": "ordinary"},
}
PLAIN_TERMINAL = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}


def session(text: str) -> str:
    """Run the command of a console block again, and return the block with its new output."""
    fence, command, *_ = text.splitlines()
    arguments = shlex.split(command.removeprefix("$ adminview "))
    result = CliRunner().invoke(app, arguments, env=PLAIN_TERMINAL, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    printed = "\n".join(line.rstrip() for line in result.stdout.splitlines())
    return f"{fence}\n{command}\n{printed.rstrip()}\n```"


def measured() -> str:
    """Return the figures of the tracked run that this page uses, as a table."""
    results = json.loads(KEPT.read_text())
    machine, delayed = results["machine"], {"latency": LATENCY}
    lines = [
        f"On {machine['date']}, on one of {describe_machine(machine)}, with `python -m bench`:",
        "",
        f"| rows of an item | processor time | elapsed | elapsed, {LATENCY} ms a call | calls |",
        "| --- | --- | --- | --- | --- |",
    ]
    for label, conditions in ROWS.items():
        times = [timed(results, OURS, figure, **conditions) for figure in ("processor", "seconds")]
        times.append(timed(results, OURS, "seconds", **conditions, **delayed))
        calls = timed(results, OURS, "calls", **conditions)
        cells = " | ".join(f"{number(seconds, 3)} s" for seconds in times)
        lines.append(f"| {label} | {cells} | {number(calls)} |")
    return "\n".join(lines)


PARTS: Mapping[str, Callable[[str], str]] = {
    "measured": lambda _: measured(),
    "figures": lambda _: figures(),
    "growth": lambda _: growth(registry(), Prices()),
    "limits": lambda _: limits(registry()),
    "cost": session,
    "totals": lambda _: totals.markdown(json.loads(KEPT.read_text())["totals"]),
}


def with_computed_parts(page: str) -> str:
    """Return the page with each part between its mark and the end mark computed again."""
    for name, part in PARTS.items():
        before, mark, rest = page.partition(f"<!-- {name} -->\n")
        old, end, after = rest.partition("\n<!-- end -->")
        assert mark, name
        assert end, name
        page = before + mark + part(old) + end + after
    return page


if __name__ == "__main__":
    PAGE.write_text(with_computed_parts(PAGE.read_text()))
