"""Item -> the update that a migration makes of it."""

from adminview.model.item import Image
from adminview.model.migration import Migration
from adminview.model.update import Update
from adminview.sync.redact import redact


def complete(migration: Migration, image: Image) -> Update | None:
    """Say what a migration sets on one item, if anything, or raise a RecordError."""
    try:
        update = migration.update(image)
        if update:
            update.arguments()  # its limits are the item's trouble, not the writer's
    except MemoryError:
        raise  # not the item's fault
    except (Exception, SystemExit) as error:
        raise redact(error, migration) from error
    return update
