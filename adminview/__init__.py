"""Keep a DynamoDB read model in sync with many source tables.

The names that view files and migrations are written with. Everything else may change.
"""

from adminview.model import *  # noqa: F403 - the list is kept there, once
from adminview.model import __all__ as __all__
