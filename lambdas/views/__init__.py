"""THE ONE PLACE: a file per source, with its views, indexes and access patterns.

A new file here is found by itself; nothing else lists the sources.
"""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from lambdas.model import Registry
from lambdas.model.errors import DeclarationError


@cache
def registry() -> Registry:
    """Collect and check what the files of this folder declare."""
    names = sorted(module.name for module in iter_modules(__path__))
    return Registry.of([_load(f"{__name__}.{name}") for name in names])


def _load(name: str) -> ModuleType:
    """Load one view file, or say which one cannot be loaded and why."""
    try:
        return import_module(name)
    except Exception as error:
        msg = f"view file {name} cannot be loaded: {type(error).__name__}: {error}"
        raise DeclarationError(msg) from error
