"""Which access patterns have all the rows that they read.

When the rows of an access pattern are complete, its *content* is recorded: a hash of what decides
which rows it reads. A model change that keeps the content keeps the access pattern ready.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from json import dumps
from typing import Any, Final, TypeAlias

Shape: TypeAlias = Mapping[str, Any]  # of a model, an index, an access pattern or a total
Contents: TypeAlias = Mapping[str, str]  # by access pattern

# The key of the record, in the progress table.
READY: Final = "ready"
PATTERNS: Final = "patterns"
FACTS: Final = "facts"  # the attribute with its JSON
DIGITS: Final = 16


def progress_table(view_table: str) -> str:
    """Return the name of the table that holds the record, and the progress of bulk work."""
    return f"{view_table}Progress"


def contents(model: Shape) -> dict[str, str]:
    """Return the content of each access pattern when all rows of *model* are built."""
    return {name: next(iter(known)) for name, known in _known_contents(model)}


def kept(model: Shape, built: Contents) -> dict[str, str]:
    """Return what remains of *built* when functions of *model* begin to write rows."""
    return {
        name: known[built[name]].while_building
        for name, known in _known_contents(model)
        if built.get(name) in known
    }


def not_ready(model: Shape, built: Contents) -> dict[str, str | None]:
    """Return the access patterns whose rows are not built.

    Each has the older epoch of its total that serves it meanwhile; None if there is none.
    """
    pending: dict[str, str | None] = {}
    for name, known in _known_contents(model):
        content = known.get(built.get(name, ""))
        if content is None or content.epoch:
            pending[name] = content.epoch if content else None
    return pending


@dataclass(frozen=True, slots=True)
class _Known:
    """A content that can serve an access pattern."""

    while_building: str  # the content from the first row of this model on
    epoch: str | None = None  # of its total, if it is an older one


def _known_contents(model: Shape) -> Iterator[tuple[str, dict[str, _Known]]]:
    """Yield the contents that can serve each access pattern, the declared one first."""
    indexes = {shape["name"]: shape for shape in model["indexes"]}
    # Descriptions of releases before totals have none.
    totals = {shape["name"]: shape for shape in model.get("totals", ())}
    for pattern in model["patterns"]:
        if "total" in pattern:
            known = _contents_of_total(pattern, totals[pattern["total"]])
        else:
            known = _contents_of_rows(pattern, indexes.get(pattern["index"] or ""))
        yield pattern["name"], known


def _contents_of_rows(pattern: Shape, index: Shape | None) -> dict[str, _Known]:
    """Return the contents; queries of `shards_were` find rows in old and new shards."""

    def content(shards: Sequence[int]) -> str:
        place: list[Any] = []
        if index:
            key = (index["partition"], index["sort"], index.get("local", False))
            place = [index["name"], *key, *shards]
        return _hash(place, pattern["conditions"], pattern["joins"])

    shards = [count for count in index.get("shards", ()) if count] if index else []
    declared = content(shards[:1])
    if len(shards) < 2:  # noqa: PLR2004 - declared and older
        return {declared: _Known(declared)}
    both = content(sorted(shards))
    return {digest: _Known(both) for digest in (declared, content(shards[1:]), both)}


def _contents_of_total(pattern: Shape, total: Shape) -> dict[str, _Known]:
    """Return the contents; views keep the epoch `epoch_was` up to date."""
    # Another condition selects other groups, which are as complete.
    sums = sorted(name for name, *_ in total["sums"])
    group = [total["name"], total["partition"], total["sort"], sums, total["ranked_by"]]
    declared, older = (_hash(group, epoch, pattern["joins"]) for epoch in total["epoch"])
    epoch_was = total["epoch"][1]
    known = {declared: _Known(declared)}
    return known | ({older: _Known(older, str(epoch_was))} if epoch_was else {})


def _hash(*parts: Any) -> str:
    return sha256(dumps(parts).encode()).hexdigest()[:DIGITS]
