"""DynamoDB JSON as Lambda delivers it <-> the same as boto3 wants it: they differ in bytes alone.

Lambda's records hold binary as base64 text and boto3 holds it as bytes. All else is the same, so a
row without binary passes untouched. The streams of DynamoDB Local leave the type of empty maps out;
it is put back here.
"""

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from typing import Any

from adminview.model.json_codec import dump_json
from adminview.model.row import Attributes


def for_boto3(attributes: Attributes) -> Attributes:
    """Turn base64 text into bytes, where there is any."""
    text = dump_json(attributes)  # far quicker than to look at every value in Python
    if b'"B":' not in text and b'"BS":' not in text:
        return attributes
    return {name: _convert(value, _bytes) for name, value in attributes.items()}


def from_boto3(attributes: Mapping[str, Any]) -> Attributes:
    """Turn bytes into base64 text, and give every value its type, where that is needed."""
    if isinstance(attributes, dict) and _is_json(attributes):
        return attributes
    return {name: _convert(value, _text) for name, value in attributes.items()}


def all_from_boto3(items: list[Any]) -> list[Attributes]:
    """Do the same with many: most often none of them needs it, and that is seen at one look."""
    return items if _is_json(items) else [from_boto3(item) for item in items]


def _is_json(attributes: dict[str, Any] | list[Any]) -> bool:
    """Tell whether there are neither bytes nor empty maps, of which some have no type."""
    try:
        return b"{}" not in dump_json(attributes)  # quicker than to look at every value in Python
    except TypeError:  # bytes
        return False


def _bytes(content: str) -> bytes:
    return b64decode(content, validate=True)


def _text(content: bytes | str) -> str:
    # It is text already in what was read straight.
    return content if isinstance(content, str) else b64encode(content).decode()


def _convert(value: dict[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    if not value and change is _text:
        return {"M": {}}
    ((kind, content),) = value.items()
    match kind:
        case "B":
            return {kind: change(content)}
        case "BS":
            return {kind: [change(element) for element in content]}
        case "M":
            return {kind: {name: _convert(element, change) for name, element in content.items()}}
        case "L":
            return {kind: [_convert(element, change) for element in content]}
        case _:
            return value
