"""The examples of docs/views.md are the files of an app that loads and passes its tests."""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from adminview.model.item import encode
from tests.support.adopter import adopter_environment

PAGE = (Path(__file__).parents[2] / "docs" / "views.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)```", PAGE, re.DOTALL | re.MULTILINE)
PATH = re.compile(r"# ((?:lambdas/views|tests)/\w+\.py)\n")


def files() -> dict[str, str]:
    """Put the blocks of each file together, in the order of the page."""
    texts: dict[str, str] = {}
    for block in BLOCKS:
        if block.startswith(" "):  # lines of an earlier block, shown again
            assert block in "".join(texts.values())
            continue
        named = PATH.match(block)
        assert named, f"a block does not begin with the path of its file:\n{block}"
        path = named[1]
        texts[path] = texts.get(path, "") + "\n\n" + block[named.end() :]
    return texts


@pytest.fixture
def app(tmp_path: Path) -> Path:
    for path, text in files().items():
        file = tmp_path / "app" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    for package in ("lambdas", "lambdas/views"):
        (tmp_path / "app" / package / "__init__.py").touch()
    return tmp_path / "app"


@pytest.fixture
def run(app: Path) -> Callable[..., str]:
    return partial(run_in, app, adopter_environment(app.parent))


def run_in(app: Path, environment: dict[str, str], *words: str, **variables: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *words],
        cwd=app,
        env=environment | {"COLUMNS": "200"} | variables,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_tests_on_the_page_pass(run: Callable[..., str]) -> None:
    printed = run("pytest", "-q", "-p", "no:cacheprovider", "tests")
    shown = sum(text.count("\ndef test_") for text in files().values())
    assert f"{shown} passed" in printed


def test_the_page_has_no_mistakes_that_check_finds(app: Path, run: Callable[..., str]) -> None:
    file = app / "items.jsonl"
    run("pytest", "-q", "-p", "no:cacheprovider", "tests", ADMINVIEW_ITEMS_FILE=str(file))
    assert "0 errors, 0 warnings" in run("adminview", "check", "--items-file", str(file))


def test_the_view_files_on_the_page_are_one_model_whose_patterns_are_all_described(
    run: Callable[..., str],
) -> None:
    printed = run("adminview", "patterns")
    views = "".join(text for path, text in files().items() if path.startswith("lambdas"))
    names = re.findall(r'AccessPattern\(\s*"([a-z-]+)"', views)
    assert len(names) == 12
    assert [name for name in names if name not in printed] == []


def test_the_preview_on_the_page_reads_an_item_from_a_file_and_from_the_aws_cli(
    app: Path, run: Callable[..., str]
) -> None:
    assert "$ adminview preview Tickets ticket.json\n" in PAGE
    assert "| adminview preview Tickets -\n" in PAGE
    (text,) = re.findall(r"^TICKET = (\{.*?^\})", PAGE, re.DOTALL | re.MULTILINE)
    ticket = ast.literal_eval(text)
    (app / "ticket.json").write_text(json.dumps(ticket))
    printed = run("adminview", "preview", "Tickets", "ticket.json")
    assert "TICKET#t-1" in printed
    assert "TAG#lamp" in printed
    typed = {"Item": {name: encode(value) for name, value in ticket.items()}}
    (app / "item.json").write_text(json.dumps(typed))
    assert run("adminview", "preview", "Tickets", "item.json") == printed
