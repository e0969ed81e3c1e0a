"""Reasons to refuse a plan, and what to declare instead."""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from adminview.aws.table_description import DELETING, TableIndex
from adminview.cli.deployment.facts import Declared, Deployed, shards_of
from adminview.cli.model_lock.model_diff import Shape
from adminview.model.registry import INCLUDE_LIMIT, INDEX_LIMIT
from adminview.model.total import AMOUNT_DIGITS

LATER = "and remove the old one in a later change"


def refusals(deployed: Deployed, declared: Declared) -> Iterator[str]:
    """Yield the changes that are impossible, or would make results wrong on the way."""
    yield from _sources(deployed, declared)
    if deployed.indexes is not None:
        yield from _indexes(deployed, declared)
        yield from _limits(deployed, declared)
    yield from _patterns(deployed, declared)
    yield from _shards(deployed, declared)
    yield from _epochs(deployed, declared)


def notes(deployed: Deployed, declared: Declared) -> Iterator[str]:
    """Yield what exists and the plan does not change."""
    for index in deployed.indexes or ():
        if not index.ours and index.name not in declared.indexes:
            yield f"index {index.name} was not created by the View stack: it is not changed"
    if deployed.totals and not declared.has_totals:
        yield (
            "no view file declares a total any more, but the Totals stack and the stream of the "
            "view table stay: they empty the totals while the rows are backfilled. When this plan "
            "is complete, delete that stack and its table, and apply again"
        )
    for name in dark_patterns(deployed, declared):
        yield (
            f"access pattern {name!r} is rejected until all rows are backfilled: its total is new "
            "or changed. To keep the old total in use meanwhile, change nothing but its epoch, and "
            "declare the old epoch as epoch_was"
        )
    own = set(declared.sources) - deployed.imported
    if not own and deployed.tables:
        yield (
            "the Sources stack contains only tables that no view file declares any more "
            f"({', '.join(sorted(deployed.tables))}): delete it when you no longer need them"
        )


def fallback_index(
    deployed: Deployed, declared: Declared, pattern: Shape, current: str | None
) -> str | None:
    """Return the *current* index of an access pattern if it can serve it during the backfill.

    It can if both indexes have the same key: then a row is in both or in neither.
    """
    old, new = deployed.index(current), declared.indexes.get(pattern["index"] or "")
    if old is None or new is None or old.local != new.local or old.key != new.key:
        return None
    return old.name


def fallback_epoch(
    deployed: Deployed, declared: Declared, pattern: Shape, old: Shape
) -> str | None:
    """Return the epoch that serves an access pattern on a total during the backfill.

    It is the declared epoch, if nothing that the pattern reads changes: then it stays ready. Else
    it is `epoch_was`, if only the epoch changes: views keep both up to date. Otherwise None.
    """
    now, new = deployed.total_in_use(old), declared.totals[pattern["total"]]
    if now is None or _content(now) != _content(new):
        return None
    epoch, epoch_was = new["epoch"]
    return str(now["epoch"][0]) if now["epoch"][0] in {epoch, epoch_was} else None


def dark_patterns(deployed: Deployed, declared: Declared) -> Iterator[str]:
    """Yield the access patterns that are served now, and are not while the rows are backfilled."""
    patterns = {shape["name"]: shape for shape in declared.patterns}
    for name, old, _ in deployed.live():
        new = patterns.get(name)
        if new is None or not ("total" in old or "total" in new):
            continue
        if "total" not in new or fallback_epoch(deployed, declared, new, old) is None:
            yield name


def _content(total: Shape) -> Any:
    """Return what the items of a total consist of, besides its epoch."""
    sums = sorted(name for name, *_ in total["sums"])
    return total["name"], total["partition"], total["sort"], sums, total["ranked_by"]


def in_use(deployed: Deployed, index: str) -> list[str]:
    """Return the access patterns that the API serves from an index."""
    return [name for name, _, used in deployed.live() if used == index]


def _sources(deployed: Deployed, declared: Declared) -> Iterator[str]:
    own = [name for name in declared.sources if name not in deployed.imported]
    new = [name for name in own if name not in deployed.tables]
    gone = sorted(deployed.tables - set(own))
    if new and gone and deployed.sync:
        yield (
            f"tables are added ({', '.join(new)}) and removed ({', '.join(gone)}) in one change, "
            "but functions still read the streams of the removed ones: add first, and remove in a "
            "later change"
        )
    keys = {shape["name"]: shape["key"] for shape in declared.model["sources"]}
    for shape in deployed.sync["sources"] if deployed.sync else ():
        if keys.get(shape["name"], shape["key"]) != shape["key"]:
            yield (
                f"source {shape['name']!r} is declared with another key, but a table's key cannot "
                f"change: declare the new table under another name, {LATER}"
            )


def _indexes(deployed: Deployed, declared: Declared) -> Iterator[str]:
    existing = _staying(deployed)
    for name, index in declared.indexes.items():
        old = existing.get(name)
        if old is not None and not old.is_equivalent(index):
            yield (
                f"index {name!r} is declared with another key or projection, which DynamoDB cannot "
                "change: give it a new name; the plan then creates it and drops the old one"
            )
        elif old is not None and not old.ours:
            yield (
                f"index {name!r} exists, but the View stack did not create it and cannot create it "
                "again: delete it, or give the declared one another name"
            )
        elif old is None and index.local:
            yield (
                f"local index {name!r} does not exist, and DynamoDB creates local indexes only "
                "with the table: declare an Index with PK as its partition instead"
            )
    for name, index in existing.items():
        if index.local and name not in declared.indexes:
            yield (
                f"local index {name!r} is no longer declared, but DynamoDB cannot delete it: "
                "declare it again, even if no access pattern uses it"
            )


