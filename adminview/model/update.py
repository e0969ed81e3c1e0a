"""An update of a source item, and the condition under which it may be written."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from adminview.model.errors import MigrationError
from adminview.model.item import AttributeValue, Image
from adminview.model.row import Attributes

EXPRESSION_LIMIT = 4096  # bytes, set by DynamoDB


@dataclass(frozen=True, slots=True, repr=False)
class Update:
    """Attributes to set on an item that does not have them, if it still is what was read of it.

    *looked_at* is what they were derived from: the values that were read, and None for what was
    absent. All else may have changed meanwhile, and is kept.
    """

    key: Attributes
    sets: Attributes
    looked_at: Mapping[str, AttributeValue | None]

    def __repr__(self) -> str:
        """Name the attributes and hide their values: a repr may end in a log."""
        return f"Update({', '.join(sorted(self.sets))})"

    def applied(self, image: Image) -> Attributes:
        """Give the item as it is with the update."""
        return {**image, **self.sets}

    def arguments(self) -> dict[str, Any]:
        """Put the update into UpdateItem's words, all names and values as placeholders."""
        names, values = {"#key": next(iter(self.key))}, {}
        # The item is still there (an update would bring a deleted one back) ...
        conditions = ["attribute_exists(#key)"]
        sets = []
        for place, (name, value) in enumerate(self.sets.items()):
            names[f"#s{place}"], values[f":s{place}"] = name, value
            sets.append(f"#s{place} = :s{place}")
            # ... nobody else has set it ...
            conditions.append(f"attribute_not_exists(#s{place})")
        # ... and the outcome would be the same.
        for place, (name, seen) in enumerate(self.looked_at.items()):
            if seen is not None:
                names[f"#r{place}"], values[f":r{place}"] = name, seen
                conditions.append(f"#r{place} = :r{place}")
            elif name not in self.sets:
                names[f"#r{place}"] = name
                conditions.append(f"attribute_not_exists(#r{place})")
        update, condition = f"SET {', '.join(sets)}", " AND ".join(conditions)
        if max(len(update), len(condition)) > EXPRESSION_LIMIT:
            msg = (
                f"a migration that sets {len(self.sets)} attributes and looks at "
                f"{len(self.looked_at)} makes an expression longer than DynamoDB takes"
            )
            raise MigrationError(msg)
        return {
            "UpdateExpression": update,
            "ConditionExpression": condition,
            "ExpressionAttributeNames": names,
            "ExpressionAttributeValues": values,
        }
