"""Keep a DynamoDB read model in sync with many source tables.

The names that view files and migrations are written with. Everything else may change.
"""

from adminview.model import (
    AccessPattern,
    Attribute,
    Index,
    IndexEntry,
    Item,
    Join,
    KeyCondition,
    LocalIndex,
    Migration,
    Registry,
    Row,
    Source,
    View,
    Wire,
    binary,
    key,
    migration,
    number,
    text,
    view,
)

__all__ = [
    "AccessPattern",
    "Attribute",
    "Index",
    "IndexEntry",
    "Item",
    "Join",
    "KeyCondition",
    "LocalIndex",
    "Migration",
    "Registry",
    "Row",
    "Source",
    "View",
    "Wire",
    "binary",
    "key",
    "migration",
    "number",
    "text",
    "view",
]
