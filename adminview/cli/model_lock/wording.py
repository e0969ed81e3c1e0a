"""Describe a model change in words and as JSON data."""

from collections.abc import Iterator
from typing import Any

from adminview.cli.model_lock.model_diff import PARTS, ModelDiff, PartDiff, Shape

NEVER_ADDED = "a local index is created with the table and cannot be added later"
CANNOT_CHANGE = (
    "once it is deployed, DynamoDB cannot change its key or projection: give the new one another "
    "name; the old one is dropped when no access pattern uses it"
)
REBUILT_FIRST = "its access patterns are rejected until all rows are rebuilt"
CODE_CHANGED = "its view files, or what they import, have changed"
FACETS = {
    "index": "queries",
    "total": "queries",
    "ranked": "ranked",
    "conditions": "where",
    "optional": "optional",
    "shows": "shows",
    "joins": "joins",
    "descending": "descending",
    "consistent": "consistent",
}


def describe_diff(change: ModelDiff) -> dict[str, list[str]]:
    """Return the changes by heading; a heading without changes is left out."""
    sections = {
        "Access patterns": [*_patterns(change.patterns)],
        "Indexes": [*_indexes(change)],
        "Totals": [*_totals(change.totals)],
        "Sources": [*_sources(change.sources)],
        "Rows": [*_rows(change)],
    }
    return {heading: lines for heading, lines in sections.items() if lines}


def as_data(change: ModelDiff) -> dict[str, Any]:
    data: dict[str, Any] = {
        "from": change.old["fingerprint"] if change.old else None,
        "to": change.new["fingerprint"],
    }
    for name in PARTS:
        part: PartDiff = getattr(change, name)
        data[name] = {"new": part.new, "dropped": part.dropped, "changed": part.changed}
    data["indexes"] |= {"changed": change.replaced_indexes, "resharded": change.resharded_indexes}
    return data | {"rebuilt": change.rebuilt}


def _patterns(patterns: PartDiff) -> Iterator[str]:
    before, after = patterns.before, patterns.after
    for name in patterns.new:
        new = after[name]
        where = f" where {_conditions(new)}" if new["conditions"] else ""
        yield f"new: {name}, queries {_place(new)}{where}"
    for name in patterns.dropped:
        yield f"removed: {name}, which queried {_place(before[name])}"
    for name in patterns.changed:
        old, new = before[name], after[name]
        facets = [
            f"{FACETS.get(facet, facet)} {_facet(old, facet)}, now {_facet(new, facet)}"
            for facet in {**old, **new}
            if old.get(facet) != new.get(facet)
        ]
        yield f"changed: {name}: {'; '.join(dict.fromkeys(facets))}"


def _indexes(change: ModelDiff) -> Iterator[str]:
    before, after = change.indexes.before, change.indexes.after
    for name in change.indexes.new:
        never = f"; but {NEVER_ADDED}" if after[name].get("local") and change.old else ""
        yield f"created: {name}, {_shape(after[name])}{never}"
    for name in change.indexes.dropped:
        yield f"dropped: {name}"
    for name in change.replaced_indexes:
        declared = f"{_shape(before[name])}, now {_shape(after[name])}"
        yield f"changed: {name}, {declared}; {CANNOT_CHANGE}"
    for name in change.resharded_indexes:
        shards = f"{before[name]['shards'][0]} shards, now {after[name]['shards'][0]}"
        yield f"resharded: {name}, {shards}: its rows move when they are rebuilt"


def _totals(totals: PartDiff) -> Iterator[str]:
    for name in totals.new:
        yield f"new: {name}, {_sums(totals.after[name])}"
    for name in totals.dropped:
        yield f"dropped: {name}; it becomes empty when its rows are rebuilt, and expires"
    for name in totals.changed:
        old, new = totals.before[name], totals.after[name]
        if _sums(old) != _sums(new):
            yield f"changed: {name}, {_sums(old)}, now {_sums(new)}; {REBUILT_FIRST}"
        elif _sizes(old) != _sizes(new):
            yield f"changed: {name}, the digits of {', '.join(_sizes_changed(old, new))}"
        yield from _epochs(name, old["epoch"], new["epoch"])


def _epochs(name: str, old: list[int], new: list[int]) -> Iterator[str]:
    (before, before_was), (epoch, epoch_was) = old, new
    if epoch != before and epoch_was == before:
        yield (
            f"rebuilt: {name} under epoch {epoch}; "
            f"queries return epoch {before} until it is complete"
        )
    elif epoch != before:
        yield f"rebuilt: {name} under epoch {epoch} instead of {before}; {REBUILT_FIRST}"
    elif before_was and not epoch_was:
        yield f"ended: epoch {before_was} of {name}; it becomes empty, and expires"


def _sums(total: Shape) -> str:
    """Describe what a total counts, adds up and ranks."""
    group = [*total["partition"], *total["sort"]]
    sums = [sum_ for sum_, *_ in total["sums"]]
    parts = [
        f"counts rows per {' and '.join(group)}" if group else "counts all rows",
        f"adds up {' and '.join(sums)}" if sums else "",
        f"ranked by {total['ranked_by']}" if total["ranked_by"] else "",
    ]
    return ", ".join(filter(None, parts))


def _sizes(total: Shape) -> dict[str, list[int]]:
    return {name: size for name, *size in total["sums"]}


def _sizes_changed(old: Shape, new: Shape) -> list[str]:
    before = _sizes(old)
    return [name for name, size in _sizes(new).items() if before.get(name) != size]


def _sources(sources: PartDiff) -> Iterator[str]:
    keys = {name: _names(shape["key"]) for name, shape in sources.after.items()}
    for name in sources.new:
        yield f"new: {name}, keyed by {keys[name]}"
    for name in sources.dropped:
        yield f"removed: {name}; its rows are swept"
    for name in sources.changed:
        old = _names(sources.before[name]["key"])
        yield f"changed: {name} was keyed by {old}, now by {keys[name]}: its items differ"


def _rows(change: ModelDiff) -> Iterator[str]:
    for name in change.rebuilt:
        why = "it is new" if name in change.sources.new else CODE_CHANGED
        yield f"of {name} must be rebuilt: {why}"


def _place(pattern: Shape) -> str:
    if "total" in pattern:
        return f"total {pattern['total']}"
    return f"index {pattern['index']}" if pattern["index"] else "the table"


def _conditions(pattern: Shape) -> str:
    return " and ".join(condition for (condition,) in pattern["conditions"]) or "anything"


def _facet(pattern: Shape, name: str) -> str:
    if name in {"index", "total"}:
        return _place(pattern)
    if name == "conditions":
        return _conditions(pattern)
    value = pattern.get(name)
    if name == "joins":
        value = [f"{join} at PK {pk} and SK {sk}" for join, pk, sk in pattern[name]]
    if isinstance(value, list):
        return ", ".join(value) or "nothing"
    return {True: "yes", False: "no", None: "no"}.get(value, str(value))


def _shape(index: Shape) -> str:
    projections = {"ALL": "all attributes", "KEYS_ONLY": "keys only"}
    projected = projections.get(index["projection"]) or ", ".join(index["include"])
    shards = f" over {index['shards'][0]} shards" if "shards" in index else ""
    sort = f", then {_names(index['sort'])}" if index["sort"] else ""
    return f"keyed by {_names(index['partition'])}{sort}{shards}, projecting {projected}"


def _names(keys: list[list[str]]) -> str:
    kinds = {"N": " (number)", "B": " (binary)"}
    return " and ".join(f"{name}{kinds.get(kind, '')}" for name, kind in keys)
