"""Dead letters for items that bulk work cannot process. Other items are not affected."""

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
    """The dead letters of a page, sent after its rows are written."""

    post: DeadLetterSink
    model: str
    now: Callable[[], float]
    # One per item; several threads append.
    _letters: list[OutgoingLetter] = field(default_factory=list)

    @contextmanager
    def of(self, target: ItemRef) -> Iterator[None]:
        """Dead-letter the item if its views raise or it keeps changing; suppress the error."""
        try:
            yield
        except (RecordError, RepairError) as error:
            self.add(target, error, target.rows | error.touched)

    def add(self, target: ItemRef, error: AdminViewError, rows: Iterable[RowKey]) -> None:
        # The dead letter names the item, not a stream record.
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
        """Send the dead letters and return their number; raise a ServiceError if one is unsent."""
        unsent, codes = self.post.send(self._letters, deadline=deadline)
        if unsent:
            raise ServiceError(
                min(codes, default="Unsent"), "send the dead letters of failed items"
            )
        return len(self._letters)


def _owner(target: ItemRef) -> str | None:
    """Return the owner, or None if the key is too long: that may be the failure."""
    try:
        return target.owner
    except RecordError:
        return None
