"""Rows before and after a change -> puts and deletions."""

from collections.abc import Mapping

from adminview.model.row import Attributes, RowKey


def diff(
    before: Mapping[RowKey, Attributes], after: Mapping[RowKey, Attributes]
) -> dict[RowKey, Attributes | None]:
    """Map each changed row to its new attributes, or to None if it is deleted."""
    if not before:
        return {**after}
    changes: dict[RowKey, Attributes | None] = {
        key: attributes for key, attributes in after.items() if before.get(key) != attributes
    }
    changes.update((key, None) for key in before if key not in after)
    return changes
