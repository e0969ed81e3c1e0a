"""Check that every index stays sparse beside the others.

DynamoDB puts a row into each index whose key attributes the row has, whether or not a view gave it
an entry there. So an index holds only the rows it is given if one of its key attributes is its own.
"""

from collections.abc import Iterator, Sequence

from adminview.model.attribute import PK
from adminview.model.index import Index


def sparseness_problems(indexes: Sequence[Index]) -> Iterator[str]:
    """Find indexes that rows would enter through the key attributes of others."""
    keys = {index.name: _key(index) for index in indexes}
    for name, key in keys.items():
        shared = {other: key & theirs for other, theirs in keys.items() if other != name}
        for other, names in shared.items():
            if names == key:
                yield (
                    f"index {name!r} would not be sparse: its key attributes ({_list(key)}) are "
                    f"all key attributes of index {other!r}, so every row in {other!r} would also "
                    f"appear in {name!r}. Give {name!r} a key attribute that {other!r} does not "
                    f"have, or query {other!r} instead"
                )
        if key <= set().union(*shared.values()):
            others = " and ".join(repr(other) for other, names in shared.items() if names)
            yield (
                f"index {name!r} would not be sparse: its key attributes ({_list(key)}) are all "
                f"key attributes of {others} taken together, so a row in all of these would also "
                f"appear in {name!r}. Give {name!r} a key attribute of its own"
            )


def _key(index: Index) -> set[str]:
    """List the key attributes of an index; without PK, which every row has, in a local one."""
    return {attribute.name for attribute in index.stored_key} - {PK.name}


def _list(names: set[str]) -> str:
    return ", ".join(sorted(names))
