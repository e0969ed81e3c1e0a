"""Documents, help texts, messages, docstrings and comments have no retired words.

docs/glossary.md has the words to use.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from adminview.cdk.monitoring import rules
from adminview.cdk.monitoring.rules import Rule
from adminview.cli.main import app
from adminview.http_api.openapi import document
from tests.support.shop import registry

ROOT = Path(__file__).parents[1]
# MODEL_CHANGES.md is a record of the past.
DOCUMENTS = [
    *(path for path in ROOT.glob("*.md") if path.name != "MODEL_CHANGES.md"),
    *ROOT.glob("docs/*.md"),
    *ROOT.glob("adminview/examples/**/*.md"),
    *ROOT.glob("examples/*.md"),
]
FOLDERS = ("adminview", "infra", "lambdas", "examples", "bench", "tests/support", "tests/simulator")
MODULES = [ROOT / "app.py", *(path for name in FOLDERS for path in (ROOT / name).rglob("*.py"))]
# Of tests, only names, docstrings and comments: their other texts may be what a test refuses.
TESTS = sorted({*ROOT.glob("tests/**/*.py")} - {*MODULES, Path(__file__)})
RETIRED = {
    r"reckon\w*": "estimate, compute",
    r"(?:the )?straight way|straight to dynamodb": "the direct client",
    r"(?:the )?usual way|the usual one": "the baseline",
    r"laptops?": "local, locally",
    r"sets? aside|setting aside": "dead-lettered",
    r"(?:puts?|putting) (?:it |them |that |all )?right|ma[dk]es? good|mends?|mended": "repair",
    r"questions?|ask(?:s|ed|ing)?(?! for)|askers?|being built": "access pattern, query, not ready",
    r"(?<!dead )(?<!dead-)letters?": "dead letter",
    r"beside live traffic": "while the stream is live",
    r"want of": "without, out of",
    r"nobody's|another's": "owned by no item, by another item",
    r"held (?:to it )?by a test|a test holds": "enforced by a test",
    r"(?:held|holds?|holding) (?:\w+ )?against": "compared with",
    r"in hand|in (?:one's|its|other|the) hands|noted": "in progress, the intent record",
    r"anew": "again, started over",
    r"spelled|mailroom|errands?": "encoded, queue, resolved dead letter",
    r"who may ask|to ask with|whoever asks": "caller",
    r"told|said|tells? of": "reported, printed, stated",
    r"heard|hears? (?:of|that|what)": "records, receives",
    r"rests|rested": "is invisible",
    r"hidden dead letters?|dead letters? (?:is|are|stays?) hidden": "invisible",
    r"e-mails?|mails": "email",
    r"(?:patterns?|queries) (?:is|are|was|were) refused": "rejected",
    r"stretch(?:es)?": "range",
}
# Names of variables that say nothing of what they hold.
VAGUE = {"ask", "asked", "found", "given", "it", "made", "one", "said", "tell", "told", "way"}
# Texts in which a retired word has another, ordinary meaning.
ALLOWED = {
    "letters, digits": "letters of the alphabet",
    "a letter first": "letters of the alphabet",
    "use a letter, then": "letters of the alphabet",
    "letters{}": "the names of metrics",
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
    for allowed in ALLOWED:
        text = text.replace(allowed, " ")
    words_found = [(word, hint) for words, hint in RETIRED.items() for word in matches(words, text)]
    return [f"{word!r}: say {hint}" for word, hint in words_found]


def matches(words: str, text: str) -> list[str]:
    return [match[0] for match in re.finditer(rf"(?<![\w/.-])(?:{words})(?![\w/])", text)]


def strings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield docstrings and other texts of several words; expressions of f-strings are left out."""
    inner: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            inner |= {id(part) for part in ast.walk(node)}
            texts = [part.value if isinstance(part, ast.Constant) else "{}" for part in node.values]
            yield node.lineno, "".join(map(str, texts))
        elif isinstance(node, ast.Constant) and id(node) not in inner:
            text = str(node.value)
            if len(text.split()) > 1:
                yield node.lineno, text


