"""The console's page is built without a bundler: hashed names, no inline code, no foreign hosts."""

import gzip
import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from adminview.cli.commands.query import _reserved
from adminview.console import build as page_build
from adminview.console.build import PAGE, BuildError, PageBuild, build

LIMIT = 150_000  # bytes that a browser loads, compressed
NAMESPACES = {
    "http://www.w3.org/1998/Math/MathML",
    "http://www.w3.org/1999/xhtml",
    "http://www.w3.org/2000/svg",
}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page") / "static"
    build(folder)
    return folder


def texts(page: Path) -> dict[str, str]:
    files = [path for path in page.rglob("*") if path.is_file() and path.suffix != ".txt"]
    return {path.name: path.read_text() for path in files}


def test_every_address_in_the_page_is_a_file_of_the_page(page: Path) -> None:
    named = {url for text in texts(page).values() for url in re.findall(r'"(/assets/[^"]+)"', text)}
    assert len(named) > 10
    assert {url.removeprefix("/assets/") for url in named} == {
        path.name for path in (page / "assets").iterdir()
    }


def test_modules_import_by_address_only(page: Path) -> None:
    for name, text in texts(page).items():
        if name.endswith(".js"):
            imported = re.findall(
                r'^(?:import|export)\b[^"\';]*?from\s*"([^"]+)"', text, re.MULTILINE
            )
            assert [url for url in imported if not url.startswith("/assets/")] == [], name


def test_a_file_name_contains_the_hash_of_the_content(page: Path) -> None:
    names = [path.name for path in (page / "assets").iterdir()]
    assert all(re.fullmatch(r"[\w.]+\.[0-9a-f]{16}\.(js|css|svg|txt)", name) for name in names)


def test_two_builds_are_equal(page: Path, tmp_path: Path) -> None:
    build(tmp_path / "again")
    assert texts(tmp_path / "again") == texts(page)


def test_the_page_has_no_inline_code(page: Path) -> None:
    html = (page / "index.html").read_text()
    assert re.findall(r"<script(?![^>]*\bsrc=)", html) == []
    assert re.findall(r"<style|\bstyle=|\bon\w+=", html) == []


def test_the_page_names_no_foreign_host(page: Path) -> None:
    hosts = {url for text in texts(page).values() for url in re.findall(r"https?://[\w./-]+", text)}
    assert hosts <= NAMESPACES


def test_the_page_is_small(page: Path) -> None:
    loaded = [path for path in page.rglob("*") if path.is_file() and path.suffix != ".txt"]
    assert sum(len(gzip.compress(path.read_bytes())) for path in loaded) < LIMIT


def test_the_licenses_of_the_packages_are_part_of_the_page(page: Path) -> None:
    (path,) = (page / "assets").glob("licenses.*.txt")
    assert "MIT" in path.read_text()
    assert "Apache License" in path.read_text()


def test_a_build_replaces_the_one_before(tmp_path: Path) -> None:
    folder = tmp_path / "static"
    (folder / "assets").mkdir(parents=True)
    (folder / "assets" / "old.js").touch()
    build(folder)
    assert not (folder / "assets" / "old.js").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["static"]


def test_modules_that_import_each_other_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.js").write_text('import { b } from "./b.js";\n')
    (tmp_path / "b.js").write_text('import { a } from "./a.js";\n')
    with pytest.raises(BuildError, match=r"a\.js -> b\.js -> a\.js"):
        PageBuild().module(tmp_path / "a.js")


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_build, "PACKAGES", tmp_path)
    with pytest.raises(BuildError, match=r"imports 'preact'.*run `npm ci` first"):
        build(tmp_path / "static")
    assert not (tmp_path / "static").exists()


def test_only_imports_are_rewritten(tmp_path: Path) -> None:
    code = 'const ways = [["from", "to"], ["to", "from"]];\n'
    (tmp_path / "a.js").write_text(code)
    page = PageBuild()
    page.module(tmp_path / "a.js")
    assert [*page.assets.values()] == [code.encode()]


def in_node(tmp_path: Path, expression: str, locale: str = "C") -> Any:
    """Evaluate an expression with the functions of format.js, for a reader of this locale."""
    module = shutil.copy(PAGE / "format.js", tmp_path / "format.mjs")
    code = f"import * as format from {json.dumps(str(module))};"
    code += f"console.log(JSON.stringify({expression}))"
    done = subprocess.run(
        [shutil.which("node") or "node", "--input-type=module", "--eval", code],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "LC_ALL": locale},
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 seconds"),
        (1, "1 second"),
        (1.54, "1,5 seconds"),
        (90_000, "1 day"),
        (7300, "2 hours"),
    ],
)
def test_a_duration_has_the_digits_of_the_reader_and_the_words_of_the_page(
    tmp_path: Path, seconds: float, text: str
) -> None:
    assert in_node(tmp_path, f"format.duration({seconds})", "de_DE.UTF-8") == text


