"""Templates of key values: ``USER#{user_id}``.

A template writes its parameters as `key` writes its parts: it escapes them. Two kinds of parameter
stay as they are: one that is the whole template, because the attribute then holds that one value,
and one that is declared ``{name:raw}``.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from string import Formatter
from typing import Any, TypeAlias, cast

from adminview.model.attribute import Attribute
from adminview.model.errors import RowError
from adminview.model.item import AttributeValue, encode, normalize_number
from adminview.model.key import SEPARATOR, escape

Template: TypeAlias = str

RAW = "raw"
ANY_TEXT = ".+"
ANY_PART = "(?:[^#%]|%23|%25)+"  # what `escape` can return


def several(templates: Template | Sequence[Template]) -> tuple[Template, ...]:
    """Read one template or several as several."""
    return (templates,) if isinstance(templates, str) else tuple(templates)


def parameters(template: Template) -> list[str]:
    """List the parameters that a template names."""
    return [name for _, name, _, _ in Formatter().parse(template) if name is not None]


def any_value(template: Template) -> str:
    """Write a template as a regular expression that its values match."""
    return "".join(
        re.escape(text) + ("" if name is None else ANY_TEXT if raw else ANY_PART)
        for text, name, raw in _pieces(template)
    )


def render(template: Template, values: Mapping[str, str]) -> str:
    """Put *values* into a template, escaped unless the parameter is raw."""
    return "".join(
        text + ("" if name is None else values[name] if raw else escape(values[name]))
        for text, name, raw in _pieces(template)
    )


def _pieces(template: Template) -> list[tuple[str, str | None, bool]]:
    """Split a template: the text before each parameter, its name, and whether it stays raw."""
    pieces = list(Formatter().parse(template))
    whole = len(pieces) == 1 and not pieces[0][0]
    return [(text, name, whole or spec == RAW) for text, name, spec, _ in pieces]


def fill(template: Template, attribute: Attribute, given: Mapping[str, object]) -> AttributeValue:
    """Make the value of a key attribute, or raise a RowError that says what is wrong with it."""
    names = parameters(template)
    for name in names:
        _check(name, given[name], attribute.type)
    # _check has found every parameter of a text attribute to be text.
    text = attribute.type == "S"
    value = encode(render(template, cast("Mapping[str, str]", given)) if text else given[names[0]])
    # As DynamoDB spells it, or the key of a row would not be that of its question.
    return {"N": normalize_number(Decimal(value["N"]))} if "N" in value else value


def _check(name: str, value: object, type_: str) -> None:
    word, kinds = KINDS[type_]
    if isinstance(value, bool) or not isinstance(value, kinds):
        msg = f"{name} must be {word}, not {type(value).__name__}"
        raise RowError(msg)
    if value in ("", b""):
        msg = f"{name} is empty"
        raise RowError(msg)


# What a parameter of each type is called, and what it may be in Python.
KINDS: dict[str, tuple[str, Any]] = {
    "S": ("text", str),
    "N": ("a number", int | Decimal),
    "B": ("bytes", bytes | bytearray),
}


def problems(attribute: Attribute, template: Template) -> Iterator[str]:
    """Find what would keep a template from making a value of *attribute*."""
    try:
        pieces = list(Formatter().parse(template))
    except ValueError as error:
        yield f"template {template!r} cannot be read: {error}"
        return
    names = [name for _, name, _, _ in pieces if name is not None]
    # A format could make two values look alike.
    formatted = any(spec not in {None, "", RAW} or conversion for _, _, spec, conversion in pieces)
    if not template:
        yield f"the template for {attribute.name!r} is empty, and no key is"
    elif formatted or not all(name.isidentifier() for name in names):
        yield f"template {template!r} needs a plain name in each pair of braces"
    elif attribute.type != "S" and template != f"{{{names[0] if names else ''}}}":
        yield (
            f"template {template!r} is for {attribute.name!r}, which is {attribute.type}: "
            "it can only be one parameter, as in '{day}'"
        )
    else:
        yield from _ambiguities(template)


def _ambiguities(template: Template) -> Iterator[str]:
    """Find what would let different parameters make the same key."""
    previous, previous_raw, between = "", False, ""
    for text, name, raw in _pieces(template):
        between += text
        if name is None:
            continue
        if previous_raw:
            yield (
                f"template {template!r} has {name!r} after the raw {previous!r}; only the last "
                "parameter can be raw, or different values could make the same key"
            )
        elif previous and SEPARATOR not in between:
            yield (
                f"template {template!r} needs {SEPARATOR!r} between {previous!r} and {name!r}, "
                "or different values could make the same key"
            )
        previous, previous_raw, between = name, raw, ""
