"""Why there is no way from what is deployed to what is declared, and what to declare instead."""

from collections.abc import Iterator, Mapping
from itertools import chain

from adminview.aws.table_description import DELETING, TableIndex
from adminview.cli.deployment.facts import Declared, Deployed, shards_of
from adminview.cli.model_lock.model_diff import Shape
from adminview.model.registry import INCLUDE_LIMIT, INDEX_LIMIT

LATER = "and remove the old one in a later change"


def refusals(deployed: Deployed, declared: Declared) -> Iterator[str]:
    """Say what a plan cannot do without wrong answers, or not at all."""
    yield from _sources(deployed, declared)
    if deployed.indexes is not None:
        yield from _indexes(deployed, declared)
        yield from _limits(deployed, declared)
    yield from _questions(deployed, declared)
    yield from _shards(deployed, declared)


def notes(deployed: Deployed, declared: Declared) -> Iterator[str]:
    """Say what a plan leaves alone."""
    for index in deployed.indexes or ():
        if not index.ours and index.name not in declared.indexes:
            yield f"index {index.name} was not made by the View stack: it is left alone"
    own = set(declared.sources) - deployed.imported
    if not own and deployed.tables:
        yield (
            "the Sources stack holds only tables that no view file declares any more "
            f"({', '.join(sorted(deployed.tables))}): delete it when you no longer need them"
        )


def fallback_index(
    deployed: Deployed, declared: Declared, question: Shape, asked: str | None
) -> str | None:
    """Name the older index that answers a question while its new one is filled, if it can.

    It can if it has the same key: then a row is in both or in neither, whoever wrote it.
    """
    old, new = deployed.index(asked), declared.indexes.get(question["index"] or "")
    if old is None or new is None or old.local != new.local or old.key != new.key:
        return None
    return old.name


def in_use(deployed: Deployed, index: str) -> list[str]:
    """List the questions that the API answers from an index."""
    return [name for name, _, asked in deployed.live() if asked == index]


def _sources(deployed: Deployed, declared: Declared) -> Iterator[str]:
    own = [name for name in declared.sources if name not in deployed.imported]
    new = [name for name in own if name not in deployed.tables]
    gone = sorted(deployed.tables - set(own))
    if new and gone and deployed.sync:
        yield (
            f"tables are added ({', '.join(new)}) and removed ({', '.join(gone)}) at once, and "
            "functions still follow those that go: add first, and remove in a later change"
        )
    keys = {shape["name"]: shape["key"] for shape in declared.model["sources"]}
    for shape in deployed.sync["sources"] if deployed.sync else ():
        if keys.get(shape["name"], shape["key"]) != shape["key"]:
            yield (
                f"source {shape['name']!r} has another key than before, and a table's key cannot "
                f"change: declare the new table under another name, {LATER}"
            )


def _indexes(deployed: Deployed, declared: Declared) -> Iterator[str]:
    there = _staying(deployed)
    for name, index in declared.indexes.items():
        old = there.get(name)
        if old is not None and not old.same(index):
            yield (
                f"index {name!r} has other keys or another projection than the one that is there, "
                "and those cannot change: give the new one a new name, and the plan puts it beside "
                "the old one and then drops that"
            )
        elif old is not None and not old.ours:
            yield (
                f"index {name!r} is there, but not made by the View stack, which could not make "
                "it again: delete it, or give the declared one another name"
            )
        elif old is None and index.local:
            yield (
                f"local index {name!r} is not there, and DynamoDB makes local indexes with the "
                "table or never: declare an Index with PK as its partition instead"
            )
    for name, index in there.items():
        if index.local and name not in declared.indexes:
            yield (
                f"local index {name!r} is no longer declared, and DynamoDB cannot delete it: "
                "declare it, though nobody asks it"
            )


def _staying(deployed: Deployed) -> dict[str, TableIndex]:
    return {one.name: one for one in deployed.indexes or () if one.status != DELETING}


def _limits(deployed: Deployed, declared: Declared) -> Iterator[str]:
    """Find what DynamoDB would refuse while old and new indexes are there together."""
    both = _staying(deployed) | declared.indexes
    old = sorted(both.keys() - declared.indexes.keys())
    advice = (
        f"drop some of {', '.join(old)} in a change of their own first"
        if old
        else "declare fewer of them"
    )
    count = sum(not index.local for index in both.values())
    if count > INDEX_LIMIT:
        yield f"old and new indexes together are {count}; DynamoDB takes {INDEX_LIMIT}: {advice}"
    included = sum(len(index.include) for index in both.values())
    if included > INCLUDE_LIMIT:
        yield (
            f"old and new indexes together include {included} attributes; "
            f"DynamoDB takes {INCLUDE_LIMIT}: {advice}"
        )
    yield from _types(both)


def _types(indexes: Mapping[str, TableIndex]) -> Iterator[str]:
    first: dict[str, tuple[str, str]] = {}
    for index in indexes.values():
        for name, type_ in index.attributes.items():
            other, owner = first.setdefault(name, (type_, index.name))
            if other != type_:
                yield (
                    f"attribute {name!r} is {other} in index {owner!r} and {type_} in index "
                    f"{index.name!r}, and both are there for a while: name the new one otherwise"
                )


def _questions(deployed: Deployed, declared: Declared) -> Iterator[str]:
    """Find questions that would be answered wrongly, or not at all, on the way."""
    asked = {shape["name"]: shape for shape in declared.questions}
    for name, old, index in deployed.live():
        new = asked.get(name)
        if new is None:
            continue
        if new["joins"] != old["joins"]:
            yield (
                f"question {name!r} has other joins than before, and would show none of their "
                f"rows until all are built: declare it under a new name, {LATER}"
            )
        elif new["conditions"] != old["conditions"]:
            yield (
                f"question {name!r} has another condition than before, and would be answered "
                f"wrongly until all rows are built: declare it under a new name, {LATER}"
            )
        elif new["index"] != index and fallback_index(deployed, declared, new, index) is None:
            place = f"index {new['index']!r}" if new["index"] else "the table"
            before = f"index {index!r}" if index else "the table"
            yield (
                f"question {name!r} moves from {before} to {place}, which has another key, and "
                "could not be answered until all rows are built: declare a new question there, "
                f"{LATER}"
            )


def _shards(deployed: Deployed, declared: Declared) -> Iterator[str]:
    """Find rows that no question would look for."""
    api, sync = deployed.api, deployed.sync
    if api is None or api["fingerprint"] == declared.fingerprint:
        return
    models = [api, *([sync] if sync else [])]
    new = {shape["name"]: shape for shape in declared.model["indexes"]}
    settled = sync is not None and not Declared(sync).unbuilt(deployed)
    most: dict[str, int] = {}
    for shape in chain.from_iterable(model["indexes"] for model in models):
        written, asked = shards_of(shape)
        rows_in = written if settled and shape in (sync or api)["indexes"] else asked
        most[shape["name"]] = max(most.get(shape["name"], 1), rows_in)
    for name, count in most.items():
        if name in new and shards_of(new[name])[1] < count:
            yield (
                f"index {name!r} has rows in {count} shards, and would be asked in "
                f"{shards_of(new[name])[1]}: declare shards_were={count} until all rows are built"
            )
