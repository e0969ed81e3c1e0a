"""View files are imported again when they change, and a broken one changes nothing."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from adminview.local.dev.tracebacks import app_traceback
from adminview.local.dev.view_files import ViewFiles
from adminview.model import Registry
from adminview.model.errors import DeclarationError
from adminview.model.item import encode
from adminview.sync.derive import derive

VIEW = """
from collections.abc import Iterator
from adminview import Item, Row, Source, view
from ourapp.labels import label

orders = Source("Orders", partition_key="id")

@view(orders)
def order(item: Item) -> Iterator[Row]:
    yield Row(item["id"], label(), data={})
"""


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Write an app with one view file and a module that it imports."""
    folder = tmp_path / "ourapp"
    (folder / "views").mkdir(parents=True)
    (folder / "__init__.py").touch()
    (folder / "views" / "__init__.py").touch()
    (folder / "views" / "orders.py").write_text(VIEW)
    (folder / "labels.py").write_text('def label(): return "one"\n')
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    yield folder
    for name in [name for name in sys.modules if name.partition(".")[0] == "ourapp"]:
        del sys.modules[name]


@pytest.fixture
def files(app: Path) -> ViewFiles:  # noqa: ARG001 - it must be there
    return ViewFiles("ourapp.views")


def sort_keys(registry: Registry) -> list[str]:
    """Return the sort keys of the rows of an item."""
    derived = derive(registry.views, {"id": encode("1")}, room=None)
    return [sort for _, sort in derived.rows]


def settled(files: ViewFiles) -> bool:
    files.changed()
    return files.changed()


def test_nothing_has_changed_after_a_load(files: ViewFiles) -> None:
    files.load()
    assert not settled(files)


def test_an_empty_file_declares_nothing(files: ViewFiles, app: Path) -> None:
    before = files.load().fingerprint
    (app / "views/shipments.py").touch()
    registry = files.load()
    assert registry.description()["fingerprint"] != before
    assert sort_keys(registry) == ["one"]


def test_a_file_that_vanishes_while_it_is_loaded_is_an_error_of_the_view_files(
    files: ViewFiles, app: Path
) -> None:
    files.load()
    (app / "views/shipments.py").write_text("import pathlib; pathlib.Path(__file__).unlink()\n")
    with pytest.raises(DeclarationError, match=r"could not be read: .*shipments"):
        files.load()
    assert settled(files), "it is loaded again"


def test_a_change_counts_when_the_file_is_written(files: ViewFiles, app: Path) -> None:
    files.load()
    (app / "views/orders.py").write_text(VIEW + "# ")
    assert not files.changed()
    (app / "views/orders.py").write_text(VIEW + "# finished")
    assert not files.changed()
    assert files.changed()


def test_files_that_are_edited_or_broken_are_not_those_of_the_model(
    files: ViewFiles, app: Path
) -> None:
    assert not files.are_loaded
    files.load()
    assert files.are_loaded
    (app / "labels.py").write_text("nope\n")
    assert not files.are_loaded
    with pytest.raises(DeclarationError):
        files.load()
    assert not files.are_loaded


def test_a_module_that_a_view_imports_is_read_again(files: ViewFiles, app: Path) -> None:
    before = files.load()
    (app / "labels.py").write_text('def label(): return "two"\n')
    assert settled(files)
    after = files.load()
    assert (sort_keys(before), sort_keys(after)) == (["one"], ["two"])
    assert before.fingerprint != after.fingerprint


def test_a_change_of_the_same_size_in_the_same_second_is_read(files: ViewFiles, app: Path) -> None:
    """Bytecode that Python has cached is valid for a whole second."""
    file = app / "labels.py"
    os.utime(file, ns=(10**18, 10**18))
    __import__("ourapp.labels")  # writes bytecode
    files.load()
    file.write_text(file.read_text().replace("one", "two"))
    os.utime(file, ns=(10**18 + 1, 10**18 + 1))
    assert settled(files)
    assert sort_keys(files.load()) == ["two"]


