"""Items in files and on standard input, as plain JSON or as DynamoDB JSON.

DynamoDB JSON is what the AWS CLI prints: each value names its type, as in {"S": "PENDING"}. An item
is read as DynamoDB JSON if all its values have that form. A file with items of several sources has
one line per item: {"source": "Orders", "item": {"orderId": "o-1"}}.
"""

import json
import sys
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Final

from adminview.model.errors import RecordError, SettingsError
from adminview.model.item import Image
from adminview.model.row import Attributes
from adminview.preview import encode_item

STDIN: Final = "-"
# Keys that `aws dynamodb scan` and `get-item` print around items; items may have them too.
WRAPPINGS: Final = ("Items", "Item")
BESIDE: Final = frozenset({"Count", "ScannedCount", "ConsumedCapacity", "NextToken"})
LINE: Final = '{"source": "Orders", "item": {…}}'


def read_text(file: str) -> str:
    """Read a file, or standard input for "-"; raises a SettingsError if it is not UTF-8 text."""
    try:
        return sys.stdin.read() if file == STDIN else Path(file).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        msg = f"{file} is not UTF-8 text"
        raise SettingsError(msg) from error


def parse_json(text: str) -> Any:
    """Parse JSON; numbers keep all their digits. Raises a SettingsError without data."""
    try:
        return json.loads(text, parse_float=Decimal)
    except (ValueError, RecursionError) as error:  # the message quotes no data
        msg = f"not JSON: {error}"
        raise SettingsError(msg) from error


def parse_items(sample: object) -> list[Attributes]:
    """Return one item or a list of items in DynamoDB JSON; raises a SettingsError if invalid."""
    for name in WRAPPINGS:
        if isinstance(sample, Mapping) and name in sample and sample.keys() - {name} <= BESIDE:
            sample = sample[name]
    items: list[Any] = sample if isinstance(sample, list) else [sample]
    if not items or not all(isinstance(item, Mapping) and item for item in items):
        msg = (
            "expected an item or a list of items in JSON, plain or as "
            "`aws dynamodb scan` prints them"
        )
        raise SettingsError(msg)
    return [_image(item) for item in items]


@dataclass(frozen=True, slots=True)
class ItemLine:
    """An item in DynamoDB JSON, the name of its source, and the file and line that it is from."""

    source: str
    image: Attributes
    place: str


def items_of(source: str, text: str, file: str) -> list[Attributes]:
    """Return the items of one source in a text: lines with their sources, or its items alone.

    Raises a SettingsError if the text is neither, or has no item of the source.
    """
    if not _has_lines(text):
        return parse_items(parse_json(text))
    items = [line.image for line in _lines(text, file) if line.source == source]
    if not items:
        msg = f"{file} has no item of the source {source!r}"
        raise SettingsError(msg)
    return items


def _has_lines(text: str) -> bool:
    first = text.lstrip().partition("\n")[0]
    try:
        entry = json.loads(first)
    except (ValueError, RecursionError):
        return False
    return isinstance(entry, dict) and entry.keys() == {"source", "item"}


def read_lines(file: str) -> Iterator[ItemLine]:
    """Yield the items of a file, one per line; raises a SettingsError that names the line."""
    yield from _lines(read_text(file), file)


def _lines(text: str, file: str) -> Iterator[ItemLine]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            place = f"{file}:{number}"
            try:
                yield _parse_line(parse_json(line), place)
            except (SettingsError, RecordError) as error:
                msg = f"{place}: {error}"
                raise SettingsError(msg) from error


def line_of(source: str, image: Image) -> str:
    """Return an item as a line, in DynamoDB JSON: plain JSON has no sets and no bytes."""
    return json.dumps({"source": source, "item": dict(image)})


def _parse_line(entry: Any, place: str) -> ItemLine:
    if not isinstance(entry, dict) or entry.keys() != {"source", "item"}:
        msg = f"expected an object with a source and an item, as in {LINE}"
        raise SettingsError(msg)
    source, item = entry["source"], entry["item"]
    if not isinstance(source, str):
        msg = f"source must be the name of a source, as in {LINE}"
        raise SettingsError(msg)
    if not isinstance(item, dict) or not item:
        msg = f"item must be an object, as in {LINE}"
        raise SettingsError(msg)
    return ItemLine(source, _image(item), place)


def _image(item: Mapping[str, Any]) -> Attributes:
    if all(isinstance(value, dict) and len(value) == 1 for value in item.values()):
        kinds = {kind for value in item.values() for kind in value}
        if kinds <= CHECKS.keys():
            for name, value in item.items():
                _check(name, value)
            return dict(item)
    return encode_item(item)


def _check(name: str, value: object) -> None:
    """Raise a SettingsError that names the attribute unless *value* is valid DynamoDB JSON."""
    if not _is_typed(value):
        msg = f"attribute {name!r} has a value that does not match its DynamoDB type"
        raise SettingsError(msg)


def _is_typed(value: object) -> bool:
    if not isinstance(value, dict) or len(value) != 1:
        return False
    ((kind, content),) = value.items()
    return kind in CHECKS and CHECKS[kind](content)


def _is_number(content: object) -> bool:
    try:
        return isinstance(content, str) and Decimal(content).is_finite()
    except InvalidOperation:
        return False


def _is_base64(content: object) -> bool:
    try:
        return isinstance(content, str) and b64decode(content, validate=True) is not None
    except ValueError:
        return False


def _is_text(content: object) -> bool:
    return isinstance(content, str)


def _set_of(check: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda content: isinstance(content, list) and bool(content) and all(map(check, content))


CHECKS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "S": _is_text,
    "N": _is_number,
    "B": _is_base64,
    "BOOL": lambda content: isinstance(content, bool),
    "NULL": lambda content: content is True,
    "M": lambda content: isinstance(content, dict) and all(map(_is_typed, content.values())),
    "L": lambda content: isinstance(content, list) and all(map(_is_typed, content)),
    "SS": _set_of(_is_text),
    "NS": _set_of(_is_number),
    "BS": _set_of(_is_base64),
}
