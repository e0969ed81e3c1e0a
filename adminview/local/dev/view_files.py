"""The app's view files: import them again, and notice when one changes."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import invalidate_caches
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias

from adminview.aws.settings import VIEWS_PACKAGE
from adminview.model import Registry
from adminview.model.errors import DeclarationError
from adminview.model.local_imports import local_modules
from adminview.model.places import INSTALLED
from adminview.sync.redact import forget_view_files
from adminview.views import load_modules

# Folders that contain no code of the app.
SKIPPED = INSTALLED | {"node_modules", "cdk.out", "__pycache__"}

State: TypeAlias = Mapping[Path, tuple[int, int]]  # time of the last change and size, by file


class ViewFiles:
    """The modules of the views package, and the app's modules that they import."""

    def __init__(self, package: str) -> None:
        self.package = package
        self._imported: dict[str, Path] = {}  # by module name
        self._broken = False
        self._loaded: State = {}
        self._polled: State = {}

    @property
    def exists(self) -> bool:
        """Whether there is a views package at all."""
        return _find(self.package) is not None

    def load(self) -> Registry:
        """Import all files again. Raises a DeclarationError, and the earlier modules then stay."""
        self._broken = True
        self._loaded = self._polled = self._state()  # before: a change during the import counts
        forget_view_files()
        with _imported_again(self._is_ours):
            registry, self._imported = self._load()
        self._broken = False
        watched = self._state()
        self._loaded = {file: self._loaded.get(file, state) for file, state in watched.items()}
        return registry

    @property
    def are_loaded(self) -> bool:
        """Whether the files are those of the model: loaded, and not edited since."""
        return not self._broken and self._state() == self._loaded

    def changed(self) -> bool:
        """Return whether a file has changed since `load`, but not since the previous call.

        The second condition lets an editor finish writing.
        """
        state = self._state()
        is_settled, self._polled = state == self._polled, state
        return is_settled and state != self._loaded

    def _load(self) -> tuple[Registry, dict[str, Path]]:
        """Return the model, and the files of the modules that its view files import."""
        try:
            registry = Registry.of(load_modules(self.package, "view", VIEWS_PACKAGE))
            assert registry.fingerprint  # reads the files now, before they change again
            code = {module.__name__: _text(module.__file__) for module in registry.modules}
            return registry, local_modules(code)
        except SystemExit as error:
            msg = "a view file ends the program"
            raise DeclarationError(msg) from error
        except OSError as error:  # an editor or git replaces files
            msg = f"a view file could not be read: {error}"
            raise DeclarationError(msg) from error

    def _is_ours(self, module: str) -> bool:
        in_package = module == self.package or module.startswith(f"{self.package}.")
        return in_package or module in self._imported

    def _state(self) -> State:
        return {file: state for file in self._watched() if (state := _state_of(file))}

    def _watched(self) -> set[Path]:
        """Return the files to watch; if the model cannot be loaded, all files of the app.

        A file that is missing or broken may be outside of the views package.
        """
        spec = _find(self.package)
        if spec is None and not self._imported:  # not the folder of an app, but maybe a large one
            return set()
        folders = spec.submodule_search_locations if spec else None
        files = {file for folder in folders or () for file in Path(folder).rglob("*.py")}
        files |= {*self._imported.values()}
        return files | {*_python_files(Path.cwd())} if self._broken else files


@contextmanager
def _imported_again(is_ours: Callable[[str], bool]) -> Iterator[None]:
    """Forget the modules of the app; on an error, restore them.

    Cached bytecode is ignored: it is matched by time in seconds, and may be stale.
    """
    before = {name: module for name, module in sys.modules.items() if is_ours(name)}
    for name in before:
        del sys.modules[name]
    invalidate_caches()
    written, folder = sys.dont_write_bytecode, sys.pycache_prefix
    sys.dont_write_bytecode, sys.pycache_prefix = True, os.devnull  # not a folder: no cache
    try:
        yield
    except BaseException:
        for name in [*filter(is_ours, sys.modules)]:
            del sys.modules[name]
        sys.modules.update(before)
        for name, module in before.items():
            parent, _, child = name.rpartition(".")
            if parent in sys.modules:
                setattr(sys.modules[parent], child, module)
        raise
    finally:
        sys.dont_write_bytecode, sys.pycache_prefix = written, folder


def _find(package: str) -> ModuleSpec | None:
    """Return the spec of a package; None if the package or its parent does not exist.

    This imports the parent, without a trace in the app's folder.
    """
    written, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        return find_spec(package)
    except ModuleNotFoundError:
        return None
    finally:
        sys.dont_write_bytecode = written


def _state_of(file: Path) -> tuple[int, int] | None:
    """Return the time of the last change and the size; None if the file does not exist."""
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _python_files(folder: Path) -> Iterator[Path]:
    for path, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in SKIPPED and name[0] != "."]
        yield from (Path(path, name) for name in files if name.endswith(".py"))


def _text(file: str | None) -> str:
    return Path(file).read_text(encoding="utf-8") if file else ""
