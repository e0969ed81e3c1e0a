"""Migrate items lazily: the service that owns a table calls this on each read and write.

    complete = Lazy(client, [delivery_date])
    order = complete.on_read(client.get_item(TableName="Orders", Key=key)["Item"])
    client.put_item(TableName="Orders", Item=complete.on_write(order))

Items are DynamoDB JSON, as the client returns them. With ``form=RESOURCE`` they are Python values,
as the resource returns them (``boto3.resource("dynamodb").Table("Orders")``).
"""

from collections.abc import Callable, Iterable, Mapping
from logging import getLogger
from typing import TYPE_CHECKING, Any

from adminview.aws.deadline import Deadline
from adminview.aws.item_forms import CLIENT, Form
from adminview.aws.source_tables import SourceReader
from adminview.aws.source_updates import SourceUpdates
from adminview.model.errors import AdminViewError, DeclarationError, RecordError, reason_of
from adminview.model.migration import Migration, Update
from adminview.model.row import Attributes
from adminview.sync.derive import complete

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

PATIENCE_SECONDS = 1.0  # the service's caller is waiting
ROUNDS = 3  # while other writers change the item


def _log(message: str) -> None:
    getLogger(__name__).warning("%s", message)


class Lazy:
    """Complete the items of one table without ever failing the service.

    Errors are reported (without data of the item) and the item is left to the next read. If a
    migration raises, the item is returned unchanged; if the update fails, it is returned complete.
    """

    def __init__(  # noqa: PLR0913 - all but two are keywords
        self,
        client: "DynamoDBClient",
        migrations: Iterable[Migration],
        *,
        table: str | None = None,  # default: the name of the source
        form: Form = CLIENT,
        report_error: Callable[[str], object] = _log,
        seconds: float = PATIENCE_SECONDS,
    ) -> None:
        self._migrations = tuple(migrations)
        sources = {migration.source for migration in self._migrations}
        if len(sources) != 1:
            msg = "pass at least one migration, and only migrations of one source"
            raise DeclarationError(msg)
        (source,) = sources
        self._table = table or source.name
        self._form = form
        self._report_error = report_error
        self._seconds = seconds
        self._tables = SourceReader(client)
        self._updates = SourceUpdates(client)
        self._source = source

    def on_write(self, item: Mapping[str, Any]) -> dict[str, Any]:
        """Complete an item before it is put. Makes no call."""
        return self._form.write(self._completed(self._form.read(item))[0])

    def on_read(self, item: Mapping[str, Any]) -> dict[str, Any] | None:
        """Complete an item that was read, and update it in the table if it has not changed.

        If it changed, read it again and return the newer one, or None if it was deleted.
        """
        deadline = Deadline.after(self._seconds)
        image = self._form.read(item)
        for _ in range(ROUNDS):
            completed, updates = self._completed(image)
            try:
                if all(
                    self._updates.write(self._table, update, deadline=deadline)
                    for update in updates
                ):
                    return self._form.write(completed)
                key = self._source.key_of(image)
                newer = self._tables.read(self._table, key, deadline=deadline)
            except AdminViewError as error:
                self._report_error(reason_of(error))
                return self._form.write(completed)
            if newer is None:
                return None
            image = dict(newer)
        return self._form.write(self._completed(image)[0])

    def _completed(self, image: Attributes) -> tuple[Attributes, list[Update]]:
        """Apply each migration to the result of the ones before it."""
        updates: list[Update] = []
        for migration in self._migrations:
            try:
                update = complete(migration, image)
            except RecordError as error:
                self._report_error(reason_of(error))
                continue
            if update:
                image = update.applied(image)
                updates.append(update)
        return image, updates
