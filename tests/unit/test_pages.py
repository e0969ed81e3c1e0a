"""The pages of the local API: whatever the model declares is in them, escaped, without scripts."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from types import ModuleType, SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import pytest

from adminview import AccessPattern, Item, Registry, Row, Source, view
from adminview.http_api.openapi import document
from adminview.local.http_server import event
from adminview.local.pages.html import VOID, Html, element, joined
from adminview.query.engine import QueryEngine
from tests.support import totals_views
from tests.support.api_client import Client
from tests.support.model import registry
from tests.support.query_table import Lab, make_registry

PAGES = ("/", "/reference")
HOSTILE = "<script>alert('x')</script>\" onload=\"y & \ud800 \u202e\x00"


class Page(HTMLParser):
    """A parsed page; fails if elements are not nested."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str | None]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def values(self, name: str) -> list[str]:
        return [value or "" for attribute, value in self.attributes if attribute == name]


def client(model: Registry | None = None) -> Client:
    lab = Lab(make_registry())
    return Client(replace(lab.query_engine, registry=model or registry()))


def get(requested: Client, target: str) -> Page:
    answered = requested.send(target)
    assert (answered.status, answered.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    return Page(answered.text)


def hostile_model() -> Registry:
    things = Source("Things", partition_key="id")

    @view(things)
    def thing(item: Item) -> Iterator[Row]:
        yield Row(item["id"], "DETAILS")

    module = ModuleType("things")
    module.__dict__.update(
        things=things,
        everything=AccessPattern("everything", partition="{x}", about=HOSTILE),
        thing=thing,
    )
    return Registry.of([module])


@pytest.mark.parametrize("target", PAGES)
def test_a_page_needs_no_script_no_other_host_and_no_inline_style(target: str) -> None:
    pages = client()
    page = get(pages, target)
    assert not page.tags.keys() & {"script", "style", "iframe", "object", "img"}
    names = {name for name, _ in page.attributes}
    assert not {name for name in names if name.startswith("on")} | (names & {"style", "src"})
    addresses = page.values("href") + page.values("action") + page.values("formaction")
    foreign = [
        address
        for address in addresses
        if not re.match(r"/(?!/)|#", address) and address != "data:,"
    ]
    assert (bool(addresses), foreign) == (True, [])
    policy = pages.send(target).headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src 'self';")
    assert "unsafe" not in policy


def test_the_first_page_has_a_form_for_each_access_pattern_and_leads_to_the_rest() -> None:
    pages = client()
    page = get(pages, "/")
    for pattern in registry().patterns:
        assert pattern.name in page.values("id")
        assert pattern.about in page.text
        assert f"/try/{pattern.name}" in page.values("action")
    assert (
        len(page.values("name"))
        == sum(len(pattern.parameters) for pattern in registry().patterns) + 1
    )
    for target in ("/reference", "/openapi.json", "/patterns", "/health", "/style.css"):
        assert target in page.values("href")
        assert pages.send(target).status == 200


def test_the_first_page_shows_totals_and_which_access_patterns_are_not_ready() -> None:
    assert "total ProductSales, ranked" in get(client(Registry.of([totals_views])), "/").text
    pages = client()
    pages.gateway.api.engine = QueryEngine(
        registry(), pages.query_engine.reader, {"orders-by-status": None}
    )
    page = get(pages, "/")
    assert "not ready: its rows are being backfilled" in page.text
    assert "/try/orders-by-status" not in page.values("action")


@pytest.mark.parametrize(
    ("sent", "at", "parameters"),
    [
        ("/try/orders-by-status?status=PENDING&limit=", "/patterns/orders-by-status", "PENDING"),
        ("/try/orders-by-status/count?status=a+b%26", "/patterns/orders-by-status/count", "a b&"),
        ("/try/orders-by-status?status=", "/patterns/orders-by-status", None),
    ],
)
def test_a_form_leads_to_its_query_without_empty_fields(
    sent: str, at: str, parameters: str | None
) -> None:
    answered = client().send(sent)
    assert answered.status == 303
    leads_to = urlsplit(answered.headers["Location"])
    assert (leads_to.scheme, leads_to.netloc, leads_to.path) == ("", "", at)
    assert parse_qs(leads_to.query) == ({"status": [parameters]} if parameters else {})


def test_a_form_of_no_access_pattern_leads_nowhere() -> None:
    for target in ("/try/nope", "/try//evil.example", "/try/", "/try/../health", "/try"):
        assert client().send(target).status == 404


def test_the_reference_has_every_operation_and_schema_of_the_document() -> None:
    page = get(client(), "/reference")
    described = document(registry(), "model-1")
    ids = page.values("id")
    for path, operations in described["paths"].items():
        assert f"GET {path}" in page.text
        assert operations["get"]["operationId"] in ids
    assert {f"schema-{name}" for name in described["components"]["schemas"]} <= {*ids}
    assert len(ids) == len(described["paths"]) + len(described["components"]["schemas"])
    assert {address[1:] for address in page.values("href") if address.startswith("#")} == {*ids}
    assert "at most 2048 characters" in page.text
    assert "Retry-After: Seconds to wait." in page.text


@pytest.mark.parametrize("target", PAGES)
def test_what_a_view_file_says_is_text(target: str) -> None:
    pages = client(hostile_model())
    page = get(pages, target)
    assert "script" not in page.tags
    assert "onload" not in {name for name, _ in page.attributes}
    assert HOSTILE.partition("&")[0] in page.text
    pages.send(target).text.encode()


def test_text_is_escaped_once_and_markup_is_not() -> None:
    assert element("p", "a<b", Html("<i>")) == "<p>a&lt;b<i></p>"
    assert joined(["<", element("code", "&")], " | ") == "&lt; | <code>&amp;</code>"
    assert element("input", value='"', required=True, disabled=False) == (
        '<input value="&quot;" required>'
    )


def test_pages_are_only_for_get_and_for_this_machine() -> None:
    pages = client()
    for target in (*PAGES, "/style.css", "/try/orders-by-status"):
        assert pages.send(target, "POST").status == 404
        assert pages.send(target, Host="evil.example").status == 421


def test_the_deployed_api_has_no_pages() -> None:
    api, context = client().gateway.api, SimpleNamespace(aws_request_id="1")
    for target in (*PAGES, "/style.css", "/try/orders-by-status"):
        assert api(event("GET", target, {}), context)["statusCode"] == 404
