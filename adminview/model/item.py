"""A source item, decoded lazily.

Values stay in DynamoDB JSON (``{"S": "PENDING"}``), as Lambda delivers them: binary as base64
text, numbers as digits. `Item` decodes an attribute when a view reads it. Attributes that a view
only passes through (`pick`, `raw`) are never decoded, so numbers keep their 38 digits, and sets and
bytes survive.
"""

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Context, Decimal
from typing import Any, TypeAlias

from adminview.model.errors import MissingAttributeError, RowError

AttributeValue: TypeAlias = dict[str, Any]
Image: TypeAlias = Mapping[str, AttributeValue]


class RawValue:
    """A value in DynamoDB JSON that passes through unchanged."""

    __slots__ = ("value",)

    def __init__(self, value: AttributeValue) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RawValue) and self.value == other.value

    def __hash__(self) -> int:
        return hash(RawValue)  # values are dicts, which have no hash

    def __repr__(self) -> str:
        """Hide the value: a repr may end in a log."""
        return f"RawValue(<{next(iter(self.value), 'empty')}>)"


class Picked(Mapping[str, RawValue]):
    """Attributes of an item that pass through unchanged; `|` adds others, which win."""

    __slots__ = ("wire",)

    def __init__(self, wire: dict[str, AttributeValue]) -> None:
        self.wire = wire

    def __getitem__(self, name: str) -> RawValue:
        return RawValue(self.wire[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self.wire)

    def __len__(self) -> int:
        return len(self.wire)

    def __or__(self, other: Mapping[str, Any]) -> "Mapping[str, Any]":
        if type(other) is Picked:
            return Picked(self.wire | other.wire)
        return {**self, **other}

    def __ror__(self, other: Mapping[str, Any]) -> Mapping[str, Any]:
        return {**other, **self}

    def __repr__(self) -> str:
        """Hide the values: a repr may end in a log."""
        return f"Picked({', '.join(sorted(self.wire))})"


class Item(Mapping[str, Any]):
    """A source item. Decodes an attribute each time it is read."""

    __slots__ = ("_image",)
    _what = "the item"

    def __init__(self, image: Image) -> None:
        self._image = image

    def __getitem__(self, name: str) -> Any:
        """Decode an attribute; raises a MissingAttributeError, which dead-letters the record."""
        try:
            value = self._image[name]
        except KeyError:
            raise MissingAttributeError(name, owner=self._what) from None
        text = value.get("S")  # most are text
        return decode(value) if text is None else text

    def __iter__(self) -> Iterator[str]:
        return iter(self._image)

    def __len__(self) -> int:
        return len(self._image)

    def __contains__(self, name: object) -> bool:
        return name in self._image

    def __repr__(self) -> str:
        """Hide the values: a repr may end in a log."""
        return f"Item({', '.join(sorted(self._image))})"

    def get(self, name: str, default: Any = None) -> Any:
        """Decode an attribute; returns *default* if the item does not have it."""
        value = self._image.get(name)
        return default if value is None else decode(value)

    def has(self, name: str, value: AttributeValue) -> bool:
        """Return whether an attribute equals *value* in DynamoDB JSON, type included."""
        return self._image.get(name) == value

    def raw(self, name: str) -> RawValue:
        """Return an attribute undecoded; raises a MissingAttributeError."""
        value = self._image.get(name)
        if value is None:
            raise MissingAttributeError(name, owner=self._what)
        return RawValue(value)

    def pick(self, *names: str) -> Picked:
        """Return the named attributes undecoded, without those the item does not have."""
        image = self._image
        return Picked({name: image[name] for name in names if name in image})

    def whole(self) -> RawValue:
        """Return the item undecoded, as one map."""
        return RawValue({"M": dict(self._image)})


class ItemMap(Item):
    """A map in an item, or in one of its lists."""

    __slots__ = ()
    _what = "a map in the item"


DECODERS: dict[str, Callable[[Any], Any]] = {
    "S": str,
    "N": Decimal,
    "BOOL": bool,
    "NULL": lambda _: None,
    "B": b64decode,
    "M": ItemMap,  # maps stay lazy
    "L": lambda elements: [
        ItemMap(element["M"]) if "M" in element else decode(element) for element in elements
    ],
    "SS": set,
    "NS": lambda elements: {Decimal(element) for element in elements},
    "BS": lambda elements: {b64decode(element) for element in elements},
}


def decode(value: AttributeValue) -> Any:
    """Decode a value; maps become lazy `Item`s."""
    ((kind, content),) = value.items()
    return DECODERS[kind](content)


def to_python(value: AttributeValue) -> Any:
    """Decode a value and everything in it: Decimal, str, bytes, dict, list."""
    ((kind, content),) = value.items()
    if kind == "M":
        return {name: to_python(element) for name, element in content.items()}
    if kind == "L":
        return [to_python(element) for element in content]
    return decode(value)


def order(value: AttributeValue) -> Any:
    """Return a sort key that orders values as DynamoDB does: text by its bytes."""
    ((kind, content),) = value.items()
    return content.encode() if kind == "S" else DECODERS[kind](content)


# Set by DynamoDB.
DIGITS = 38
SMALLEST, LARGEST = -130, 125  # powers of ten
EXACT = Context(prec=60)  # more than DIGITS: rounds nothing


def normalize_number(number: Decimal) -> str:
    """Write a number without an exponent and without trailing zeros.

    Raises a RowError if DynamoDB cannot store the number.
    """
    check_range(number)  # first: 1E+999999999 would take a gigabyte without its exponent
    return f"{number.normalize(EXACT):f}" if number else "0"


def check_range(number: Decimal) -> None:
    if not number.is_finite():
        msg = "DynamoDB has no NaN and no Infinity"
        raise RowError(msg)
    if number and not SMALLEST <= number.adjusted() <= LARGEST:
        msg = f"a number is outside DynamoDB's range, 1E{SMALLEST} to 9.9E+{LARGEST}"
        raise RowError(msg)


def encode(value: object) -> AttributeValue:
    """Encode a Python value as DynamoDB JSON; raises a RowError if DynamoDB cannot store it."""
    if quick := QUICK_ENCODERS.get(type(value)):
        return quick(value)
    for kind, encoder in ENCODERS:
        if isinstance(value, kind):
            return encoder(value)
    hint = ""
    if isinstance(value, float):
        hint = " (use a Decimal: floats lose digits)"
    elif hasattr(value, "isoformat"):
        hint = " (use its isoformat())"
    msg = f"DynamoDB cannot store a value of type {type(value).__name__}{hint}"
    raise RowError(msg)


def number_text(value: int | Decimal) -> str:
    """Write a number as text; raises a RowError if DynamoDB would round or reject it."""
    exact = Decimal(value)
    check_range(exact)
    significant = len("".join(map(str, exact.as_tuple().digits)).strip("0"))
    if significant > DIGITS:
        msg = f"a number has {significant} significant digits; DynamoDB keeps {DIGITS}"
        raise RowError(msg)
    return str(exact) if significant else "0"  # a zero can have any exponent


def text_of(name: object) -> str:
    """Return the name of an attribute as text: JSON has no other names, and rows are compared."""
    if type(name) is str:  # nearly always, and this runs for every attribute
        return name
    return str.__str__(name) if isinstance(name, str) else str(name)


def _encode_set(values: Iterable[Any]) -> AttributeValue:
    """Encode a set with elements of one type, sorted so that equal sets have equal encodings."""
    encoded = [encode(element) for element in values]
    kinds = {kind for element in encoded for kind in element}
    if not encoded or len(kinds) != 1 or not kinds <= {"S", "N", "B"}:
        msg = "a DynamoDB set must not be empty, and holds only text, only numbers or only bytes"
        raise RowError(msg)
    (kind,) = kinds
    return {f"{kind}S": sorted(element[kind] for element in encoded)}


# The order matters: a bool is an int, and Item and Picked are Mappings.
ENCODERS: tuple[tuple[Any, Callable[[Any], AttributeValue]], ...] = (
    (RawValue, lambda value: value.value),
    (str, lambda value: {"S": str.__str__(value)}),
    (bool, lambda value: {"BOOL": value}),
    (int | Decimal, lambda value: {"N": number_text(value)}),
    (type(None), lambda _: {"NULL": True}),
    (bytes | bytearray, lambda value: {"B": b64encode(value).decode()}),
    (Item, lambda value: value.whole().value),
    (Picked, lambda value: {"M": value.wire}),
    (
        Mapping,
        lambda value: {"M": {text_of(name): encode(element) for name, element in value.items()}},
    ),
    (list | tuple, lambda value: {"L": [encode(element) for element in value]}),
    (set | frozenset, _encode_set),
)
# For the common types, a lookup is faster than trying the encoders in turn.
QUICK_ENCODERS: dict[type, Callable[[Any], AttributeValue]] = {
    common: next(encoder for kind, encoder in ENCODERS if issubclass(common, kind))
    for common in (
        RawValue,
        str,
        bool,
        int,
        Decimal,
        type(None),
        bytes,
        Item,
        ItemMap,
        Picked,
        dict,
        list,
        set,
    )
}