def _staying(deployed: Deployed) -> dict[str, TableIndex]:
    return {index.name: index for index in deployed.indexes or () if index.status != DELETING}


def _limits(deployed: Deployed, declared: Declared) -> Iterator[str]:
    """Yield the limits of DynamoDB that old and new indexes exceed together."""
    both = _staying(deployed) | declared.indexes
    old = sorted(both.keys() - declared.indexes.keys())
    advice = (
        f"drop some of {', '.join(old)} in an earlier change" if old else "declare fewer of them"
    )
    count = sum(not index.local for index in both.values())
    if count > INDEX_LIMIT:
        yield f"old and new indexes together are {count}; DynamoDB allows {INDEX_LIMIT}: {advice}"
    included = sum(len(index.include) for index in both.values())
    if included > INCLUDE_LIMIT:
        yield (
            f"old and new indexes together include {included} attributes; "
            f"DynamoDB allows {INCLUDE_LIMIT}: {advice}"
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
                    f"{index.name!r}, and both exist for a while: rename the new attribute"
                )


def _patterns(deployed: Deployed, declared: Declared) -> Iterator[str]:
    """Yield the access patterns whose results would be wrong or missing until backfilled."""
    declared_patterns = {shape["name"]: shape for shape in declared.patterns}
    dark = set(dark_patterns(deployed, declared))
    for name, old, index in deployed.live():
        new = declared_patterns.get(name)
        if new is None or name in dark:
            continue
        if new["joins"] != old["joins"]:
            yield (
                f"access pattern {name!r} has other joins than before: their rows would be missing "
                f"until all are backfilled. Declare it under a new name, {LATER}"
            )
        elif "total" in new:
            continue  # another condition selects other groups, which are as complete
        elif new["conditions"] != old["conditions"]:
            yield (
                f"access pattern {name!r} has another condition than before: its results would be "
                f"wrong until all rows are backfilled. Declare it under a new name, {LATER}"
            )
        elif new["index"] != index and fallback_index(deployed, declared, new, index) is None:
            place = f"index {new['index']!r}" if new["index"] else "the table"
            before = f"index {index!r}" if index else "the table"
            yield (
                f"access pattern {name!r} moves from {before} to {place}, which has another key: "
                "it would fail until all rows are backfilled. Declare a new access pattern there, "
                f"{LATER}"
            )


def _shards(deployed: Deployed, declared: Declared) -> Iterator[str]:
    """Yield the indexes with rows in shards that no query would read."""
    api, sync = deployed.api, deployed.sync
    if api is None or api["fingerprint"] == declared.fingerprint:
        return
    models = [api, *([sync] if sync else [])]
    new = {shape["name"]: shape for shape in declared.model["indexes"]}
    settled = sync is not None and not Declared(sync).unbuilt(deployed)
    most: dict[str, int] = {}
    for shape in chain.from_iterable(model["indexes"] for model in models):
        written, queried = shards_of(shape)
        rows_in = written if settled and shape in (sync or api)["indexes"] else queried
        most[shape["name"]] = max(most.get(shape["name"], 1), rows_in)
    for name, count in most.items():
        if name in new and shards_of(new[name])[1] < count:
            yield (
                f"index {name!r} has rows in {count} shards, but queries would read "
                f"{shards_of(new[name])[1]}: declare shards_were={count} until all rows are "
                "backfilled"
            )


def _epochs(deployed: Deployed, declared: Declared) -> Iterator[str]:
    """Yield the totals that cannot be built under the declared epoch."""
    old = Declared(deployed.sync).totals if deployed.sync else {}
    served: dict[str, int] = {}
    for _, shape, _ in deployed.live():
        if total := deployed.total_in_use(shape):
            served[total["name"]] = total["epoch"][0]
    is_lost = not (deployed.totals and deployed.stream)
    for name, total in declared.totals.items():
        epoch, epoch_was = total["epoch"]
        before, before_was = old[name]["epoch"] if name in old else (epoch, 0)
        if name in old and before in (epoch, epoch_was):
            if is_lost:
                yield (
                    f"total {name!r}: the Totals stack or the stream of the view table is gone, so "
                    f"epoch {before} lacks changes; declare epoch={before + 1} without epoch_was"
                )
            if too_wide := _sums_that_exceed(old[name], total):
                yield (
                    f"total {name!r}: while rows of both models exist, {too_wide} could exceed "
                    f"DynamoDB's digits; declare epoch={before + 1} without epoch_was"
                )
        # The views still keep `epoch_was`, so a change can be taken back.
        if epoch < before and epoch != before_was:
            yield (
                f"total {name!r} is declared with epoch {epoch}, but epoch {before} is deployed: "
                "a retired epoch is not up to date; declare a higher one"
            )
        elif served.get(name) == before_was and before_was and before_was not in (epoch, epoch_was):
            yield (
                f"queries of total {name!r} still return epoch {before_was}: declare "
                f"epoch_was={before_was} until epoch {before} is complete"
            )


def _sums_that_exceed(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Name the sums for which amounts of both models together need too many digits."""
    before = {name: (digits, scale) for name, digits, scale in old["sums"]}
    return ", ".join(
        name
        for name, digits, scale in new["sums"]
        if name in before
        and max(digits, before[name][0]) + max(scale, before[name][1]) > AMOUNT_DIGITS
    )
