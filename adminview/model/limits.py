"""DynamoDB's size limits, and sizes counted as its documentation does."""

from base64 import b64decode
from decimal import Decimal
from typing import Final

from adminview.model.errors import RowError
from adminview.model.item import AttributeValue, Image
from adminview.model.json_codec import dump_json

# All in bytes.
ROW_LIMIT: Final = 400 * 1024
PARTITION_LIMIT: Final = 2048  # of a partition key
SORT_LIMIT: Final = 1024  # of a sort key


def check_key(name: str, value: AttributeValue, limit: int) -> None:
    """Raise a RowError if a key attribute is empty or longer than *limit* bytes."""
    size = size_of(value)
    if not 0 < size <= limit:
        size_words = f"has {size} bytes" if size else "is empty"
        msg = f"key attribute {name!r} {size_words}; DynamoDB takes 1 to {limit} bytes"
        raise RowError(msg)


def check_size(attributes: Image, limit: int) -> None:
    """Raise a RowError if a row has more than *limit* bytes."""
    # The JSON is never shorter than DynamoDB's count, and much faster to measure.
    if len(dump_json(attributes)) > limit and (size := row_size(attributes)) > limit:
        msg = f"the row has {size} bytes; at most {limit} are possible"
        raise RowError(msg)


def row_size(attributes: Image) -> int:
    """Count the bytes of a row, with its attribute names."""
    return sum(len(name.encode()) + size_of(value) for name, value in attributes.items())


def size_of(value: AttributeValue) -> int:
    ((kind, content),) = value.items()
    match kind:
        case "S":
            size = len(content.encode())
        case "N":
            size = _number_size(content)
        case "B":
            size = len(b64decode(content))
        case "M":
            size = 3 + sum(
                len(name.encode()) + 1 + size_of(element) for name, element in content.items()
            )
        case "L":
            size = 3 + sum(1 + size_of(element) for element in content)
        case "SS" | "NS" | "BS":
            size = sum(size_of({kind[0]: element}) for element in content)
        case _:  # BOOL and NULL
            size = 1
    return size


def _number_size(digits: str) -> int:
    """Count one byte per two digits from the decimal point, one more, and one for a minus."""
    number = Decimal(digits)
    _, figures, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, figures))
    significant = text.strip("0")
    exponent += len(text) - len(text.rstrip("0"))
    pairs = (len(significant) + exponent % 2 + 1) // 2 if significant else 0
    return pairs + 1 + number.is_signed()
