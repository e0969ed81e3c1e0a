"""Errors in view files come with the file and the line, in every command."""

import re
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from textwrap import dedent

import pytest

from adminview.model import Registry
from adminview.model.errors import DeclarationError, reason_of
from adminview.model.places import place, place_of_declaration
from adminview.views import collect, load_module, registry

HEAD = "from adminview import AccessPattern, Index, Row, Source, migration, view\n"
PACKAGE = "places_app"


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str], str]]:
    """Write modules of a package in the current folder; gives the name of the module."""
    folder = tmp_path / PACKAGE
    folder.mkdir()
    (folder / "__init__.py").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))

    def write_module(name: str, text: str) -> str:
        (folder / f"{name}.py").write_text(HEAD + dedent(text))
        return f"{PACKAGE}.{name}"

    yield write_module
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[name]


ANIMALS = """\
animals = Source("Animals", partition_key="id")

@view(animals)
def animal(item):
    yield Row("A", item["id"])
"""


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("x = by_vacine", "NameError: name 'by_vacine' is not defined"),
        ("x = (1,", "SyntaxError: '(' was never closed"),
        ("if True:\nx = 1", "IndentationError: expected an indented block after 'if' statement"),
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("x = Index('X', partition='p')", "DeclarationError: index 'X': an index's name must"),
        ("x = int('one')", "ValueError: invalid literal for int()"),
    ],
)
def test_a_file_that_cannot_be_loaded_is_reported_with_its_line(
    line: str, reason: str, write: Callable[[str, str], str]
) -> None:
    name = write("animals", f"\n\n{line}\n")
    with pytest.raises(DeclarationError) as raised:
        load_module(name, "view")
    text = f"view file places_app.animals cannot be loaded: {reason}"
    assert str(raised.value).startswith(text)
    number = 5 if line.startswith("if") else 4
    assert reason_of(raised.value).endswith(f"; places_app/animals.py:{number}")


def test_an_error_in_a_module_that_a_view_file_imports_has_the_line_of_that_module(
    write: Callable[[str, str], str],
) -> None:
    write("keys", "\n\ndef prefix():\n    return undefined\n")
    name = write("animals", "from places_app.keys import prefix\nx = prefix()\n")
    with pytest.raises(DeclarationError) as raised:
        load_module(name, "view")
    assert raised.value.place == "places_app/keys.py:5"


@pytest.mark.parametrize(
    ("text", "problem", "line"),
    [
        ('x = Index("ByAge", partition="p")\ny = Index("ByAge", partition="q")', "same name", 8),
        ('\nx = Index("ByAge", partition="data")', "is keyed by data", 8),
        ('x: Index = Index("ByAge", partition="p", include=["q"])', "includes q, which no row", 7),
        ('a, b = 1, Index("Owner", partition="p")', "AdminView's own index has this name", 7),
        ('\n\nplants = Source("Plants", partition_key="id")', "source 'Plants' has no view", 9),
        (
            'x = Index("ByAge", partition="p")\ny = Index("ByAgeToo", partition="p", sort="q")',
            "would not be sparse",
            7,
        ),
    ],
)
def test_a_contradiction_is_reported_with_the_line_of_a_declaration(
    text: str, problem: str, line: int, write: Callable[[str, str], str]
) -> None:
    module = import_module(write("animals", ANIMALS + text))
    with pytest.raises(DeclarationError, match=problem) as raised:
        Registry.of([module])
    assert raised.value.place == f"places_app/animals.py:{line}"


def test_a_pattern_or_view_of_an_undeclared_part_is_reported_with_its_own_line(
    write: Callable[[str, str], str],
) -> None:
    hidden = 'x = AccessPattern("some", index=Index("ByAge", partition="p", include=["data"]),'
    module = import_module(write("animals", f'{ANIMALS}\n{hidden} partition="x")'))
    with pytest.raises(DeclarationError, match="which no view file declares") as raised:
        Registry.of([module])
    assert raised.value.place == "places_app/animals.py:8"
    text = '\n\n@view(Source("Plants", partition_key="id"))\ndef plant(item):\n    yield'
    module = import_module(write("plants", ANIMALS + text))
    with pytest.raises(DeclarationError, match="on source 'Plants'") as raised:
        Registry.of([module])
    assert raised.value.place == "places_app/plants.py:10"


def test_a_migration_of_an_undeclared_source_is_reported_with_its_line(
    write: Callable[[str, str], str],
) -> None:
    text = """
    plants = Source("Plants", partition_key="id")

    @migration(plants, name="add-age", sets="age")
    def add_age(item):
        return {"age": 1}
    """
    module = import_module(write("migrating", text))
    with pytest.raises(DeclarationError, match="which no view file declares") as raised:
        collect([module], [])
    assert raised.value.place == "places_app/migrating.py:6"


def test_a_declaration_that_is_imported_is_reported_where_it_is_assigned(
    write: Callable[[str, str], str],
) -> None:
    parts = write("parts", '\nby_age = Index("ByAge", partition="age")')
    user = import_module(write("user", "\n\nfrom places_app.parts import by_age as x\n"))
    index = user.x
    assert place_of_declaration(index, [user]) == "places_app/user.py:4"
    both = [user, import_module(parts)]
    assert place_of_declaration(index, both) == "places_app/parts.py:3"
    assert place_of_declaration(object(), both) == ""
    vars(user)["y"] = other = object()
    assert place_of_declaration(other, both) == "places_app/user.py:1"


def test_a_file_outside_the_current_folder_keeps_its_whole_path() -> None:
    assert place("/elsewhere/views.py", 3) == "/elsewhere/views.py:3"


def test_commands_print_the_line(
    write: Callable[[str, str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write("animals", "\nx = by_vacine\n")
    monkeypatch.setenv("ADMINVIEW_VIEWS", PACKAGE)
    with pytest.raises(DeclarationError) as raised:
        registry()
    assert re.search(
        r"NameError: .*; places_app/animals\.py:3$",
        reason_of(raised.value),
    )
