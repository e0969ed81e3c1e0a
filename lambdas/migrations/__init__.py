"""Migrations of source tables, a file each: what old items lack, and how to find it out.

A new file here is found by itself; nothing else lists the migrations.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from lambdas.model import Migration, Source
from lambdas.model.errors import DeclarationError
from lambdas.views import registry


@cache
def migrations() -> Mapping[str, Migration]:
    """Collect and check what the files of this folder declare, by name."""
    names = sorted(module.name for module in iter_modules(__path__))
    return collect([_load(f"{__name__}.{name}") for name in names], registry().sources)


def collect(modules: Iterable[ModuleType], sources: Iterable[Source]) -> dict[str, Migration]:
    """List the migrations of *modules*, each of one of *sources*, by name and in its order."""
    known = tuple(sources)
    found: dict[str, Migration] = {}
    for module in modules:
        for one in vars(module).values():
            if not isinstance(one, Migration):
                continue
            first = found.setdefault(one.name, one)
            if first is not one:
                msg = (
                    f"two migrations have one name, {one.name!r}: "
                    f"declared in {first.module} and in {one.module}"
                )
                raise DeclarationError(msg)
            if one.source not in known:
                msg = (
                    f"migration {one.name!r} in {one.module} is of source {one.source.name!r}, "
                    f"which no view file declares; declared are "
                    f"{', '.join(sorted(source.name for source in known)) or 'none'}"
                )
                raise DeclarationError(msg)
    return dict(sorted(found.items()))


def _load(name: str) -> ModuleType:
    """Load one file, or say which one cannot be loaded and why."""
    try:
        return import_module(name)
    except Exception as error:
        msg = f"migration file {name} cannot be loaded: {type(error).__name__}: {error}"
        raise DeclarationError(msg) from error
