"""Migrations: pure functions from one source item to attributes that it does not have yet."""

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
from adminview.model.update import Update

Completion: TypeAlias = Callable[[Item], Mapping[str, object]]


@dataclass(frozen=True, slots=True)
class Migration:
    """What to set, and which items of its source it is for.

    Attributes that an item has are never written over, so a migration may run any number of times.
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
        """Identify the code of its file: what another version did is not done."""
        return fingerprint({"migration": self.name}, [getsource(modules[self.module])])

    @property
    def about(self) -> str:
        """Say what it does, as its author did."""
        return (getdoc(self.derive) or "").partition("\n")[0]

    def update(self, image: Image) -> Update | None:
        """Complete one item, or give None if there is nothing to set."""
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
            msg = f"the item would take {size} bytes; DynamoDB takes {ROW_LIMIT}"
            raise MigrationError(msg)
        key = self.source.key_of(image)
        looked_at = {name: image.get(name) for name in sorted(watched.names - key.keys())}
        return Update(key, sets, looked_at)

    def _check(self, completed: Any) -> Attributes:
        """Refuse what was not declared, before anything of it is written."""
        if not isinstance(completed, Mapping):
            kind_of_it = type(completed).__name__
            msg = f"a migration returns what to set as a dict, and this one returned {kind_of_it}"
            raise MigrationError(msg)
        if not set(completed) <= {*self.sets}:
            msg = f"it is declared to set {', '.join(self.sets)}, and returned something else"
            raise MigrationError(msg)
        return {name: encode(value) for name, value in completed.items()}


class _Watched(Mapping[str, AttributeValue]):
    """An item that notes which attributes are looked at."""

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
        raise MigrationError(NO_WHOLE)

    def __len__(self) -> int:
        raise MigrationError(NO_WHOLE)


# What another writer adds meanwhile would change the outcome, and no condition could tell.
NO_WHOLE = (
    "a migration looks at attributes by name: "
    "no condition of DynamoDB can hold for all attributes of an item"
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
    """Declare a migration of *source*: of all its items, or of one kind, as with a view.

    *sets* names the attributes that the function may return values for. It returns those it knows
    for the item it is given; an empty dict leaves the item alone.
    """
    applies = item_filter("a migration", source, sort_begins=sort_begins, where=where, when=when)
    attributes = (sets,) if isinstance(sets, str) else tuple(sets)
    keys = {key.name for key in source.key}
    for wrong, problem in (
        (not NAME.fullmatch(name), "a migration's name is lower-case words joined by hyphens"),
        (not attributes or not all(attributes), "sets names the attributes it sets"),
        (len(set(attributes)) < len(attributes), "sets names an attribute twice"),
        (keys & {*attributes}, f"the key of {source.name!r} ({', '.join(keys)}) never changes"),
    ):
        if wrong:
            msg = f"migration {name!r} of {source.name!r}: {problem}"
            raise DeclarationError(msg)

    def declare(derive: Completion) -> Migration:
        if not callable(derive) or any(
            odd(derive) for odd in (isgeneratorfunction, iscoroutinefunction, isasyncgenfunction)
        ):
            msg = f"migration {name!r} must be a function that returns a dict; {derive!r} is not"
            raise DeclarationError(msg)
        return Migration(name, source, attributes, derive, applies, derive.__module__)

    return declare
