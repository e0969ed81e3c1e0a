"""Load the app's view files and migrations.

In a checkout, every module of the views package is a view file. In a Lambda bundle, the manifest
lists them.
"""

import os
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from adminview.aws.manifest import own_manifest
from adminview.aws.settings import (
    DEFAULT_MIGRATIONS,
    DEFAULT_VIEWS,
    MIGRATIONS_PACKAGE,
    VIEWS_PACKAGE,
)
from adminview.model import Migration, Registry, Source
from adminview.model.errors import DeclarationError
from adminview.model.places import place_of_declaration, place_of_error


def registry() -> Registry:
    """Return the declarations of the app's view files, loaded and checked once."""
    return _registry(views_package())


def views_package() -> str:
    """Return the name of the package of the app's view files."""
    return os.environ.get(VIEWS_PACKAGE) or DEFAULT_VIEWS


def migrations() -> Mapping[str, Migration]:
    """Return the app's migrations by name, loaded and checked once."""
    return _migrations(migrations_package(), views_package())


def load_errors() -> list[DeclarationError]:
    """Load every view file and migration, and return what is wrong, one error for each place.

    Contradictions between declarations are found when all files can be loaded. An app may have no
    migrations.
    """
    errors: dict[str, DeclarationError] = {}
    packages = [(views_package(), "view", VIEWS_PACKAGE)]
    has_migrations = _exists(migrations_package())
    if has_migrations:
        packages.append((migrations_package(), "migration", MIGRATIONS_PACKAGE))
    try:
        for package, kind, setting in packages:
            for name in module_names(package, kind, setting):
                try:
                    load_module(name, kind)
                except DeclarationError as error:
                    errors.setdefault(error.place or name, error)
        if not errors:
            migrations() if has_migrations else registry()
    except DeclarationError as error:
        return [error]
    return list(errors.values())


def _exists(package: str) -> bool:
    try:
        import_module(package)
    except ModuleNotFoundError:
        return False
    return True


def migrations_package() -> str:
    """Return the name of the package of the app's migrations."""
    return os.environ.get(MIGRATIONS_PACKAGE) or DEFAULT_MIGRATIONS


@cache
def _registry(package: str) -> Registry:
    if manifest := own_manifest():
        views = Registry.of(load_module(name, "view") for name in manifest.views)
        return views.known_as(manifest.model)
    return Registry.of(load_modules(package, "view", VIEWS_PACKAGE))


@cache
def _migrations(package: str, views: str) -> Mapping[str, Migration]:
    sources = _registry(views).sources
    if manifest := own_manifest():
        return collect([load_module(name, "migration") for name in manifest.migrations], sources)
    return collect(load_modules(package, "migration", MIGRATIONS_PACKAGE), sources)


def load_modules(package: str, kind: str, setting: str) -> list[ModuleType]:
    """Load the modules of a package; raise a DeclarationError that names the one that fails."""
    return [load_module(name, kind) for name in module_names(package, kind, setting)]


def module_names(package: str, kind: str, setting: str) -> list[str]:
    """Return the names of the modules of a package; raise a DeclarationError if there is none."""
    try:
        folder = import_module(package).__path__
    except ModuleNotFoundError as error:
        msg = (
            f"there is no package {package} for {kind} files: run this in your app's folder, "
            f"or name the package in {setting}"
        )
        raise DeclarationError(msg) from error
    return [f"{package}.{name}" for name in sorted(module.name for module in iter_modules(folder))]


def collect(modules: Iterable[ModuleType], sources: Iterable[Source]) -> dict[str, Migration]:
    """Return the migrations of *modules* by name, sorted; each must be of one of *sources*."""
    known = tuple(sources)
    migrations_by_name: dict[str, Migration] = {}
    for module in modules:
        for migration in vars(module).values():
            if not isinstance(migration, Migration):
                continue
            first = migrations_by_name.setdefault(migration.name, migration)
            if first is not migration:
                msg = (
                    f"two migrations are named {migration.name!r}: "
                    f"declared in {first.module} and in {migration.module}"
                )
                raise DeclarationError(msg, place=place_of_declaration(migration, [module]))
            if migration.source not in known:
                msg = (
                    f"migration {migration.name!r} in {migration.module} is of source "
                    f"{migration.source.name!r}, which no view file declares; declared: "
                    f"{', '.join(sorted(source.name for source in known)) or 'none'}"
                )
                raise DeclarationError(msg, place=place_of_declaration(migration, [module]))
    return dict(sorted(migrations_by_name.items()))


def load_module(name: str, kind: str) -> ModuleType:
    """Load one module, or raise a DeclarationError that names it, the reason and the line."""
    try:
        return import_module(name)
    except Exception as error:
        reason = error.msg if isinstance(error, SyntaxError) else error  # its text has the line
        msg = f"{kind} file {name} cannot be loaded: {type(error).__name__}: {reason}"
        raise DeclarationError(msg, place=place_of_error(error)) from error
