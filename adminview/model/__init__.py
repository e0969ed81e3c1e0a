"""The declarations that view files are written with. Pure: no AWS calls."""

from adminview.model.access_pattern import AccessPattern, KeyCondition
from adminview.model.attribute import Attribute, binary, number, text
from adminview.model.index import Index, IndexEntry, LocalIndex
from adminview.model.item import Item, RawValue
from adminview.model.join import Join
from adminview.model.key import key
from adminview.model.migration import Migration, migration
from adminview.model.registry import Registry
from adminview.model.row import Row
from adminview.model.source import Source
from adminview.model.total import Contribution, Sum, Total
from adminview.model.view import View, view

__all__ = [
    "AccessPattern",
    "Attribute",
    "Contribution",
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
    "Sum",
    "Total",
    "View",
    "binary",
    "key",
    "migration",
    "number",
    "text",
    "view",
]
