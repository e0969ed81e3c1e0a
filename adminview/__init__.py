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
    RawValue,
    Registry,
    Row,
    Source,
    View,
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
    "RawValue",
    "Registry",
    "Row",
    "Source",
    "View",
    "binary",
    "key",
    "migration",
    "number",
    "text",
    "view",
]
