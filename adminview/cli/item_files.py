"""Items in files and on standard input, as plain JSON or as DynamoDB JSON.

DynamoDB JSON is what the AWS CLI prints: each value names its type, as in {"S": "PENDING"}. An item
is read as DynamoDB JSON if all its values have that form.
"""

import json
import sys
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Final

from adminview.checks.sampled import SampleItem
from adminview.model import Registry
from adminview.model.errors import RecordError, SettingsError
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


def read_sample(files: Iterable[str], model: Registry) -> list[SampleItem]:
    """Read items with their sources, one JSON object per line; raises a SettingsError."""
    return [item for file in files for item in _read_lines(file, model)]


def _read_lines(file: str, model: Registry) -> Iterator[SampleItem]:
    for number, line in enumerate(read_text(file).splitlines(), start=1):
        if line.strip():
            try:
                yield _sample_item(parse_json(line), model)
            except (SettingsError, RecordError) as error:
                msg = f"{file}:{number}: {error}"
                raise SettingsError(msg) from error


def _sample_item(entry: Any, model: Registry) -> SampleItem:
    if not isinstance(entry, dict) or entry.keys() != {"source", "item"}:
        msg = f"expected an object with a source and an item, as in {LINE}"
        raise SettingsError(msg)
    try:
        source = model.source(entry["source"])
    except KeyError as error:
        raise SettingsError(error.args[0]) from error
    if not isinstance(entry["item"], dict) or not entry["item"]:
        msg = f"item must be an object, as in {LINE}"
        raise SettingsError(msg)
    image = _image(entry["item"])
    source.owner(image)  # raises if the key is not as declared
    return SampleItem(source, image)


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
