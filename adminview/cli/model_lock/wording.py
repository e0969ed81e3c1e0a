"""A change of the model in words, and as data."""

from collections.abc import Iterator
from typing import Any

from adminview.cli.model_lock.model_diff import ModelDiff, Shape

NEVER_ADDED = "a local index is made with the table and can never be added to it"
CANNOT_CHANGE = (
    "DynamoDB cannot change an index's keys or projection: give the new one another name, and the "
    "old one is dropped when nobody asks it any more"
)
CODE_CHANGED = "its view files, or what they import, have changed"
FACETS = {
    "index": "asked of",
    "conditions": "where",
    "optional": "may leave out",
    "shows": "shows",
    "joins": "joins",
    "descending": "descending",
    "consistent": "consistent",
}


def in_words(change: ModelDiff) -> dict[str, list[str]]:
    """Say what changes: by heading, a line each; a heading without lines is left out."""
    said = {
        "Questions": [*_questions(change)],
        "Indexes": [*_indexes(change)],
        "Sources": [*_sources(change)],
        "Rows": [*_rows(change)],
    }
    return {heading: lines for heading, lines in said.items() if lines}


def as_data(change: ModelDiff) -> dict[str, Any]:
    """Say what changes, for machines."""
    return {
        "from": change.old["fingerprint"] if change.old else None,
        "to": change.new["fingerprint"],
        "questions": {
            "new": change.new_questions,
            "dropped": change.dropped_questions,
            "changed": change.changed_questions,
        },
        "indexes": {
            "new": change.new_indexes,
            "dropped": change.dropped_indexes,
            "changed": change.changed_indexes,
            "resharded": change.resharded_indexes,
        },
        "sources": {
            "new": change.new_sources,
            "dropped": change.dropped_sources,
            "changed": change.changed_sources,
        },
        "rebuilt": change.rebuilt,
    }


def _questions(change: ModelDiff) -> Iterator[str]:
    for name in change.new_questions:
        _, new = change.question(name)
        yield f"new: {name}, asked of {_place(new)} where {_conditions(new)}"
    for name in change.dropped_questions:
        old, _ = change.question(name)
        yield f"gone: {name}, which was asked of {_place(old)}"
    for name in change.changed_questions:
        old, new = change.question(name)
        assert old
        assert new
        facets = [
            f"{FACETS.get(facet, facet)} {_facet(old, facet)}, now {_facet(new, facet)}"
            for facet in {**old, **new}
            if old.get(facet) != new.get(facet)
        ]
        yield f"changed: {name}: {'; '.join(facets)}"


def _indexes(change: ModelDiff) -> Iterator[str]:
    for name in change.new_indexes:
        _, new = change.index(name)
        assert new
        never = f"; but {NEVER_ADDED}" if new.get("local") and change.old else ""
        yield f"created: {name}, {_shape(new)}{never}"
    for name in change.dropped_indexes:
        yield f"dropped: {name}"
    for name in change.changed_indexes:
        old, new = change.index(name)
        assert old
        assert new
        yield f"cannot change: {name}, {_shape(old)}, is declared {_shape(new)}; {CANNOT_CHANGE}"
    for name in change.resharded_indexes:
        old, new = change.index(name)
        assert old
        assert new
        shards = f"{old['shards'][0]} shards, now {new['shards'][0]}"
        yield f"spread otherwise: {name}, {shards}: it stays, and its rows move when rebuilt"


def _sources(change: ModelDiff) -> Iterator[str]:
    for name in change.new_sources:
        _, new = change.source(name)
        yield f"new: {name}, keyed by {_key(new)}"
    for name in change.dropped_sources:
        yield f"gone: {name}; its rows are swept away"
    for name in change.changed_sources:
        old, new = change.source(name)
        yield f"changed: {name} was keyed by {_key(old)}, now by {_key(new)}: its items are others"


def _rows(change: ModelDiff) -> Iterator[str]:
    for name in change.rebuilt:
        why = "it is new" if name in change.new_sources else CODE_CHANGED
        yield f"of {name} must be rebuilt: {why}"


def _place(question: Shape | None) -> str:
    assert question
    return f"index {question['index']}" if question["index"] else "the table"


def _conditions(question: Shape | None) -> str:
    assert question
    return " and ".join(condition for (condition,) in question["conditions"])


def _facet(question: Shape, name: str) -> str:
    """Say one side of a question."""
    if name == "index":
        return _place(question)
    if name == "conditions":
        return _conditions(question)
    value = question.get(name)
    if name == "joins":
        value = [join[0] for join in question[name]]
    if isinstance(value, list):
        return ", ".join(value) or "nothing"
    return {True: "yes", False: "no", None: "no"}.get(value, str(value))


def _shape(index: Shape) -> str:
    carried = {"ALL": "everything", "KEYS_ONLY": "keys alone"}
    carries = carried.get(index["projection"]) or ", ".join(index["include"])
    shards = f" over {index['shards'][0]} shards" if "shards" in index else ""
    sort = f", then {_names(index['sort'])}" if index["sort"] else ""
    return f"keyed by {_names(index['partition'])}{sort}{shards}, carrying {carries}"


def _key(source: Shape | None) -> str:
    assert source
    return _names(source["key"])


def _names(keys: list[list[str]]) -> str:
    """Name key attributes; text is what most of them are."""
    kinds = {"N": " (number)", "B": " (binary)"}
    return " and ".join(f"{name}{kinds.get(kind, '')}" for name, kind in keys)