@pytest.mark.parametrize(
    ("number", "text"), [("1e-25", f"0,{'0' * 24}1"), ("1234567.891", "1.234.567,891"), ("0", "0")]
)
def test_a_number_keeps_its_digits(tmp_path: Path, number: str, text: str) -> None:
    assert in_node(tmp_path, f"format.localized({number}).text", "de_DE.UTF-8") == text


@pytest.mark.parametrize(
    "text", ["=1+1", " =1", "\uff1d1", "\u200b=1", "-1+1", "+1", "@sum", "\n=1"]
)
def test_a_copied_cell_is_no_formula(tmp_path: Path, text: str) -> None:
    rows = [{"key": {"PK": "p", "SK": "s"}, "data": {"a": text}, "index": {}}]
    copied = in_node(tmp_path, f"format.csv({json.dumps(rows)}, [], false)")
    assert copied.partition("\r\n")[2].lstrip('"').startswith("'")


@pytest.mark.parametrize("text", ["a;=HYPERLINK(1)", "a,b", 'say "a"', "a\nb"])
def test_a_copied_cell_stays_one_cell(tmp_path: Path, text: str) -> None:
    rows = [{"key": {"PK": "p", "SK": "s"}, "data": {"a": text}, "index": {}}]
    copied = in_node(tmp_path, f"format.csv({json.dumps(rows)}, [], false)")
    quoted = '"' + text.replace('"', '""') + '"'
    assert copied == f"a\r\n{quoted}\r\n"


def test_an_attribute_that_every_object_inherits_is_an_attribute(tmp_path: Path) -> None:
    names = ("constructor", "toString", "__proto__")
    rows = ", ".join(
        f"{{key: {{}}, index: {{}}, data: JSON.parse({json.dumps(json.dumps({name: 'x'}))})}}"
        for name in names
    )
    values = "format.columns(rows).map((column) => rows.map((row) => column.value(row) ?? null))"
    cells = in_node(tmp_path, f"(() => {{ const rows = [{rows}]; return {values}; }})()")
    assert cells == [["x" if row == column else None for row in range(3)] for column in range(3)]


@pytest.mark.parametrize(
    ("lists", "merged"),
    [
        ([], []),
        ([["b", "a"]], ["b", "a"]),
        ([["a", "c"], ["a", "b", "c"]], ["a", "b", "c"]),
        ([["c"], ["a", "b", "c", "d"]], ["a", "b", "c", "d"]),
        ([["a", "b"], ["x", "y"], ["a", "z"]], ["a", "z", "b", "x", "y"]),
    ],
)
def test_columns_keep_the_order_of_every_row(
    tmp_path: Path, lists: list[list[str]], merged: list[str]
) -> None:
    assert in_node(tmp_path, f"format.merged({json.dumps(lists)})") == merged


@pytest.mark.parametrize("word", ["a\x03b", "\n", "\x85\x9b'", "\r\\n$(id)"])
def test_a_shell_reads_control_characters_as_they_are(tmp_path: Path, word: str) -> None:
    quoted = in_node(tmp_path, f"format.shell({json.dumps(word)})")
    done = subprocess.run(
        [shutil.which("bash") or "bash", "-c", f"printf %s {quoted}"],
        check=True,
        capture_output=True,
    )
    assert done.stdout.decode() == word


@pytest.mark.parametrize("word", ["a", "a b", "it's", "-x", "=ls", "$(id)", "a;b", "*", "~"])
def test_a_word_is_quoted_for_a_shell(tmp_path: Path, word: str) -> None:
    quoted = in_node(tmp_path, f"format.shell({json.dumps(word)})")
    assert shlex.split(quoted) == [word]
    assert quoted == word or quoted.startswith("'")


def test_a_control_character_is_never_pasted(tmp_path: Path) -> None:
    word = "a\x03\nb'"
    quoted = in_node(tmp_path, f"format.shell({json.dumps(word)})")
    assert quoted == "$'a\\x03\\x0ab\\''"


def test_the_page_knows_the_options_of_every_query() -> None:
    (names,) = re.findall(r'RESERVED = new Set\(\s*"([^"]*)"', (PAGE / "patterns.js").read_text())
    flags = {f"--{name}" for name in names.split()}
    assert flags == {option for option in _reserved() if option.startswith("--")}
