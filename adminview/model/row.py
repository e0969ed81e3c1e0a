"""A row of AdminViewTable, and the checks it must pass before it is written."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from adminview.model.attribute import PK, SK, Attribute
from adminview.model.errors import RowError
from adminview.model.index import Index, IndexEntry
from adminview.model.item import AttributeValue, Item, Picked, RawValue, encode, text_of
from adminview.model.limits import PARTITION_LIMIT, SORT_LIMIT, check_key
from adminview.model.mistakes import argument_mistake
from adminview.model.total import Contribution, encode_contributions

VIEW_TABLE = "AdminViewTable"  # a deployment may put a prefix before it
DATA = "data"
OWNER, SEQUENCE, CHANGED_AT, MODEL = "_owner", "_seq", "_at", "_model"
PROVENANCE = (OWNER, SEQUENCE, CHANGED_AT, MODEL)
TOTALS = "_totals"  # what the row contributes to totals
RECONCILED = "reconciled"  # as sequence number: derived from the item, not from a record
RESERVED = frozenset({PK.name, SK.name, DATA, TOTALS, *PROVENANCE})

# Finds all rows of one source item. Every row has exactly one entry, and its key never changes.
OWNER_INDEX = Index("Owner", partition=OWNER)

RowKey: TypeAlias = tuple[str, str]
Attributes: TypeAlias = dict[str, AttributeValue]


@dataclass(slots=True)  # not frozen: that would take three times as long to create
class Row:
    """A row that a view yields: its key, data, entries in indexes and contributions to totals."""

    pk: str
    sk: str
    data: Mapping[str, Any] | RawValue = field(default_factory=dict)
    indexes: Sequence[IndexEntry] = ()
    totals: Sequence[Contribution] = ()

    @property
    def key(self) -> RowKey:
        return self.pk, self.sk

    def attributes(self, owner: Callable[[], str] | None = None) -> Attributes:
        """Return the row in DynamoDB JSON, without provenance; raises a RowError if it is invalid.

        *owner* returns the owner of the row; a row with an entry in a sharded index needs it.
        """
        pk, sk, data = self.pk, self.sk, self.data
        # ASCII text within the limit needs no further check. This runs for every row.
        if not (type(pk) is str and 0 < len(pk) <= PARTITION_LIMIT and pk.isascii()):
            _check_text(PK, pk, PARTITION_LIMIT)
        if not (type(sk) is str and 0 < len(sk) <= SORT_LIMIT and sk.isascii()):
            _check_text(SK, sk, SORT_LIMIT)
        attributes: Attributes = {"PK": {"S": pk}, "SK": {"S": sk}}
        try:
            for entry in self.indexes:
                _add_entry(attributes, entry, owner)
            attributes[DATA] = {"M": data.wire} if type(data) is Picked else _document(data)
            if self.totals:
                attributes[TOTALS] = encode_contributions(self.totals)
        except (AttributeError, TypeError) as error:
            # Checked only now: a check of every row's arguments would take time.
            if mistake := argument_mistake(data, self.indexes, self.totals):
                raise RowError(mistake) from error
            raise
        return attributes


def key_of(row: Mapping[str, Any]) -> RowKey:
    return row[PK.name]["S"], row[SK.name]["S"]


def key_image(key: RowKey) -> dict[str, Any]:
    """Write a row's key in DynamoDB JSON."""
    pk, sk = key
    return {PK.name: {"S": pk}, SK.name: {"S": sk}}


def provenance(owner: str, sequence: str, at: float, model: str) -> Attributes:
    """Return the attributes that state where a row comes from."""
    return {
        OWNER: {"S": owner},
        SEQUENCE: {"S": sequence},
        CHANGED_AT: {"N": f"{at:.0f}"},
        MODEL: {"S": model},
    }


def _check_text(attribute: Attribute, value: object, limit: int) -> None:
    if not isinstance(value, str):
        msg = f"{attribute.name} of a row must be text; the view gave {type(value).__name__}"
        raise RowError(msg)
    check_key(attribute.name, {"S": value}, limit)


def _add_entry(attributes: Attributes, entry: IndexEntry, owner: Callable[[], str] | None) -> None:
    values = entry.values
    if not attributes.keys().isdisjoint(values):
        _check_shared(attributes, entry)
    attributes.update(values)
    if shard := entry.index.shard:
        assert owner
        attributes[shard.name] = {"N": str(entry.index.shard_of(owner()))}


def _check_shared(attributes: Attributes, entry: IndexEntry) -> None:
    """Raise a RowError if two entries give a shared key attribute different values."""
    for name, value in entry.values.items():
        if attributes.get(name, value) != value:
            msg = (
                f"index {entry.index.name!r} gives {name!r} a second value: "
                "another index entry of this row has the same key attribute"
            )
            raise RowError(msg)


def _document(data: Mapping[str, Any] | RawValue) -> AttributeValue:
    """Encode a row's data; raises a RowError if it is not a map."""
    if isinstance(data, RawValue):
        document = data.value
    elif isinstance(data, Item):
        document = data.whole().value
    else:
        document = {
            "M": {
                name if type(name) is str else text_of(name): (
                    value.value if type(value) is RawValue else encode(value)
                )
                for name, value in data.items()
            }
        }
    if document.keys() != {"M"}:
        msg = f"a row's data must be a map; the view gave {next(iter(document))}"
        raise RowError(msg)
    return document
