"""Source items to load, and items that are kept between two runs."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from adminview.aws.attribute_codec import for_boto3, from_boto3
from adminview.item_files import line_of, read_lines
from adminview.local.source_writes import Delete, Put
from adminview.model import Registry
from adminview.model.errors import SettingsError, UnreadableRecordError
from adminview.model.item import Image, encode, to_python
from adminview.model.row import Attributes

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

FILE = "items.jsonl"
REPORT_SECONDS = 2.0


def read_items(file: str) -> list[Put]:
    """Read a file of items; raises a SettingsError that names the first invalid line."""
    return [Put(line.source, to_python({"M": line.image}), line.place) for line in read_lines(file)]


def image(item: Mapping[str, Any]) -> Attributes:
    return {name: encode(value) for name, value in item.items()}


def check_writes(writes: Iterable[Put | Delete], registry: Registry) -> None:
    """Raise a SettingsError for the first write that the declared tables would refuse."""
    for write in writes:
        try:
            values = write.item if isinstance(write, Put) else write.key
            registry.source(write.source).key_of(image(values))
        except KeyError as error:
            raise SettingsError(_at(write, error.args[0])) from error
        except UnreadableRecordError as error:
            msg = f"an item of {write.source!r} cannot be loaded: {error}"
            raise SettingsError(_at(write, msg)) from error


def _at(write: Put | Delete, problem: str) -> str:
    return f"{write.place}: {problem}" if write.place else problem


def fits(put: Put, registry: Registry) -> bool:
    """Return whether the source is declared, and the item has the key of the source."""
    try:
        check_writes([put], registry)
    except SettingsError:
        return False
    return True


def write_items(
    client: "DynamoDBClient", writes: Sequence[Put | Delete], report: Callable[[int], None]
) -> None:
    """Write to the source tables, in order. *report* gets the number so far every two seconds."""
    reported = monotonic()
    for number, write in enumerate(writes):
        if isinstance(write, Put):
            client.put_item(TableName=write.source, Item=for_boto3(image(write.item)))
        else:
            client.delete_item(TableName=write.source, Key=for_boto3(image(write.key)))
        if monotonic() - reported > REPORT_SECONDS:
            reported = monotonic()
            report(number + 1)


def scan(client: "DynamoDBClient", table: str) -> Iterator[Attributes]:
    """Yield all items of a table."""
    pages = client.get_paginator("scan").paginate(TableName=table, ConsistentRead=True)
    return (from_boto3(item) for page in pages for item in page["Items"])


class WaitingItems:
    """Items that no declared table accepts now, and a file that keeps items between two runs.

    A source may be missing, or have another key, only because its view file is being edited.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.path = folder / FILE if folder else None
        self._items = read_items(str(self.path)) if self.path and self.path.exists() else []

    def fitting(self, registry: Registry) -> list[Put]:
        """Return the items that the declared tables accept."""
        return [put for put in self._items if fits(put, registry)]

    def add(self, source: str, images: Iterable[Image]) -> None:
        self._items += [Put(source, to_python({"M": dict(image)})) for image in images]

    def remove(self, written: Iterable[Put]) -> None:
        """Forget items that were written to a table."""
        known = {id(put) for put in written}
        self._items = [put for put in self._items if id(put) not in known]

    def save(self, client: "DynamoDBClient", tables: Iterable[str]) -> int:
        """Write the items of *tables* and the waiting ones to the file; return their number."""
        assert self.path
        lines = [line_of(put.source, image(put.item)) for put in self._items]
        lines += [line_of(table, item) for table in tables for item in scan(client, table)]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = self.path.with_suffix(".new")
        new.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        new.replace(self.path)
        return len(lines)
