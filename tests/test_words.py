"""Documents use the words of docs/glossary.md, and no retired ones."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# MODEL_CHANGES.md is a record of the past.
DOCUMENTS = [
    *(path for path in ROOT.glob("*.md") if path.name != "MODEL_CHANGES.md"),
    *ROOT.glob("docs/*.md"),
]
RETIRED = {
    r"reckon\w*": "estimate, compute",
    r"the straight way|straight to dynamodb": "the direct client",
    r"the usual way|the usual one": "the baseline",
    r"laptops?": "local, locally",
    r"set aside": "dead-lettered",
    r"(?:puts?|putting) right|made good|mends?|mended": "repaired, recovered",
    r"questions?|asked of|being built": "access pattern, query, not ready",
    r"(?<!dead )(?<!dead-)letters?": "dead letter",
    r"beside live traffic": "while the stream is live",
    r"(?:for )?want of": "without, out of",
    r"nobody's|another's": "owned by no item, by another item",
    r"held (?:to it )?by a test|a test holds": "enforced by a test",
    r"in hand|begun anew|written anew": "in progress, started over",
    r"spelled|mailroom|errands?": "encoded, queue, resolved dead letter",
    r"who may ask|to ask with|whoever asks": "caller",
}


def prose(text: str) -> str:
    """Return the sentences of a document: no code, no generated parts, no link targets."""
    marks = r"<!-- (?:measured|figures|growth|limits|cost) -->.*?<!-- end -->"
    for pattern in (
        marks,
        r"```.*?```",
        r"`[^`]*`",
        r"\[[a-z-]+\]\(#[a-z-]+\)",  # names of the runbook's sections
        r"\]\([^)]*\)",
        r"^## [a-z-]+$",
        r"^\| access pattern \| parameters [^\n]*$",  # the generated catalogue
    ):
        text = re.sub(pattern, " ", text, flags=re.DOTALL | re.MULTILINE)
    return " ".join(text.lower().split())


def retired(text: str) -> list[str]:
    """List the retired words of a text, each with what to say instead."""
    found = [(one, hint) for words, hint in RETIRED.items() for one in matches(words, text)]
    return [f"{one!r}: say {hint}" for one, hint in found]


def matches(words: str, text: str) -> list[str]:
    return [one[0] for one in re.finditer(rf"\b(?:{words})\b", text)]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_a_document_has_no_retired_words(document: Path) -> None:
    assert retired(prose(document.read_text())) == []


@pytest.mark.parametrize(
    "text", ["a letter waits", "in-doubt letters", "It was\nset aside.", "as reckoned", "laptop"]
)
def test_retired_words_are_found(text: str) -> None:
    assert retired(prose(text))


@pytest.mark.parametrize(
    "text", ["a dead letter", "dead-letter queue", "dead-lettered", "`letters`", "## oldest-letter"]
)
def test_the_words_of_the_glossary_are_not_found(text: str) -> None:
    assert retired(prose(text)) == []
