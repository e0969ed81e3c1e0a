"""What the README says is so: its commands exist, its outputs are real, its example works."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from adminview.aws.settings import NAMESPACE
from adminview.aws.view_reader import ViewReader
from adminview.aws.view_readers import Boto3Reader
from adminview.cli.main import app
from adminview.cli.output.tables import patterns_markdown
from adminview.dead_letters.replay import LetterOutcome
from adminview.query.engine import QueryEngine
from adminview.sync.counts import BatchCounts
from bench.picture import picture
from bench.report import headline
from tests.support.shop import registry
from tests.support.view_files import with_view_file

ROOT = Path(__file__).parents[1]
PLAIN = {"COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb"}
README = (ROOT / "README.md").read_text()


def blocks(mark: str) -> list[str]:
    """Find the code blocks behind a mark."""
    found = re.findall(rf"<!-- {mark} -->\n```\w*\n(.*?)```", README, re.DOTALL)
    assert found, mark
    return found


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
    assert "error MissingAttributeError" in printed


def test_the_table_of_access_patterns_is_the_registrys() -> None:
    assert patterns_markdown(registry()) in (ROOT / "docs" / "patterns.md").read_text()


def test_the_example_view_works_as_it_stands(tmp_path: Path) -> None:
    (example,) = blocks("view")
    model = with_view_file(tmp_path / "shipments.py", example)
    assert model.pattern("heavy-shipments").parameters == {"carrier": "S", "least": "N"}


def test_every_command_in_the_readme_exists() -> None:
    targets = set(re.findall(r"^([a-z0-9]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"(?:`|\$ )make ([a-z0-9]+)", README)) <= targets
    commands = get_command(app).commands  # type: ignore[attr-defined]  # a group, which has them
    used = set(re.findall(r"(?<!from )adminview\s+([a-z]+)", README))
    assert used
    assert used <= set(commands)


class Client:
    """A boto3 client, which has binary as bytes."""

    def query(self, **_: object) -> dict[str, Any]:
        row = {"PK": {"S": "p"}, "SK": {"S": "s"}, "data": {"B": b"x"}}
        return {"Items": [row | {"GSI1_PK": {"S": "a"}, "GSI1_SK": {"S": "b"}}], "Count": 1}


def test_the_readmes_python_asks_a_question_of_a_boto3_client() -> None:
    (code,) = re.findall(r"In Python: `([^`]+)`", README)
    known = {"QueryEngine": QueryEngine, "ViewReader": ViewReader, "Boto3Reader": Boto3Reader}
    answer = eval(code, {**known, "registry": registry, "client": Client()})  # noqa: S307 - our own
    assert [one.row["data"] for one in answer.rows] == [{"B": "eA=="}]
    assert answer.cursor is None


def test_the_readme_says_what_was_measured() -> None:
    kept = json.loads((ROOT / "bench/results/latest.json").read_text())
    _, _, rest = README.partition("<!-- bench -->\n")
    told, _, _ = rest.partition("\n<!-- end -->")
    assert " ".join(told.split()) == headline(kept)
    assert (ROOT / "bench/results/latest.svg").read_text() == picture(kept)
    assert not kept["quick"]


def test_the_readme_runs_what_ci_runs() -> None:
    ci = (ROOT / ".ci/run").read_text()
    for command in ("make test", "make check", "make slow", "make e2e"):
        assert f"$ {command}" in README
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
    assert [one.name for one in command.params if not getattr(one, "help", None)] == []


def test_the_command_itself_explains_itself() -> None:
    asked = [sys.executable, "-m", "adminview.cli.main", "--help"]
    done = subprocess.run(asked, capture_output=True, text=True, check=True, cwd=ROOT)
    assert "Usage" in done.stdout


def test_every_metric_in_the_runbook_is_emitted_and_every_one_emitted_is_in_it() -> None:
    listed = (ROOT / "docs" / "runbook.md").read_text().split("All metrics are")[1]
    named = set(re.findall(r"`([A-Z][A-Za-z]+)`", listed.split("\n\n")[0])) - {NAMESPACE}
    replay = {f"Letters{outcome.title().replace('_', '')}" for outcome in LetterOutcome}
    verify = {"Checked", "Drift", "VerifyUnfinished"}
    told = {*BatchCounts().counts(), "LagOfNewestRecord", "AgeOfOldestLetter"}
    assert named == told | replay | verify


def test_the_readme_names_a_command_for_each_failure_that_one_repairs() -> None:
    section = README.split("## When it fails")[1].split("\n## ")[0]
    for words in commands(get_command(app)):
        if words[:1] in (("dlq",), ("explain",), ("reconcile",), ("verify",)):
            assert f"adminview {words[0]}" in section


def test_the_doctor_of_the_readme_finds_what_the_readme_deploys() -> None:
    """Names in AWS are made of both, so that neither may be told to one of them only."""
    deployed = re.findall(r"^\$ npx cdk deploy --all(.*)$", README, re.MULTILINE)
    places = {tuple(re.findall(r"-c adminview:(?:stage|prefix)=(\S+)", one)) for one in deployed}
    (looked_at,) = re.findall(r"`adminview doctor (--.*?)`", README)
    assert tuple(re.findall(r"--(?:stage|prefix) (\S+)", looked_at)) in places


def test_links_lead_somewhere() -> None:
    documents = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]
    assert documents
    for document in documents:
        links = re.findall(r"\]\(([^)#:]+)\)", document.read_text())
        assert [link for link in links if not (document.parent / link).exists()] == []


def test_the_readme_stays_short() -> None:
    assert len(README.splitlines()) < 200
