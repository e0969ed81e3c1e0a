"""Items that cannot be brought in step now: each gets a letter, and harms no other."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from adminview.aws.dead_letter_producer import DeadLetterSink
from adminview.aws.deadline import Deadline
from adminview.model.dead_letter import ItemOrigin, OutgoingLetter
from adminview.model.errors import AdminViewError, RecordError, RepairError, ServiceError
from adminview.model.row import RowKey
from adminview.reconcile.item_ref import ItemRef
from adminview.sync.dead_letter import dead_letter


@dataclass(slots=True)
class Failures:
    """The letters of a page. They are sent last, when its rows are written."""

    post: DeadLetterSink
    model: str
    now: Callable[[], float]
    _letters: list[OutgoingLetter] = field(default_factory=list)  # one per item; threads add to it

    @contextmanager
    def of(self, target: ItemRef) -> Iterator[None]:
        """Set an item aside if its views raise or it moves too fast, and go on."""
        try:
            yield
        except (RecordError, RepairError) as error:
            self.add(target, error, target.rows | error.touched)

    def add(self, target: ItemRef, error: AdminViewError, rows: Iterable[RowKey]) -> None:
        """Write the letter of one item."""
        # No record of a stream: the item itself.
        origin = ItemOrigin(
            source=target.route.source.name,
            table=target.route.table,
            key=dict(target.key),
            owner=_owner(target),
            at=self.now(),
            model=self.model,
        )
        self._letters.append(dead_letter(0, origin, error, rows))

    def send(self, deadline: Deadline) -> int:
        """Send the letters, and count the items that failed; raise if the queue refuses one."""
        unsent, trouble = self.post.send(self._letters, deadline=deadline)
        if unsent:
            raise ServiceError(min(trouble, default="Unsent"), "send letters of items that fail")
        return len(self._letters)


def _owner(target: ItemRef) -> str | None:
    """Name an item, unless its key is too long to be a name: that may be what failed."""
    try:
        return target.owner
    except RecordError:
        return None
