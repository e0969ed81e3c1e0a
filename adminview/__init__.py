"""Keep one DynamoDB table, AdminViewTable, in sync with your source tables.

The public names: those that view files and migrations are written with, and `connect`, which
queries the view. Everything else may change. `__init__.pyi` has their types.
"""

from importlib import import_module
from typing import Any

from adminview.model import *  # noqa: F403 - the list is kept there, once
from adminview.model import __all__ as declarations
from adminview.model.errors import AdminViewError, PatternNotReadyError, QueryError

# Loaded when first used: they need boto3, which would slow down the cold start of a function. So
# `from adminview import *`, which a view file may have, leaves them out.
CLIENT = ("RowPage", "Rows", "ViewClient", "connect")

__all__ = [  # noqa: PLE0604 - all are names
    *declarations,
    "AdminViewError",
    "PatternNotReadyError",
    "QueryError",
]


def __getattr__(name: str) -> Any:
    if name in CLIENT:
        return getattr(import_module("adminview.client"), name)
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
