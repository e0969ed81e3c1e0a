"""Migrations: pure functions from a source item to its missing attributes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from inspect import (
    getdoc,
    getsource,
    isasyncgenfunction,
    iscoroutinefunction,
    isgeneratorfunction,
)
from sys import modules
from typing import Any, ClassVar, TypeAlias

from adminview.model.access_pattern import NAME
from adminview.model.errors import DeclarationError, MigrationError
from adminview.model.fingerprint import fingerprint
from adminview.model.item import AttributeValue, Image, Item, encode
from adminview.model.item_filter import Predicate, item_filter
from adminview.model.limits import ROW_LIMIT, row_size
from adminview.model.row import Attributes
from adminview.model.source import Source

Completion: TypeAlias = Callable[[Item], Mapping[str, object]]

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


@dataclass(frozen=True, slots=True)
class Migration:
    """A function that computes missing attributes, and the items it applies to.

    It never overwrites an attribute that an item has, so it may run any number of times.
    """

    name: str
    source: Source
    sets: tuple[str, ...]
    derive: Completion
    applies: Predicate
    module: str

    what: ClassVar[str] = "migration"

    @property
    def digest(self) -> str:
        """The fingerprint of its file: a run counts only for the code that ran."""
        return fingerprint({"migration": self.name}, [getsource(modules[self.module])])

    @property
    def about(self) -> str:
        """The first line of the function's docstring."""
        return (getdoc(self.derive) or "").partition("\n")[0]

    def update(self, image: Image) -> Update | None:
        """Return the update of one item; None if there is nothing to set.

        Raises a MigrationError if the update is not as declared or makes the item too large.
        """
        missing = [name for name in self.sets if name not in image]
        if not missing:
            return None
        watched = _Watched(image)
        item = Item(watched)
        if not self.applies(item):
            return None
        completed = self._check(self.derive(item))
        sets = {name: completed[name] for name in missing if name in completed}
        if not sets:
            return None
        size = row_size({**image, **sets})
        if size > ROW_LIMIT:
            msg = f"the item would have {size} bytes; DynamoDB takes at most {ROW_LIMIT}"
            raise MigrationError(msg)
        key = self.source.key_of(image)
        looked_at = {name: image.get(name) for name in sorted(watched.names - key.keys())}
        return Update(key, sets, looked_at)

    def _check(self, completed: Any) -> Attributes:
        if not isinstance(completed, Mapping):
            kind = type(completed).__name__
            msg = f"a migration must return a dict of attributes to set; this one returned {kind}"
            raise MigrationError(msg)
        if not set(completed) <= {*self.sets}:
            msg = f"it is declared to set {', '.join(self.sets)}, but returned another attribute"
            raise MigrationError(msg)
        return {name: encode(value) for name, value in completed.items()}


class _Watched(Mapping[str, AttributeValue]):
    """An item that records which attributes are read."""

    def __init__(self, image: Image) -> None:
        self.names: set[str] = set()
        self._image = image

    def __getitem__(self, name: str) -> AttributeValue:
        self.names.add(name)
        return self._image[name]

    def __contains__(self, name: object) -> bool:
        if isinstance(name, str):
            self.names.add(name)
        return name in self._image

    def __iter__(self) -> Iterator[str]:
        raise MigrationError(READ_BY_NAME)

    def __len__(self) -> int:
        raise MigrationError(READ_BY_NAME)


# Another writer may add an attribute meanwhile, and no condition could detect that.
READ_BY_NAME = (
    "a migration must read attributes by name: "
    "a DynamoDB condition cannot cover all attributes of an item"
)


def migration(  # noqa: PLR0913 - all but the source are keywords
    source: Source,
    *,
    name: str,
    sets: str | Sequence[str],
    sort_begins: str | None = None,
    where: dict[str, Any] | None = None,
    when: Predicate | None = None,
) -> Callable[[Completion], Migration]:
    """Declare a migration of all items of *source*, or of one kind, as with `view`.

    *sets* names the attributes that the function may return values for. An empty dict leaves the
    item unchanged. Raises a DeclarationError if the declaration is invalid.
    """
    applies = item_filter("a migration", source, sort_begins=sort_begins, where=where, when=when)
    attributes = (sets,) if isinstance(sets, str) else tuple(sets)
    keys = {key.name for key in source.key}
    for wrong, problem in (
        (
            not NAME.fullmatch(name),
            "a name must be lower-case words joined by hyphens, such as 'add-region'",
        ),
        (
            not attributes or not all(attributes),
            "sets must name at least one attribute, and no empty name",
        ),
        (len(set(attributes)) < len(attributes), "sets names an attribute twice"),
        (keys & {*attributes}, f"it cannot set the key of {source.name!r} ({', '.join(keys)})"),
    ):
        if wrong:
            msg = f"migration {name!r} of {source.name!r}: {problem}"
            raise DeclarationError(msg)

    def declare(derive: Completion) -> Migration:
        if not callable(derive) or any(
            unsuitable(derive)
            for unsuitable in (isgeneratorfunction, iscoroutinefunction, isasyncgenfunction)
        ):
            msg = f"migration {name!r} must be a plain function that returns a dict, not {derive!r}"
            raise DeclarationError(msg)
        return Migration(name, source, attributes, derive, applies, derive.__module__)

    return declare
