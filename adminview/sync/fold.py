"""The changes of a batch -> one write per row, the last one."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from adminview.model.errors import OwnershipError
from adminview.model.row import RowKey

WRITE_BYTES = 512  # approximate size of a write besides its row


@dataclass(slots=True)
class Write:
    """The final write of a batch to one row."""

    key: RowKey
    owner: str
    row: bytes | None  # JSON as it is sent; None deletes the row
    first: int  # position of the first record that contributed to this row
    last: int  # position of the last one


class Fold:
    """The writes of a part of a batch, one per row: BatchWriteItem refuses two for one row."""

    def __init__(self) -> None:
        self._writes: dict[RowKey, Write] = {}
        self.size = 0  # bytes, with the writes that later ones replaced

    def __iter__(self) -> Iterator[Write]:
        return iter(self._writes.values())

    def __len__(self) -> int:
        return len(self._writes)

    def add(self, position: int, owner: str, changes: Mapping[RowKey, bytes | None]) -> None:
        """Add the changes of one record; they replace earlier ones.

        Adds nothing and raises an OwnershipError if another item claims one of the rows.
        """
        writes = self._writes
        if not writes.keys().isdisjoint(changes):
            self._check_owner(owner, changes)
        for key, row in changes.items():
            self.size += WRITE_BYTES + (len(row) if row else 0)
            write = writes.get(key)
            if write is None:
                writes[key] = Write(key, owner, row, position, position)
            else:
                write.row, write.last = row, position

    def has_another_owner(self, key: RowKey, owner: str) -> bool:
        """Return whether an item other than *owner* writes this row."""
        write = self._writes.get(key)
        return write is not None and write.owner != owner

    def _check_owner(self, owner: str, keys: Iterable[RowKey]) -> None:
        for key in keys:
            if self.has_another_owner(key, owner):
                msg = (
                    "two source items of one batch claim the same row; "
                    "its PK and SK must name the one item it is derived from"
                )
                raise OwnershipError(msg)
