"""An update of a source item, with the condition for writing it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from adminview.model.errors import MigrationError
from adminview.model.item import AttributeValue, Image
from adminview.model.row import Attributes

EXPRESSION_LIMIT = 4096  # bytes, set by DynamoDB


@dataclass(frozen=True, slots=True, repr=False)
class Update:
    """Missing attributes to set on an item, if what they were derived from is unchanged.

    *looked_at* holds the attributes that were read, with None for absent ones. Other attributes may
    have changed meanwhile; the update keeps them.
    """

    key: Attributes
    sets: Attributes
    looked_at: Mapping[str, AttributeValue | None]

    def __repr__(self) -> str:
        """Hide the values: a repr may end in a log."""
        return f"Update({', '.join(sorted(self.sets))})"

    def applied(self, image: Image) -> Attributes:
        """Return the item after the update."""
        return {**image, **self.sets}

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of UpdateItem; raises a MigrationError if they are too long."""
        names, values = {"#key": next(iter(self.key))}, {}
        # The item still exists (an update would re-create a deleted one) ...
        conditions = ["attribute_exists(#key)"]
        sets = []
        for position, (name, value) in enumerate(self.sets.items()):
            names[f"#s{position}"], values[f":s{position}"] = name, value
            sets.append(f"#s{position} = :s{position}")
            # ... no other writer has set it ...
            conditions.append(f"attribute_not_exists(#s{position})")
        # ... and the migration would give the same result.
        for position, (name, value_read) in enumerate(self.looked_at.items()):
            if value_read is not None:
                names[f"#r{position}"], values[f":r{position}"] = name, value_read
                conditions.append(f"#r{position} = :r{position}")
            elif name not in self.sets:
                names[f"#r{position}"] = name
                conditions.append(f"attribute_not_exists(#r{position})")
        update, condition = f"SET {', '.join(sets)}", " AND ".join(conditions)
        if max(len(update), len(condition)) > EXPRESSION_LIMIT:
            msg = (
                f"a migration that sets {len(self.sets)} attributes and reads "
                f"{len(self.looked_at)} needs a longer expression than DynamoDB takes"
            )
            raise MigrationError(msg)
        return {
            "UpdateExpression": update,
            "ConditionExpression": condition,
            "ExpressionAttributeNames": names,
            "ExpressionAttributeValues": values,
        }
