"""The shop: the app of this repository, which `adminview demo` runs.

Its views and migrations are in the package `lambdas`: in this folder of a wheel, at the root of a
checkout.
"""

import sys
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from adminview.aws.settings import DEFAULT_VIEWS, MIGRATIONS_PACKAGE, VIEWS_PACKAGE
from adminview.model import Registry
from adminview.views import load_module

VIEWS = ("orders", "payments", "products", "users")
# Select the shop's views and migrations in any folder.
ENVIRONMENT = {VIEWS_PACKAGE: f"{__name__}.views", MIGRATIONS_PACKAGE: f"{__name__}.migrations"}


def app_folder() -> Path:
    """Return the folder of the shop's `lambdas` package."""
    folder = Path(__file__).parent
    return folder if (folder / "lambdas").is_dir() else folder.parents[2]


def registry() -> Registry:
    """Load the shop's view files, not those of the current app.

    Both are modules of `lambdas.views`, so a process can load only one of them. Raises a
    DeclarationError if a file is missing.
    """
    sys.path.insert(0, str(app_folder()))
    return Registry.of([load_module(f"{DEFAULT_VIEWS}.{name}", "view") for name in VIEWS])


def alias(name: str, package: str) -> list[str]:
    """Import the modules of the shop's *package* as modules of *name* too; return their folder.

    They import each other as `lambdas`, so they must not be loaded a second time.
    """
    sys.path.insert(0, str(app_folder()))
    folder = list(import_module(package).__path__)
    for module in iter_modules(folder):
        sys.modules[f"{name}.{module.name}"] = import_module(f"{package}.{module.name}")
    return folder
