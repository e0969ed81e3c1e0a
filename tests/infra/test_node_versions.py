"""The versions of Node that the CDK supports are the same everywhere."""

import json
import re
from pathlib import Path

import jsii
import pytest

ROOT = Path(__file__).parents[2]
SUPPORTED = json.loads((ROOT / "package.json").read_text())["engines"]["node"].split(" || ")
NAMED = (
    "README.md",
    "docs/deploy.md",
    "CONTRIBUTING.md",
    "Makefile",
    "adminview/examples/starter/README.md",
)


@pytest.mark.parametrize("file", NAMED)
def test_a_document_names_the_versions_of_package_json(file: str) -> None:
    text = " ".join((ROOT / file).read_text().split())
    named = re.findall(r"Node (\d+(?:(?: or | and |, )\d+)*|\S+ or newer)", text)
    assert named
    for words in named:
        assert re.findall(r"\d+", words) == SUPPORTED


def test_the_makefile_checks_these_versions() -> None:
    assert f"'^v({'|'.join(SUPPORTED)})\\.'" in (ROOT / "Makefile").read_text()


def test_the_installed_jsii_runtime_is_tested_on_these_versions() -> None:
    runtime = Path(jsii.__file__).parent / "_embedded" / "jsii" / "bin__jsii-runtime.js"
    releases = dict(re.findall(r"new NodeRelease\((\d+),(\{.*?\})\)", runtime.read_text()))
    newest = [version for version, facts in releases.items() if "untested" not in facts][-2:]
    assert newest == SUPPORTED
