"""The computed parts of docs/scale.md: `python -m tests.support.scale_page` writes them."""

import json
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from adminview.cli.costing.growth import figures, growth, limits
from adminview.cli.costing.prices import Prices
from adminview.cli.main import app
from bench.figures import timed
from bench.plan import LATENCY, OURS
from bench.report import described, number
from bench.totals import measure as totals
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
PLAIN = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}


def session(text: str) -> str:
    """Run the command of a console block again, and show what it prints."""
    fence, command, *_ = text.splitlines()
    words = shlex.split(command.removeprefix("$ adminview "))
    done = CliRunner().invoke(app, words, env=PLAIN, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    printed = "\n".join(line.rstrip() for line in done.stdout.splitlines())
    return f"{fence}\n{command}\n{printed.rstrip()}\n```"


def measured() -> str:
    """Show what the kept run took, as far as this page reckons with it."""
    found = json.loads(KEPT.read_text())
    about, at_8_ms = found["machine"], {"latency": LATENCY}
    lines = [
        f"On {about['date']}, on one of {described(about)}, with `python -m bench`:",
        "",
        f"| rows of an item | processor time | elapsed | elapsed, {LATENCY} ms a call | calls |",
        "| --- | --- | --- | --- | --- |",
    ]
    for told, where in ROWS.items():
        took = [timed(found, OURS, what, **where) for what in ("processor", "seconds")]
        took.append(timed(found, OURS, "seconds", **where, **at_8_ms))
        calls = timed(found, OURS, "calls", **where)
        cells = " | ".join(f"{number(one, 3)} s" for one in took)
        lines.append(f"| {told} | {cells} | {number(calls)} |")
    return "\n".join(lines)


PARTS: Mapping[str, Callable[[str], str]] = {
    "measured": lambda _: measured(),
    "figures": lambda _: figures(),
    "growth": lambda _: growth(registry(), Prices()),
    "limits": lambda _: limits(registry()),
    "cost": session,
    "totals": lambda _: totals.markdown(json.loads(KEPT.read_text())["totals"]),
}


def reckoned(page: str) -> str:
    """Write each part anew that stands between its mark and an end."""
    for name, part in PARTS.items():
        before, mark, rest = page.partition(f"<!-- {name} -->\n")
        old, end, after = rest.partition("\n<!-- end -->")
        assert mark, name
        assert end, name
        page = before + mark + part(old) + end + after
    return page


if __name__ == "__main__":
    PAGE.write_text(reckoned(PAGE.read_text()))
