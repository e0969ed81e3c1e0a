"""Item -> rows: every view that is for the item says its rows, and each row is checked."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from lambdas.model.errors import RowError
from lambdas.model.item import Image, Item
from lambdas.model.row import Attributes, Row, RowKey
from lambdas.model.size import check_size
from lambdas.model.view import View
from lambdas.pipeline.blame import blame


@dataclass(slots=True)
class Rows:
    """The rows of one item, and whether any view was for it."""

    rows: dict[RowKey, Attributes]
    claimed: bool


NO_ROWS = Rows({}, claimed=False)


def derive(views: Iterable[View], image: Image | None, *, room: int | None) -> Rows:
    """Derive the rows of one item, each of at most *room* bytes, or raise a RecordError.

    Without *room*, whoever asks looks at the sizes, or does not need to.
    """
    if image is None:
        return NO_ROWS
    item = Item(image)
    rows: dict[RowKey, Attributes] = {}
    claimed = False
    for view in views:
        try:
            if view.applies(item):
                claimed = True
                _add_rows(rows, view.derive(item), partial(view.source.owner, image), room)
        except MemoryError:
            raise  # not the record's fault
        except (Exception, SystemExit) as error:
            raise blame(error, view) from error
    return Rows(rows, claimed)


def _add_rows(
    rows: dict[RowKey, Attributes],
    derived: Iterable[Row],
    owner: Callable[[], str],
    room: int | None,
) -> None:
    for row in derived:
        attributes = row.attributes(owner)
        if room is not None:
            check_size(attributes, room)
        if rows.setdefault((row.pk, row.sk), attributes) is not attributes:
            msg = "two rows of one item have the same PK and SK"
            raise RowError(msg)
