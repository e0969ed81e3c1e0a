"""The shop: the app of this repository, which `adminview demo` runs wherever the library is.

`lambdas` is the only copy of its views and migrations. A wheel holds that package in this folder;
in a checkout it is at the root.
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
    """Load the shop's view files and no others, whatever the current app declares.

    They are modules of `lambdas.views`, like any app's: a process loads either these or the
    app's. Raises a DeclarationError if one is missing.
    """
    sys.path.insert(0, str(app_folder()))
    return Registry.of([load_module(f"{DEFAULT_VIEWS}.{name}", "view") for name in VIEWS])