def comments(code: str) -> Iterator[tuple[int, str]]:
    """Yield comments; those in successive lines are one."""
    lines: list[str] = []
    first = last = 0
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type == tokenize.COMMENT:
            if lines and token.start[0] != last + 1:
                yield first, " ".join(lines)
                lines = []
            first, last = (first if lines else token.start[0]), token.start[0]
            lines.append(token.string.lstrip("# "))
    if lines:
        yield first, " ".join(lines)


def in_code(text: str) -> str:
    """Return the sentences of a docstring or a message: no names of parameters."""
    return prose(re.sub(r"``[^`]*``|\*\w+\*", " ", text))


def found_in(code: str) -> list[str]:
    texts = [*strings(ast.parse(code)), *comments(code)]
    return [f"line {line}: {word}" for line, text in texts for word in retired(in_code(text))]


def named_in(code: str) -> list[str]:
    """List the retired words in the names of tests, in docstrings and in comments."""
    tree = ast.parse(code)
    texts = [*comments(code), (1, ast.get_docstring(tree) or "")]
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            name = node.name.replace("_", " ") if node.name.startswith("test_") else ""
            texts += [(node.lineno, name), (node.lineno, ast.get_docstring(node) or "")]
    return [f"line {line}: {word}" for line, text in texts for word in retired(in_code(text))]


def vague_names(code: str) -> list[str]:
    """List the variables and parameters with a vague name; attributes of classes may have one."""
    nodes = [*ast.walk(ast.parse(code))]
    classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
    attributes = {id(name) for node in classes for part in node.body for name in targets(part)}
    names = [(node.lineno, node.arg) for node in nodes if isinstance(node, ast.arg)]
    names += [
        (node.lineno, node.id)
        for node in nodes
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        if id(node) not in attributes
    ]
    return [f"line {line}: {name!r}: name what it is" for line, name in names if name in VAGUE]


def targets(statement: ast.stmt) -> list[ast.expr]:
    if isinstance(statement, ast.AnnAssign):
        return [statement.target]
    return statement.targets if isinstance(statement, ast.Assign) else []


def test_no_variable_has_a_vague_name() -> None:
    modules = [*MODULES, *TESTS]
    names = {path.relative_to(ROOT): vague_names(path.read_text()) for path in modules}
    assert len(names) > 200
    assert {path: lines for path, lines in names.items() if lines} == {}


