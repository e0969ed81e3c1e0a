"""Migrate as you go: for the service that owns a table, on each read and write of its own.

    complete = Lazy(client, [delivery_date])
    order = complete.on_read(client.get_item(TableName="Orders", Key=key)["Item"])
    client.put_item(TableName="Orders", Item=complete.on_write(order))

Items are the client's DynamoDB JSON; with ``form=RESOURCE`` they are Python, as the resource has
them (``boto3.resource("dynamodb").Table("Orders")``).
"""

from collections.abc import Callable, Iterable, Mapping
from logging import getLogger
from typing import TYPE_CHECKING, Any

from adminview.aws.deadline import Deadline
from adminview.aws.item_forms import CLIENT, Form
from adminview.aws.source_tables import SourceReader
from adminview.aws.source_updates import SourceUpdates
from adminview.model.errors import AdminViewError, DeclarationError, RecordError, reason_of
from adminview.model.migration import Migration
from adminview.model.row import Attributes
from adminview.model.update import Update
from adminview.sync.derive import complete

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

PATIENCE_SECONDS = 1.0  # the service's own caller waits
ROUNDS = 3  # while others write the item


def _log(trouble: str) -> None:
    getLogger(__name__).warning("%s", trouble)


class Lazy:
    """Complete the items of one table, and never stand in its service's way.

    What cannot be done now is told (without a word of the item) and left to the next read. An item
    that a migration fails on is given as it is, and one that cannot be written is given complete.
    """

    def __init__(  # noqa: PLR0913 - all but two are keywords
        self,
        client: "DynamoDBClient",
        migrations: Iterable[Migration],
        *,
        table: str | None = None,  # if it is not named as its source
        form: Form = CLIENT,
        report_error: Callable[[str], object] = _log,
        seconds: float = PATIENCE_SECONDS,
    ) -> None:
        self._migrations = tuple(migrations)
        sources = {migration.source for migration in self._migrations}
        if len(sources) != 1:
            msg = "the migrations of a table are all of one source, and there is at least one"
            raise DeclarationError(msg)
        (source,) = sources
        self._table = table or source.name
        self._form = form
        self._tell = report_error
        self._seconds = seconds
        self._tables = SourceReader(client)
        self._updates = SourceUpdates(client)
        self._source = source

    def on_write(self, item: Mapping[str, Any]) -> dict[str, Any]:
        """Complete an item before it is put. Pure: nothing is read or written here."""
        return self._form.write(self._completed(self._form.read(item))[0])

    def on_read(self, item: Mapping[str, Any]) -> dict[str, Any] | None:
        """Complete an item that was read, and keep it so if nobody changed it meanwhile.

        If somebody did, it is read again and the newer one is given, or None if it was deleted.
        """
        deadline = Deadline.after(self._seconds)
        image = self._form.read(item)
        for _ in range(ROUNDS):
            completed, updates = self._completed(image)
            try:
                if all(self._updates.write(self._table, one, deadline=deadline) for one in updates):
                    return self._form.write(completed)
                key = self._source.key_of(image)
                newer = self._tables.read(self._table, key, deadline=deadline)
            except AdminViewError as error:
                self._tell(reason_of(error))
                return self._form.write(completed)
            if newer is None:
                return None
            image = dict(newer)
        return self._form.write(self._completed(image)[0])

    def _completed(self, image: Attributes) -> tuple[Attributes, list[Update]]:
        """Let each migration add to what those before it have left."""
        updates: list[Update] = []
        for migration in self._migrations:
            try:
                update = complete(migration, image)
            except RecordError as error:
                self._tell(reason_of(error))
                continue
            if update:
                image = update.applied(image)
                updates.append(update)
        return image, updates
