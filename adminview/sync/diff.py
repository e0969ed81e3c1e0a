"""Rows before and after -> what to put and what to delete."""

from collections.abc import Mapping

from adminview.model.row import Attributes, RowKey


def diff(
    before: Mapping[RowKey, Attributes], after: Mapping[RowKey, Attributes]
) -> dict[RowKey, Attributes | None]:
    """Map each row that differs to its new attributes, or to None if it goes."""
    if not before:
        return {**after}
    changes: dict[RowKey, Attributes | None] = {
        key: attributes for key, attributes in after.items() if before.get(key) != attributes
    }
    changes.update((key, None) for key in before if key not in after)
    return changes