@pytest.mark.parametrize("module", TESTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_names_and_comments_of_a_test_have_no_retired_words(module: Path) -> None:
    assert named_in(module.read_text()) == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_a_document_has_no_retired_words(document: Path) -> None:
    assert retired(prose(document.read_text())) == []


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_texts_of_a_module_have_no_retired_words(module: Path) -> None:
    assert found_in(module.read_text()) == []


def helps(command: Any, *words: str) -> Iterator[tuple[str, str]]:
    """Yield the help texts of a command, of its options and of the commands below it."""
    yield " ".join(words), command.help or ""
    for parameter in command.params:
        yield " ".join((*words, *parameter.opts)), getattr(parameter, "help", None) or ""
    for name, below in getattr(command, "commands", {}).items():
        yield from helps(below, *words, name)


def test_no_help_text_has_retired_words() -> None:
    texts = dict(helps(get_command(app)))
    assert len(texts) > 100
    assert {where: words for where, text in texts.items() if (words := retired(prose(text)))} == {}


def test_no_option_has_a_retired_word_in_its_name() -> None:
    options = [re.sub("-+", " ", where) for where, _ in helps(get_command(app))]
    assert [option for option in options if retired(option)] == []


TEXTS = {"description", "summary", "title", "operationId"}


def described(document: object) -> Iterator[str]:
    """Yield the texts of an OpenAPI document."""
    if isinstance(document, dict):
        for name, value in document.items():
            if name in TEXTS and isinstance(value, str):
                yield value.replace(".", " ")
            yield from described(value)
    elif isinstance(document, list):
        for value in document:
            yield from described(value)


def test_the_openapi_document_has_no_retired_words() -> None:
    texts = [*described(document(registry(), ""))]
    assert len(texts) > 50
    assert {text: words for text in texts if (words := retired(prose(text)))} == {}


PAGE = sorted(ROOT.glob("adminview/console/page/*.js"))


def page_texts(code: str) -> Iterator[str]:
    """Yield the texts of a module of the console's page: between tags, quoted, and in comments."""
    code = re.sub(r"\$\{[^{}]*\}", " {} ", code)
    for pattern in (r"[>}]([^<>{}`$=;]*?)[<{`]", r'"([^"\n]* [^"\n]*)"', r"//\s*(.*)"):
        yield from re.findall(pattern, code)


@pytest.mark.parametrize("module", PAGE, ids=lambda path: path.name)
def test_the_texts_of_the_consoles_page_have_no_retired_words(module: Path) -> None:
    texts = [*page_texts(module.read_text())]
    assert texts
    assert {text: words for text in texts if (words := retired(prose(text)))} == {}


@pytest.mark.parametrize(
    "code",
    [
        "html`<p>A letter waits.</p>`",
        'show("It was set aside.")',
        "// as told",
        "`<i>${n} rests</i>`",
    ],
)
def test_retired_words_are_found_in_the_consoles_page(code: str) -> None:
    assert [text for text in page_texts(code) if retired(prose(text))]


def test_no_alarm_has_retired_words() -> None:
    alarms = [rule for rule in vars(rules).values() if isinstance(rule, Rule)]
    assert len(alarms) > 10
    assert {rule.name: words for rule in alarms if (words := retired(prose(rule.meaning)))} == {}


@pytest.mark.parametrize(
    "text",
    [
        "a letter waits",
        "in-doubt letters",
        "It was\nset aside.",
        "as reckoned",
        "laptop",
        "two dead letters are hidden",
        "a pattern is refused",
    ],
)
def test_retired_words_are_found(text: str) -> None:
    assert retired(prose(text))


@pytest.mark.parametrize(
    "code",
    [
        '"""It is put right."""',
        "# What is noted\n# is in\n# hand.",
        "x = 1  # as told",
        'msg = f"no {kind} was set aside"',
        'msg = ("it was set "\n    "aside")',
    ],
)
def test_retired_words_are_found_in_code(code: str) -> None:
    assert found_in(code)


@pytest.mark.parametrize(
    "code",
    [
        "def test_a_letter_waits(): ...",
        'class Said:\n    """It is told."""',
        "x = 1  # anew",
        '"""What is said of a module."""',
    ],
)
def test_retired_words_are_found_in_the_names_and_comments_of_a_test(code: str) -> None:
    assert named_in(code)


@pytest.mark.parametrize(
    "code",
    ["told = 1", "def f(given): ...", "[one for one in x]", "lambda *said: 1", "(found := 1)"],
)
def test_vague_names_are_found(code: str) -> None:
    assert vague_names(code)


@pytest.mark.parametrize("code", ["class A:\n    told: int = 0\n    made = 1", "x.said = f(one=1)"])
def test_attributes_and_arguments_of_others_are_not_vague_names(code: str) -> None:
    assert vague_names(code) == []


@pytest.mark.parametrize(
    "text", ["a dead letter", "dead-letter queue", "dead-lettered", "`letters`", "## oldest-letter"]
)
def test_the_words_of_the_glossary_are_not_found(text: str) -> None:
    assert retired(prose(text)) == []


@pytest.mark.parametrize(
    "code",
    [
        '"""Send *letters*; see ``letters``."""',
        'f"{asked} rows"',
        "told = 1  # a variable's name",
        'msg = "use letters, digits and -"',
    ],
)
def test_names_in_code_are_not_found(code: str) -> None:
    assert found_in(code) == []
