"""THE ONE PLACE: a file per source, with its views, indexes and access patterns.

A new file here is found by itself; nothing else lists the sources.
"""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from lambdas.model import Registry


@cache
def registry() -> Registry:
    """Collect and check what the files of this folder declare."""
    names = sorted(module.name for module in iter_modules(__path__))
    return Registry.of(import_module(f"{__name__}.{name}") for name in names)
