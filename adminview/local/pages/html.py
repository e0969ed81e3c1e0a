"""HTML that is escaped unless it was made here."""

from collections.abc import Iterable
from html import escape
from typing import Final

VOID: Final = frozenset({"input", "link", "meta"})  # elements without content and end tag


class Html(str):
    """Markup. Any other text is escaped when it becomes part of an element."""

    __slots__ = ()


def element(name: str, /, *content: str, **attributes: str | bool) -> Html:
    """Return an element. An attribute that is True has no value; one that is False is left out.

    Underscores around an attribute's name are removed: `class_`, `for_`.
    """
    parts = [name]
    for attribute, value in attributes.items():
        if value is True:
            parts.append(attribute.strip("_"))
        elif value is not False:
            parts.append(f'{attribute.strip("_")}="{escape(value)}"')
    start = f"<{' '.join(parts)}>"
    return Html(start if name in VOID else f"{start}{joined(content)}</{name}>")


def joined(content: Iterable[str], separator: str = "") -> Html:
    """Return pieces as one piece, escaped where needed."""
    pieces = [piece if isinstance(piece, Html) else escape(piece) for piece in content]
    return Html(escape(separator).join(pieces))


def link(address: str, text: str) -> Html:
    return element("a", text, href=address)


def table(headings: Iterable[str], rows: Iterable[Iterable[str]]) -> Html:
    head = element("tr", *(element("th", heading, scope="col") for heading in headings))
    body = [element("tr", *(element("td", cell) for cell in row)) for row in rows]
    return element("table", element("thead", head), element("tbody", *body))


def page(title: str, *content: str) -> str:
    """Return a whole document."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", title),
        element("link", rel="icon", href="data:,"),
        element("link", rel="stylesheet", href="/style.css"),
    )
    main = element("main", element("h1", title), *content)
    return f"<!doctype html>\n{element('html', head, element('body', main), lang='en')}\n"
