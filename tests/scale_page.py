"""The parts of docs/scale.md that are reckoned: `python -m tests.scale_page` writes them anew."""

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path

from typer.testing import CliRunner

from cli.costing.growth import figures, growth, limits
from cli.costing.prices import Prices
from cli.main import app
from tests.shop import registry

PAGE = Path(__file__).parents[1] / "docs" / "scale.md"
PLAIN = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}


def session(text: str) -> str:
    """Run the command of a console block again, and show what it prints."""
    fence, command, *_ = text.splitlines()
    words = shlex.split(command.removeprefix("$ adminview "))
    done = CliRunner().invoke(app, words, env=PLAIN, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    printed = "\n".join(line.rstrip() for line in done.stdout.splitlines())
    return f"{fence}\n{command}\n{printed.rstrip()}\n```"


PARTS: Mapping[str, Callable[[str], str]] = {
    "figures": lambda _: figures(),
    "growth": lambda _: growth(registry(), Prices()),
    "limits": lambda _: limits(registry()),
    "cost": session,
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
