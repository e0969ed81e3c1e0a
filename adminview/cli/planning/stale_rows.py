"""Rows that an older model wrote and nothing derives any more: whose, and who might see them."""

from adminview.cli.deployment.facts import Declared, Deployed, PendingPatterns
from adminview.cli.model_lock.model_diff import Description


def to_sweep(deployed: Deployed, declared: Declared, unbuilt: list[str]) -> list[str]:
    """List the sources that may have left rows behind."""
    sync = deployed.sync
    gone = (sync["code"].keys() if sync else set()) | deployed.rows.sources()
    found = {source for source, left in deployed.sweeps.items() if left is not None}
    found |= {source for source in gone if source not in declared.sources}
    if sync is not None and sync["fingerprint"] != declared.fingerprint:
        found |= set(unbuilt) & sync["code"].keys()
    found |= set(_seen(deployed, declared, unbuilt))
    known = declared.sources
    return [one for one in known if one in found] + sorted(found - set(known))


def may_show_leftovers(
    deployed: Deployed, declared: Declared, pending: PendingPatterns, unbuilt: list[str]
) -> bool:
    """Tell whether a new question might show rows that a sweep is to remove.

    They have no attributes but those that older models gave them: an index with an attribute in its
    key that none of these knew holds none of them.
    """
    older = {name for left in deployed.sweeps.values() for name in left or ()}
    if deployed.sync and deployed.sync["fingerprint"] != declared.fingerprint:
        older |= attributes(deployed.sync)
    unknown = bool(_seen(deployed, declared, unbuilt))
    for shape in declared.questions:
        if pending.get(shape["name"], "answered") is None:
            index = declared.indexes.get(shape["index"] or "")
            if unknown or index is None or index.attributes.keys() <= older:
                return True
    return False


def attributes(model: Description) -> frozenset[str]:
    """List the attributes that rows of a model may have for their places in indexes."""
    return frozenset(
        name for index in Declared(model).indexes.values() for name in index.attributes
    )


def _seen(deployed: Deployed, declared: Declared, unbuilt: list[str]) -> list[str]:
    """List the built sources of which older rows are there, and nobody noted why."""
    model = declared.fingerprint
    built = [one for one in declared.sources if one not in unbuilt and one not in deployed.sweeps]
    return [
        source
        for source in built
        if deployed.markers[source].model == model and deployed.rows.older(source, model)
    ]
