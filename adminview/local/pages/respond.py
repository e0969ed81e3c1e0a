"""Respond to requests for pages."""

import json
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

from adminview.http_api import paths
from adminview.http_api.catalogue import catalogue
from adminview.http_api.handlers import HEADERS, Api
from adminview.local.pages.landing import FORMS, REFERENCE, landing
from adminview.local.pages.reference import reference
from adminview.local.pages.style import STYLE

POLICY: Final = (
    "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
COUNT: Final = "/count"


def respond(api: Api, method: str, target: str) -> dict[str, Any] | None:
    """Return the response to a request for a page; None if the API itself should respond."""
    path, _, query = target.partition("?")
    if method != paths.METHOD:
        return None
    if path == "/":
        engine = api.engine
        return _ok("html", landing(catalogue(engine.registry, api.model, dict(engine.pending))))
    if path == REFERENCE:
        return _ok("html", reference(json.loads(api.openapi_document)))
    if path == "/style.css":
        return _ok("css", STYLE)
    name = path.removeprefix(FORMS).removesuffix(COUNT)
    if path.startswith(FORMS) and name in {
        pattern.name for pattern in api.engine.registry.patterns
    }:
        return _query(f"{paths.PATTERNS}/{path.removeprefix(FORMS)}", query)
    return None


def _ok(kind: str, body: str) -> dict[str, Any]:
    readable = body.encode(errors="replace").decode()  # UTF-8 has no lone surrogates
    return _response(HTTPStatus.OK, {"Content-Type": f"text/{kind}; charset=utf-8"}, readable)


def _query(path: str, query: str) -> dict[str, Any]:
    """Redirect a form to its query. The API refuses empty parameters, so these are left out."""
    filled = urlencode([(name, value) for name, value in parse_qsl(query) if value])
    location = f"{path}?{filled}" if filled else path
    return _response(HTTPStatus.SEE_OTHER, {"Location": location}, "")


def _response(status: HTTPStatus, headers: dict[str, str], body: str) -> dict[str, Any]:
    policy = {"Content-Security-Policy": POLICY}
    return {"statusCode": status.value, "headers": HEADERS | policy | headers, "body": body}
