"""What the author of a view probably meant, for a row with arguments of a wrong type.

The texts go to logs and dead letters: they name types, indexes and totals, never a value.
"""

from collections.abc import Iterable, Iterator, Mapping

from adminview.model.index import Index, IndexEntry
from adminview.model.item import RawValue
from adminview.model.total import Contribution, Total


def argument_mistake(data: object, indexes: object, totals: object) -> str:
    """Return which argument of a row has a wrong type; an empty text if none has."""
    mistake = _list_mistake("indexes", indexes) or _element_mistake("indexes", indexes)
    if not mistake and totals:
        mistake = _list_mistake("totals", totals) or _element_mistake("totals", totals)
    if not mistake and not isinstance(data, Mapping | RawValue):
        mistake = f"data of a row takes a map, as in data=item.pick(…); the view gave {_type(data)}"
    return mistake


def yield_mistake(yielded: object) -> str:
    """Return what is wrong with something that a view yields instead of a row."""
    wrong = f"the view yielded {_type(yielded)} instead of a Row"
    match yielded:
        case IndexEntry() | Index():
            return f"{wrong}; an entry belongs in a row, as in Row(PK, SK, indexes=[…])"
        case Contribution() | Total():
            return f"{wrong}; a contribution belongs in a row, as in Row(PK, SK, totals=[…])"
        case list() | tuple() | Iterator() if not _are_texts(yielded):
            return f"{wrong}; to yield each row of it, write `yield from`"
        case _:
            return f"{wrong}; write `yield Row(PK, SK, data=…)`"


def _are_texts(value: object) -> bool:
    """Return whether it is a list or tuple that begins with a text, as in `yield (PK, SK)`."""
    return isinstance(value, list | tuple) and bool(value) and isinstance(value[0], str)


def _list_mistake(name: str, value: object) -> str:
    is_list = isinstance(value, Iterable) and not isinstance(value, str)
    if is_list and not (name == "totals" and isinstance(value, Iterator)):
        return ""
    match value:
        case IndexEntry():
            hint = f"; write {name}=[…] around the entry in index {value.index.name!r}"
        case Contribution():
            hint = f"; write {name}=[…] around the contribution to {value.total.name!r}"
        case Index() | Total():
            hint = f", and the view gave {_itself(value)}, as in {name}=[{_call(value)}]"
        case None:
            hint = ", not None; leave it out, or give an empty list"
        case _:
            hint = f"; the view gave {_type(value)}"
    return f"{name} of a row takes a list{hint}"


def _element_mistake(name: str, value: object) -> str:
    """Return what is wrong with the first element of a wrong type; an iterator has none left."""
    elements = value if isinstance(value, list | tuple | set | frozenset | Mapping) else ()
    right: type = IndexEntry
    takes = "entries, as in index(…)"
    if name == "totals":
        right, takes = Contribution, "contributions, as in total(…)"
    for element in elements:
        match element:
            case _ if isinstance(element, right):
                continue
            case IndexEntry():
                index = element.index.name
                return f"{name} of a row has an entry in index {index!r}; it belongs in indexes"
            case Contribution():
                total = element.total.name
                return f"{name} of a row has a contribution to {total!r}; it belongs in totals"
            case Index() | Total():
                argument = "indexes" if isinstance(element, Index) else "totals"
                return (
                    f"{name} of a row has {_itself(element)}, as in {argument}=[{_call(element)}]"
                )
            case None:
                return f"{name} of a row has None in its list; leave the element out"
            case _:
                return f"{name} of a row takes {takes}; the view gave {_type(element)}"
    return ""


def _itself(declared: Index | Total) -> str:
    kind, called = (
        ("index", "an entry") if isinstance(declared, Index) else ("total", "a contribution")
    )
    return f"{kind} {declared.name!r} itself, not {called}: call it with values"


def _call(declared: Index | Total) -> str:
    """Write a call of an index or a total with the names of its arguments."""
    if isinstance(declared, Index):
        return f"index({', '.join(key.name for key in declared.entry_key)})"
    group = [attribute.name for attribute in declared.group]
    return f"total({', '.join([*group, *(f'{sum_.name}=…' for sum_ in declared.sums)])})"


def _type(value: object) -> str:
    if value is None:
        return "None"
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__
