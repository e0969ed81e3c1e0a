"""README and docs are true: commands exist, outputs are real, examples and links work."""

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from adminview.aws.observability import NOT_READY
from adminview.aws.settings import NAMESPACE
from adminview.cli.costing.load import read_loads
from adminview.cli.main import app
from adminview.cli.output.tables import patterns_markdown
from adminview.dead_letters.replay_summary import LetterOutcome
from adminview.sync.counts import BatchCounts
from bench.chart import bar_chart
from bench.figures import goals
from bench.report import headline
from tests.support.shop import registry
from tests.support.view_files import with_view_file

ROOT = Path(__file__).parents[1]
PLAIN = {"COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb"}
README = (ROOT / "README.md").read_text()


def blocks(mark: str) -> list[str]:
    """Find the code blocks behind a mark."""
    snippets = re.findall(rf"<!-- {mark} -->\n```\w*\n(.*?)```", README, re.DOTALL)
    assert snippets, mark
    return snippets


def squeezed(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


def test_the_demo_prints_what_the_readme_shows() -> None:
    """Run the real command, on the default engine."""
    command = [sys.executable, "-m", "adminview.cli.main", "demo"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, cwd=ROOT, env=os.environ | PLAIN
    )
    printed = squeezed(done.stdout)
    for block in blocks("demo"):
        shown = squeezed(block)
        start = printed.index(shown[0])
        assert printed[start : start + len(shown)] == shown
    assert any(line.startswith("error MissingAttributeError") for line in printed)


def test_the_table_of_access_patterns_is_the_registrys() -> None:
    assert patterns_markdown(registry()) in (ROOT / "docs" / "patterns.md").read_text()


def test_the_example_view_works_as_it_stands(tmp_path: Path) -> None:
    (example,) = blocks("view")
    model = with_view_file(tmp_path / "shipments.py", example)
    assert model.pattern("heavy-shipments").parameters == {"carrier": "S", "least": "N"}


DOCUMENTS = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_command_in_a_document_exists(document: Path) -> None:
    text = document.read_text()
    targets = set(re.findall(r"^([a-z0-9]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"(?:`|\$ )make ([a-z0-9]+)", text)) <= targets
    known = get_command(app).commands  # type: ignore[attr-defined]  # a group, which has them
    assert set(re.findall(r"(?:`|\$ )adminview ([a-z]+)", text)) <= set(known)


def test_the_readme_shows_commands() -> None:
    assert len(re.findall(r"^\$ adminview ", README, re.MULTILINE)) >= 4


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs" / "README.md").read_text()
    pages = {path.name for path in ROOT.glob("docs/*.md")} - {"README.md"}
    assert set(re.findall(r"\]\(([a-z]+\.md)\)", index)) == pages


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_paths_in_a_document_exist(document: Path) -> None:
    text = document.read_text()
    named = set(re.findall(r"`((?:adminview|infra|tests|bench|examples)/[\w./-]*\w/?)`", text))
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


def test_docs_state_what_was_measured() -> None:
    kept = json.loads((ROOT / "bench/results/latest.json").read_text())
    _, _, rest = (ROOT / "docs/scale.md").read_text().partition("<!-- bench -->\n")
    shown, _, _ = rest.partition("\n<!-- end -->")
    assert shown == headline(kept)
    assert (ROOT / "bench/results/latest.svg").read_text() == bar_chart(kept)
    assert not kept["quick"]


def test_the_readmes_range_covers_what_was_measured() -> None:
    (least, most) = map(float, re.findall(r"between (\d+) and (\d+) times less", README)[0])
    kept = json.loads((ROOT / "bench/results/latest.json").read_text())
    figures = {goal.name: goal.figure for goal in goals(kept)}
    for rows in ("neutral", "ordinary", "lean neutral", "lean ordinary"):
        figure = figures[f"{rows}/batch_writer"]
        assert figure is not None
        assert least <= figure <= most


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_a_picture_of_the_layers_shows_those_of_import_linter(page: str) -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    _, *layers = settings["contracts"][0]["layers"]  # __main__ runs the command
    text = (ROOT / page).read_text()
    names = [" +".join(layer.split(" | ")) for layer in layers]
    lines = [re.search(rf"^   ?{line} ", text, re.MULTILINE) for line in names]
    starts = [line.start() for line in lines if line]
    assert len(starts) == len(layers)
    assert starts == sorted(starts)


def test_the_load_in_the_guide_to_costs_is_one() -> None:
    page = (ROOT / "docs/scale.md").read_text()
    (block,) = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    (entry,) = json.loads(block).values()
    _, _, keys = page.partition("Further keys: ")
    more = re.findall(r"`(\w+)`", keys.partition("\n\n")[0])
    assert more == ["itemBytes", "items", "repeated", "appearing"]
    (load,) = read_loads({"Orders": entry | dict.fromkeys(more, 0.5)}, registry())
    assert load.indexes["GSI1"].rows == 1


def test_contributors_run_what_ci_runs() -> None:
    ci = (ROOT / ".ci/run").read_text()
    contributing = (ROOT / "CONTRIBUTING.md").read_text()
    for command in ("make test", "make check", "make slow", "make e2e"):
        assert f"$ {command}" in contributing
        assert f"\n{command}" in ci


def commands(command: Any, *words: str) -> Iterator[tuple[str, ...]]:
    """List a command and all that are below it, as they are typed."""
    yield words
    for name, below in getattr(command, "commands", {}).items():
        yield from commands(below, *words, name)


@pytest.mark.parametrize("words", [*commands(get_command(app))], ids=" ".join)
def test_every_command_and_every_option_explains_itself(words: tuple[str, ...]) -> None:
    done = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "200"})
    assert done.exit_code == 0
    assert "Usage" in done.stdout
    command: Any = get_command(app)
    for word in words:
        command = command.commands[word]
    assert command.help
    assert [
        parameter.name for parameter in command.params if not getattr(parameter, "help", None)
    ] == []


def test_the_command_itself_explains_itself() -> None:
    requested = [sys.executable, "-m", "adminview.cli.main", "--help"]
    done = subprocess.run(requested, capture_output=True, text=True, check=True, cwd=ROOT)
    assert "Usage" in done.stdout


def test_every_metric_in_the_runbook_is_emitted_and_every_one_emitted_is_in_it() -> None:
    listed = (ROOT / "docs" / "runbook.md").read_text().split("All metrics are")[1]
    named = set(re.findall(r"`([A-Z][A-Za-z]+)`", listed.split("\n## ")[0])) - {NAMESPACE}
    replay = {f"Letters{outcome.title().replace('_', '')}" for outcome in LetterOutcome}
    verify = {"Checked", "Drift", "VerifyUnfinished"}
    reported = {*BatchCounts().counts(), "LagOfNewestRecord", "AgeOfOldestLetter"}
    totals = {"TotalsLag", "TotalsSkipped", "TotalsUpdated"}
    assert named == reported | replay | verify | totals | {NOT_READY}


def test_the_runbook_states_what_an_error_of_each_function_means() -> None:
    alarms = (ROOT / "tests" / "infra" / "alarms.md").read_text()
    runbook = (ROOT / "docs" / "runbook.md").read_text()
    section = runbook.split("\n## errors\n")[1].split("\n## ")[0]
    rows = "".join(re.findall(r"^\| (`[^|]+) \|", section, re.MULTILINE))
    assert set(re.findall(r"`(\w+)`", rows)) == set(
        re.findall(r"^\| errors-(\w+)", alarms, re.MULTILINE)
    )


def test_the_readme_names_a_command_for_each_failure_that_one_repairs() -> None:
    section = README.split("## Failures")[1].split("\n## ")[0]
    for words in commands(get_command(app)):
        if words[:1] in (("dlq",), ("explain",), ("reconcile",), ("verify",)):
            assert f"adminview {words[0]}" in section


def test_the_doctor_of_the_readme_finds_what_the_readme_deploys() -> None:
    """Names in AWS are made of both, so both commands need both."""
    deployed = re.findall(r"^\$ npx cdk deploy --all(.*)$", README, re.MULTILINE)
    places = {tuple(re.findall(r"-c adminview:(?:stage|prefix)=(\S+)", line)) for line in deployed}
    (looked_at,) = re.findall(r"^\$ adminview doctor (--.*)$", README, re.MULTILINE)
    assert tuple(re.findall(r"--(?:stage|prefix) (\S+)", looked_at)) in places


def anchors(document: Path) -> set[str]:
    """Name the headings of a document as GitHub links to them."""
    headings = re.findall(r"^#+ (.+)$", document.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document: Path) -> None:
    links = re.findall(r"\]\(([^)#:]*)(?:#([^)]+))?\)", document.read_text())
    for path, anchor in links:
        target = document.parent / path if path else document
        assert target.exists(), path
        assert not anchor or anchor in anchors(target), f"{path}#{anchor}"


def test_the_migration_in_the_guide_is_one() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/evolve.md").read_text(), re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102 - our own
    assert names["delivery_date"].name == "orders-delivery-date"


@pytest.mark.parametrize("document", [ROOT / "Makefile", *DOCUMENTS], ids=lambda path: path.name)
def test_modules_that_are_run_exist(document: Path) -> None:
    run = set(re.findall(r"python -m ((?:bench|examples|tests)[\w.]*\w)", document.read_text()))
    assert [module for module in sorted(run) if find_spec(module) is None] == []


def test_the_readme_stays_short() -> None:
    assert len(README.splitlines()) <= 116
