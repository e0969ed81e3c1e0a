"""The first page: each access pattern with a form."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from adminview.http_api import paths
from adminview.local.pages.html import Html, element, link, page

REFERENCE: Final = "/reference"
FORMS: Final = "/try/"  # followed by the name of the pattern; redirects to its query
HINTS: Final = {"string": "", "number": "number", "base64": "bytes in base64"}


def landing(catalogue: Mapping[str, Any]) -> str:
    """Return the page for a catalogue of access patterns, as `GET /patterns` returns it."""
    patterns = catalogue["patterns"]
    links = (
        link(REFERENCE, "API reference"),
        link(paths.OPENAPI, "OpenAPI document"),
        link(paths.PATTERNS, "Catalogue"),
        link(paths.HEALTH, "Health"),
    )
    number = f"{len(patterns)} access {'pattern' if len(patterns) == 1 else 'patterns'}"
    return page(
        "AdminView",
        element("p", number, ", model ", element("code", catalogue["model"])),
        element("nav", *links),
        *map(_pattern, patterns),
    )


def _pattern(pattern: Mapping[str, Any]) -> Html:
    parts = [element("h2", link(f"#{pattern['name']}", pattern["name"]))]
    if pattern["about"]:
        parts.append(element("p", pattern["about"]))
    parts.append(element("p", "; ".join(_facts(pattern)), class_="facts"))
    if pattern["ready"]:
        parts.append(_form(pattern))
    return element("section", *parts, id=pattern["name"])


def _facts(pattern: Mapping[str, Any]) -> Iterator[str]:
    if not pattern["ready"]:
        yield "not ready: its rows are being backfilled"
    if pattern["total"]:
        yield f"total {pattern['total']}{', ranked' if pattern['ranked'] else ''}"
    else:
        yield f"index {pattern['index']}" if pattern["index"] else "the table"
    yield "descending" if pattern["order"] == "desc" else "ascending"
    if pattern["joins"]:
        yield f"with {', '.join(pattern['joins'])}"


def _form(pattern: Mapping[str, Any]) -> Html:
    at = f"{FORMS}{pattern['name']}"
    return element(
        "form",
        *map(_field, pattern["parameters"]),
        element("button", "Query"),
        element("button", "Count", formaction=f"{at}/count"),
        action=at,
    )


def _field(parameter: Mapping[str, Any]) -> Html:
    kind = parameter["type"]
    hints = [HINTS[kind], "" if parameter["required"] else "optional"]
    field = element(
        "input",
        name=parameter["name"],
        required=parameter["required"],
        placeholder=", ".join(filter(None, hints)),
        inputmode="decimal" if kind == "number" else "text",
        autocomplete="off",
    )
    return element("label", parameter["name"], " ", field)