def test_files_that_appear_and_disappear_are_changes(files: ViewFiles, app: Path) -> None:
    files.load()
    other = app / "views/others.py"
    other.write_text(VIEW.replace("Orders", "Others"))
    assert settled(files)
    assert [source.name for source in files.load().sources] == ["Orders", "Others"]
    other.unlink()
    assert settled(files)
    assert [source.name for source in files.load().sources] == ["Orders"]


@pytest.mark.parametrize(
    ("code", "line", "text"),
    [
        ("x = 1\nx = nope\n", 2, "NameError: name 'nope' is not defined"),
        ("def order(:\n", 1, "SyntaxError: invalid syntax"),
        ("\n\nimport sys\nsys.exit(3)\n", 4, "SystemExit: 3"),
        (
            "from adminview import Source\nSource('x', 'id')\n",
            2,
            "a name must have 3 to 255",
        ),
        ("from ourapp.absent import x\n", 1, "No module named 'ourapp.absent'"),
    ],
)
def test_a_broken_file_is_named_with_its_line_and_the_model_stays(
    files: ViewFiles, app: Path, code: str, line: int, text: str
) -> None:
    before, modules = files.load(), dict(sys.modules)
    (app / "views/orders.py").write_text(code)
    with pytest.raises(DeclarationError) as failed:
        files.load()
    trace = app_traceback(failed.value)
    assert f'File "ourapp/views/orders.py", line {line}' in trace
    assert text in trace
    assert "importlib" not in trace
    assert {n: m for n, m in sys.modules.items() if "ourapp" in n} == {
        n: m for n, m in modules.items() if "ourapp" in n
    }
    assert sort_keys(before) == ["one"]
    assert not settled(files)


def test_the_missing_module_of_a_broken_file_is_waited_for(files: ViewFiles, app: Path) -> None:
    (app / "views/orders.py").write_text(VIEW.replace("ourapp.labels", "ourapp.other.labels"))
    with pytest.raises(DeclarationError):
        files.load()
    assert not settled(files)
    (app / "other").mkdir()
    (app / "other/labels.py").write_text('def label(): return "there"\n')
    assert settled(files)
    assert sort_keys(files.load()) == ["there"]


def test_a_package_that_does_not_exist_is_no_broken_file(tmp_path: Path) -> None:
    assert not ViewFiles("nosuchapp.views").exists
    assert not ViewFiles("adminview.nosuch").exists
    assert tmp_path.exists()


@pytest.mark.parametrize("package", ["nosuchapp.views", "adminview.nosuch"])
def test_a_folder_without_an_app_is_refused_and_not_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "walk", None)  # it may be a home folder
    with pytest.raises(DeclarationError, match=r"run this in your app's folder"):
        ViewFiles(package).load()


def test_the_traceback_of_a_view_has_the_lines_of_the_app(files: ViewFiles, app: Path) -> None:
    (app / "labels.py").write_text(
        dedent("""
        def label():
            return {}["the original text"]
        """)
    )
    views = files.load().views
    with pytest.raises(Exception, match="the view raised KeyError") as failed:
        derive(views, {"id": encode("1")}, room=None)
    assert app_traceback(failed.value).splitlines() == [
        "Traceback (most recent call last):",
        '  File "ourapp/views/orders.py", line 10, in order',
        '    yield Row(item["id"], label(), data={})',
        "                          ^^^^^^^",
        '  File "ourapp/labels.py", line 3, in label',
        '    return {}["the original text"]',
        "           ~~^^^^^^^^^^^^^^^^^^^^^",
        "KeyError: 'the original text'",
    ]


def test_the_traceback_of_a_wrong_row_has_the_line_of_its_yield(
    files: ViewFiles, app: Path
) -> None:
    (app / "labels.py").write_text("def label(): return 7\n")
    views = files.load().views
    with pytest.raises(Exception, match="SK of a row must be text") as failed:
        derive(views, {"id": encode("1")}, room=None)
    assert app_traceback(failed.value).splitlines() == [
        "Traceback (most recent call last):",
        '  File "ourapp/views/orders.py", line 10, in order',
        '    yield Row(item["id"], label(), data={})',
        "adminview.model.errors.RowError: SK of a row must be text; the view gave int",
    ]
