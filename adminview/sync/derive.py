"""Item -> the rows of all views that apply to it, and the update that a migration makes."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import NoReturn

from adminview.model.errors import RowError, TooManyRowsError
from adminview.model.item import Image, Item
from adminview.model.json_codec import dump_json
from adminview.model.limits import ROW_LIMIT, check_size
from adminview.model.migration import Migration, Update
from adminview.model.mistakes import yield_mistake
from adminview.model.row import Attributes, Row, RowKey
from adminview.model.view import View
from adminview.sync.redact import redact


@dataclass(slots=True)
class DerivedRows:
    """The rows of one item, and whether any view applies to it."""

    rows: dict[RowKey, Attributes]
    claimed: bool


NO_ROWS = DerivedRows({}, claimed=False)
NO_JSON = "a row cannot be written as JSON"


def derive(views: Iterable[View], image: Image | None, *, room: int | None) -> DerivedRows:
    """Derive the rows of one item; raises a RecordError.

    *room* is the largest size of a row in bytes. With None, the caller checks sizes.
    """
    if image is None:
        return NO_ROWS
    item = Item(image)
    rows: dict[RowKey, Attributes] = {}
    claimed = False
    for view in views:
        yielded: Iterator[Row] | None = None
        try:
            if view.applies(item):
                claimed = True
                yielded = view.derive(item)
                _add_rows(rows, view, yielded, partial(view.source.owner, image), room)
        except MemoryError:
            raise  # not attributed to the record
        except (Exception, SystemExit) as error:
            raise redact(error, view, yielded) from error
    return DerivedRows(rows, claimed)


def complete(migration: Migration, image: Image) -> Update | None:
    """Return the update that a migration makes of one item, if any; raises a RecordError."""
    try:
        update = migration.update(image)
        if update:
            update.arguments()  # a too long expression is this item's error, not the writer's
    except MemoryError:
        raise  # not attributed to the item
    except (Exception, SystemExit) as error:
        raise redact(error, migration) from error
    return update


def _add_rows(
    rows: dict[RowKey, Attributes],
    view: View,
    yielded: Iterator[Row],
    owner: Callable[[], str],
    room: int | None,
) -> None:
    derived: list[Attributes] = []
    for row in yielded:
        if len(derived) == view.max_rows:
            _refuse(view, f"{view.max_rows} rows", "max_rows")
        try:
            attributes = row.attributes(owner)
        except (AttributeError, TypeError) as error:
            if not isinstance(row, Row):
                raise RowError(yield_mistake(row)) from error
            raise
        if room is not None:
            check_size(attributes, room)
        if rows.setdefault((row.pk, row.sk), attributes) is not attributes:
            raise RowError(_repetition(rows[row.pk, row.sk], derived))
        derived.append(attributes)
    if len(derived) * ROW_LIMIT > view.max_bytes:  # fewer rows cannot exceed it
        _check_bytes(derived, view)


def _repetition(first: Attributes, derived: Iterable[Attributes]) -> str:
    """Describe two rows with one key; *derived* are those of the view that yielded the second."""
    same = "two rows of one item have the same PK and SK"
    if any(attributes is first for attributes in derived):
        return f"{same}; a list with two equal elements is the usual cause"
    return f"{same}, from two views; give one of them another PK or SK"


def _check_bytes(rows: Iterable[Attributes], view: View) -> None:
    size = 0
    for attributes in rows:
        try:
            size += len(dump_json(attributes))
        except (RecursionError, TypeError, ValueError) as error:
            raise RowError(NO_JSON) from error
        if size > view.max_bytes:
            _refuse(view, f"{view.max_bytes} bytes of rows", "max_bytes")


def _refuse(view: View, limit: str, name: str) -> NoReturn:
    msg = (
        f"view {view.name!r} yields more than {limit} for one item; "
        f"yield fewer, or declare the view with a higher {name}"
    )
    raise TooManyRowsError(msg)
