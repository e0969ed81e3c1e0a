"""Writes of services to their own tables."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from adminview.local.local_cloud import LocalCloud


@dataclass(frozen=True, slots=True)
class Put:
    source: str
    item: dict[str, Any]
    place: str = field(default="", compare=False)  # the file and line that it is from


@dataclass(frozen=True, slots=True)
class Delete:
    source: str
    key: dict[str, Any]
    place: str = field(default="", compare=False)


def apply(cloud: LocalCloud, writes: Iterable[Put | Delete]) -> None:
    """Write to the source tables, and sync until every stream is read."""
    for write in writes:
        if isinstance(write, Put):
            cloud.put(write.source, write.item)
        else:
            cloud.delete(write.source, write.key)
    cloud.settle()
