"""The words a view file is written in. Pure: nothing here knows of AWS."""

from lambdas.model.attribute import Attribute, binary, number, text
from lambdas.model.index import Index, IndexEntry, LocalIndex
from lambdas.model.item import Item, Wire
from lambdas.model.join import Join
from lambdas.model.key import key
from lambdas.model.migration import Migration, migration
from lambdas.model.pattern import AccessPattern, KeyCondition
from lambdas.model.registry import Registry
from lambdas.model.row import Row
from lambdas.model.source import Source
from lambdas.model.view import View, view

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
