"""The shop: the app of this repository, which `adminview demo` runs.

Its views and migrations are in the package `lambdas`: in this folder of a wheel, at the root of a
checkout.
"""

import sys
from pathlib import Path

from adminview.aws.settings import DEFAULT_VIEWS
from adminview.model import Registry
from adminview.views import load_module

VIEWS = ("orders", "payments", "products", "users")


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
