"""View files that a test writes into a package of the current folder, as an app has them."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from textwrap import dedent

import pytest

from adminview.aws.settings import MIGRATIONS_PACKAGE, VIEWS_PACKAGE

NUMBERS = count()  # view packages are loaded once per name


class WrittenApp:
    """A package `app_N` with the packages `views` and `migrations`, in the current folder."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self.folder = folder / name
        for package in (self.folder, self.folder / "views", self.folder / "migrations"):
            package.mkdir()
            (package / "__init__.py").touch()

    def write(self, path: str, text: str) -> None:
        """Write a file of the package; `{app}` in its text is the package's name."""
        (self.folder / path).write_text(dedent(text).replace("{app}", self.name))

    def line(self, path: str, text: str) -> str:
        """Return the place of the first line of a file that has a text."""
        content = (self.folder / path).read_text()
        return f"{self.name}/{path}:{content[: content.index(text)].count(chr(10)) + 1}"


@contextmanager
def written_app(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[WrittenApp]:
    """Yield an app whose view files the commands load."""
    app = WrittenApp(folder, f"app_{next(NUMBERS)}")
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv(VIEWS_PACKAGE, f"{app.name}.views")
    monkeypatch.setenv(MIGRATIONS_PACKAGE, f"{app.name}.migrations")
    yield app
    for name in [name for name in sys.modules if name.partition(".")[0] == app.name]:
        del sys.modules[name]
