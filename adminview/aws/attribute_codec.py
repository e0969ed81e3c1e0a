"""DynamoDB JSON as Lambda delivers it <-> DynamoDB JSON as boto3 takes it.

They differ only in binary values: base64 text in Lambda's records, bytes in boto3. A row without
binary passes unchanged. The streams of DynamoDB Local omit the type of empty maps; `from_boto3`
restores it.
"""

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from typing import Any

from adminview.model.json_codec import dump_json
from adminview.model.row import Attributes


def for_boto3(attributes: Attributes) -> Attributes:
    """Return *attributes* with binary values as bytes."""
    text = dump_json(attributes)  # much faster than checking every value in Python
    if b'"B":' not in text and b'"BS":' not in text:
        return attributes
    return {name: _convert(value, _bytes) for name, value in attributes.items()}


def from_boto3(attributes: Mapping[str, Any]) -> Attributes:
    """Return *attributes* with binary values as base64 text, and with the types of empty maps."""
    if isinstance(attributes, dict) and _is_json(attributes):
        return attributes
    return {name: _convert(value, _text) for name, value in attributes.items()}


def all_from_boto3(items: list[Any]) -> list[Attributes]:
    """Convert many items; one check suffices if none needs a change, as is usual."""
    return items if _is_json(items) else [from_boto3(item) for item in items]


def _is_json(attributes: dict[str, Any] | list[Any]) -> bool:
    """Return whether there are neither bytes nor empty maps, which may lack a type."""
    try:
        return b"{}" not in dump_json(attributes)  # faster than checking every value in Python
    except TypeError:  # bytes
        return False


def _bytes(content: str) -> bytes:
    return b64decode(content, validate=True)


def _text(content: bytes | str) -> str:
    # The direct client returns text already.
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
