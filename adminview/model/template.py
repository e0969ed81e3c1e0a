"""Templates of key values: ``USER#{user_id}``.

A template escapes its parameters as `key` escapes its parts. Two kinds of parameter stay unescaped:
one that is the whole template, because the attribute then holds only that value, and one that is
declared ``{name:raw}``.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from string import Formatter
from typing import Any, TypeAlias, cast

from adminview.model.attribute import TYPE_WORDS, Attribute
from adminview.model.errors import RowError
from adminview.model.item import AttributeValue, encode, normalize_number
from adminview.model.key import SEPARATOR, escape, unescape

Template: TypeAlias = str

RAW = "raw"
ANY_TEXT = ".+"
ANY_PART = "(?:[^#%]|%23|%25)+"  # any result of `escape`


def several(templates: Template | Sequence[Template]) -> tuple[Template, ...]:
    """Normalize one template or a sequence of templates."""
    return (templates,) if isinstance(templates, str) else tuple(templates)


def parameters(template: Template) -> list[str]:
    """Return the names of a template's parameters."""
    return [name for _, name, _, _ in Formatter().parse(template) if name is not None]


def any_value(template: Template) -> str:
    """Return a regular expression that matches every value of a template."""
    return "".join(
        re.escape(text) + ("" if name is None else ANY_TEXT if raw else ANY_PART)
        for text, name, raw in _pieces(template)
    )


def fixed_beginning(template: Template) -> str:
    """Return the text with which every value of a template begins."""
    return _pieces(template)[0][0]


def render(template: Template, values: Mapping[str, str]) -> str:
    """Fill *values* into a template; escapes those of parameters that are not raw."""
    return "".join(
        text + ("" if name is None else values[name] if raw else escape(values[name]))
        for text, name, raw in _pieces(template)
    )


def values_in(template: Template, value: str) -> dict[str, str] | None:
    """Return the parameters with which `render` gives *value*; None if none do."""
    pieces = [(name, raw) for _, name, raw in _pieces(template) if name is not None]
    pattern = "".join(
        re.escape(text) + ("" if name is None else f"({ANY_TEXT if raw else ANY_PART})")
        for text, name, raw in _pieces(template)
    )
    match = re.fullmatch(pattern, value, re.DOTALL)
    if match is None:
        return None
    values = [
        (name, part if raw else unescape(part))
        for (name, raw), part in zip(pieces, match.groups(), strict=True)
    ]
    # A parameter that occurs twice must have one value.
    return dict(values) if len({*values}) == len({name for name, _ in pieces}) else None


def _pieces(template: Template) -> list[tuple[str, str | None, bool]]:
    """Split a template into (text before a parameter, its name, whether it is raw)."""
    pieces = list(Formatter().parse(template))
    is_single = len(pieces) == 1 and not pieces[0][0]
    return [(text, name, is_single or spec == RAW) for text, name, spec, _ in pieces]


def fill(template: Template, attribute: Attribute, values: Mapping[str, object]) -> AttributeValue:
    """Return the value of a key attribute; raises a RowError if a parameter is invalid."""
    names = parameters(template)
    for name in names:
        _check(name, values[name], attribute.type)
    # `_check` has ensured that all parameters of a text attribute are text.
    text = attribute.type == "S"
    value = encode(
        render(template, cast("Mapping[str, str]", values)) if text else values[names[0]]
    )
    # Normalized as in DynamoDB: equal numbers must give equal keys.
    return {"N": normalize_number(Decimal(value["N"]))} if "N" in value else value


def _check(name: str, value: object, type_: str) -> None:
    if isinstance(value, bool) or not isinstance(value, KINDS[type_]):
        wanted = TYPE_WORDS[type_] + (" (int or Decimal)" if type_ == "N" else "")
        msg = f"{name} must be {wanted}, not {type(value).__name__}"
        raise RowError(msg)
    if value in ("", b""):
        msg = f"{name} is empty"
        raise RowError(msg)


# The Python types of a value of each key type.
KINDS: dict[str, Any] = {"S": str, "N": int | Decimal, "B": bytes | bytearray}


def problems(attribute: Attribute, template: Template) -> Iterator[str]:
    """Yield why a template cannot give a value of *attribute*."""
    try:
        pieces = list(Formatter().parse(template))
    except ValueError as error:
        yield f"template {template!r} cannot be read: {error}"
        return
    names = [name for _, name, _, _ in pieces if name is not None]
    # A format could give two values the same text.
    formatted = any(spec not in {None, "", RAW} or conversion for _, _, spec, conversion in pieces)
    if not template:
        yield f"the template for {attribute.name!r} is empty; a key cannot be empty"
    elif formatted or not all(name.isidentifier() for name in names):
        yield f"template {template!r} needs a plain name in each pair of braces, as in {{user_id}}"
    elif attribute.type != "S" and template != f"{{{names[0] if names else ''}}}":
        yield (
            f"template {template!r} is for {attribute.name!r}, which is "
            f"{TYPE_WORDS[attribute.type]}: it can only be one parameter, as in '{{day}}'"
        )
    else:
        yield from _ambiguities(template)


def _ambiguities(template: Template) -> Iterator[str]:
    """Yield parameters whose different values could give the same key."""
    previous, previous_raw, between = "", False, ""
    for text, name, raw in _pieces(template):
        between += text
        if name is None:
            continue
        if previous_raw:
            yield (
                f"template {template!r} has {name!r} after the raw {previous!r}; only the last "
                "parameter can be raw, or different values could give the same key"
            )
        elif previous and SEPARATOR not in between:
            yield (
                f"template {template!r} needs {SEPARATOR!r} between {previous!r} and {name!r}, "
                "or different values could give the same key"
            )
        previous, previous_raw, between = name, raw, ""
