"""A row of AdminViewTable, and the checks it must pass before it is sent."""

from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from json import dumps
from typing import Any, TypeAlias

from lambdas.model.attribute import PK, SK, Attribute
from lambdas.model.errors import RowError
from lambdas.model.index import Index, IndexEntry
from lambdas.model.item import AttributeValue, Item, Wire, encode

VIEW_TABLE = "AdminViewTable"  # a deployment may put a prefix before it
DATA = "data"
OWNER, SEQUENCE, CHANGED_AT, MODEL = "_owner", "_seq", "_at", "_model"
PROVENANCE = (OWNER, SEQUENCE, CHANGED_AT, MODEL)
RECONCILED = "reconciled"  # in place of a sequence number: the row was written from the item itself
RESERVED = frozenset({PK.name, SK.name, DATA, *PROVENANCE})

# Every row is in it once, and its keys never change: it finds all rows of one source item.
OWNER_INDEX = Index("Owner", partition=OWNER)

# All set by DynamoDB, in bytes.
ROW_LIMIT = 400 * 1024
PARTITION_LIMIT, SORT_LIMIT = 2048, 1024

RowKey: TypeAlias = tuple[str, str]
Attributes: TypeAlias = dict[str, AttributeValue]


@dataclass(frozen=True, slots=True)
class Row:
    """What a view yields: the row's key, what the panel shows, and its places in the indexes."""

    pk: str
    sk: str
    data: Mapping[str, Any] | Wire = field(default_factory=dict)
    indexes: Sequence[IndexEntry] = ()

    @property
    def key(self) -> RowKey:
        """The row's identity in the table."""
        return self.pk, self.sk

    def attributes(self, owner: Callable[[], str] | None = None) -> Attributes:
        """Write the row in DynamoDB JSON, without provenance, or say why it cannot be a row.

        *owner* names its item, if it has a place in an index that is sharded by it.
        """
        attributes: Attributes = {
            PK.name: _key_text(PK, self.pk, PARTITION_LIMIT),
            SK.name: _key_text(SK, self.sk, SORT_LIMIT),
        }
        for entry in self.indexes:
            _place(attributes, entry)
            if shard := entry.index.shard:
                assert owner
                attributes[shard.name] = {"N": str(entry.index.shard_of(owner()))}
        attributes[DATA] = _document(self.data)
        return attributes


def key_of(row: Mapping[str, Any]) -> RowKey:
    """Read the key of a row."""
    return row[PK.name]["S"], row[SK.name]["S"]


def key_image(key: RowKey) -> dict[str, Any]:
    """Write a row's key in DynamoDB JSON."""
    pk, sk = key
    return {PK.name: {"S": pk}, SK.name: {"S": sk}}


def provenance(owner: str, sequence: str, at: float, model: str) -> Attributes:
    """Say on a row where it comes from."""
    return {
        OWNER: {"S": owner},
        SEQUENCE: {"S": sequence},
        CHANGED_AT: {"N": f"{at:.0f}"},
        MODEL: {"S": model},
    }


def check_size(attributes: Attributes, room: int) -> None:
    """Refuse a row of more than *room* bytes."""
    # JSON is never shorter than what DynamoDB counts, and far quicker to measure.
    if len(dumps(attributes)) > room and (size := row_size(attributes)) > room:
        msg = f"the row takes {size} bytes, and there is room for {room}"
        raise RowError(msg)


def row_size(attributes: Attributes) -> int:
    """Count the bytes of a row: its names and its values."""
    return sum(len(name.encode()) + size_of(value) for name, value in attributes.items())


def size_of(value: AttributeValue) -> int:
    """Count the bytes of a value as DynamoDB's documentation does."""
    ((kind, content),) = value.items()
    match kind:
        case "S":
            size = len(content.encode())
        case "N":
            size = _number_size(content)
        case "B":
            size = len(b64decode(content))
        case "M":
            size = 3 + sum(len(name.encode()) + 1 + size_of(one) for name, one in content.items())
        case "L":
            size = 3 + sum(1 + size_of(element) for element in content)
        case "SS" | "NS" | "BS":
            size = sum(size_of({kind[0]: element}) for element in content)
        case _:  # BOOL and NULL
            size = 1
    return size


def _number_size(digits: str) -> int:
    """Count a byte per two digits, paired from the decimal point, one more, and one for a minus."""
    number = Decimal(digits)
    _, figures, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, figures))
    significant = text.strip("0")
    exponent += len(text) - len(text.rstrip("0"))
    pairs = (len(significant) + exponent % 2 + 1) // 2 if significant else 0
    return pairs + 1 + number.is_signed()


def _key_text(attribute: Attribute, value: object, limit: int) -> AttributeValue:
    if not isinstance(value, str):
        msg = f"{attribute.name} of a row is text; the view gave {type(value).__name__}"
        raise RowError(msg)
    encoded = {"S": value}
    _check_key(attribute.name, encoded, limit)
    return encoded


def _check_key(name: str, value: AttributeValue, limit: int) -> None:
    size = size_of(value)
    if not 0 < size <= limit:
        msg = f"key attribute {name!r} takes {size} bytes; DynamoDB takes 1 to {limit}"
        raise RowError(msg)


def _place(attributes: Attributes, entry: IndexEntry) -> None:
    """Give a row its keys in one index."""
    for attribute in entry.index.entry_key:
        value = entry.values[attribute.name]
        limit = PARTITION_LIMIT if attribute in entry.index.partition else SORT_LIMIT
        _check_key(attribute.name, value, limit)
        if attributes.setdefault(attribute.name, value) != value:
            msg = (
                f"index {entry.index.name!r} gives {attribute.name!r} a second value: "
                "another index of this row is keyed by the same attribute"
            )
            raise RowError(msg)


def _document(data: Mapping[str, Any] | Wire) -> AttributeValue:
    """Encode what the panel shows; it is a map, whoever made it."""
    if isinstance(data, Wire):
        document = data.value
    elif isinstance(data, Item):
        document = data.whole().value
    else:
        document = {"M": {name: encode(value) for name, value in data.items()}}
    if document.keys() != {"M"}:
        msg = f"a row's data is a map; the view gave {next(iter(document))}"
        raise RowError(msg)
    return document
