"""Serves the console: its page to everyone who reaches it, its API only with a token.

A page of another site cannot use the API: it does not know the token, cannot send the header
without a preflight request, which is refused, and its Host or Origin is not this server's own.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from json import dumps
from typing import Any, Final

from adminview.cli.console.sessions import Sessions
from adminview.cli.console.static_files import ASSETS, StaticFiles
from adminview.http_api.handlers import JSON
from adminview.http_api.operations.console_api import ConsoleApi
from adminview.http_api.operations.router import BODY_LIMIT, refusal
from adminview.http_api.problems import ProblemError
from adminview.local.http_server import LOOPBACK, Server

API: Final = "/api"
CONFIG: Final = "/console.json"
COMMON: Final = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
PAGE_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
NEVER_CACHED: Final = "no-store"
ALWAYS_CACHED: Final = "public, max-age=31536000, immutable"  # the name changes with the content
FOREIGN_ORIGIN: Final = "urn:adminview:foreign-origin"
OWN_SITES: Final = ("same-origin", "none")  # of Sec-Fetch-Site; none: typed by the user
WRONG_HOST: Final = "the Host header does not name this server; other names are refused"
WRONG_ORIGIN: Final = "the request comes from a page of another origin"
NOT_BUILT: Final = (
    "the console's page is not built: run `npm ci` and `python adminview/console/build.py` in the "
    "checkout, or install a release. The API below /api works all the same"
)
WITH_BODY: Final = ("POST", "PUT", "PATCH")


@dataclass(slots=True)
class ConsoleGateway:
    """Answers the requests of one console server."""

    api: ConsoleApi
    sessions: Sessions
    files: StaticFiles = field(default_factory=StaticFiles)
    hosts: frozenset[str] = frozenset()  # the Host headers of this server
    body_limit: int = BODY_LIMIT

    def listen(self, port: int) -> Server:
        """Bind a server on loopback and accept its own names only."""
        server = Server(LOOPBACK, port, self)
        bound = server.server_address[1]
        self.hosts = frozenset({f"{LOOPBACK}:{bound}", f"localhost:{bound}"})
        return server

    def answer(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes = b""
    ) -> dict[str, Any]:
        """Return the response to a request, with headers that keep other sites out."""
        headers = {name.lower(): value for name, value in headers.items()}
        try:
            answer = self._answer(method, target, headers, body)
        except ProblemError as problem:
            answer = refusal(problem)
        answer["headers"] = {**answer["headers"], **COMMON}
        return answer

    def _answer(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes
    ) -> dict[str, Any]:
        if headers.get("host", "") not in self.hosts:
            raise ProblemError(HTTPStatus.MISDIRECTED_REQUEST, WRONG_HOST)
        path = target.partition("?")[0]
        if path == API or path.startswith(f"{API}/"):
            self._check(method, headers, body)
            return self.api.answer(method, target.removeprefix(API), headers, body)
        if method not in ("GET", "HEAD"):
            allow = {"Allow": "GET, HEAD"}
            detail = "this path supports only GET and HEAD"
            raise ProblemError(HTTPStatus.METHOD_NOT_ALLOWED, detail, headers=allow)
        if path == CONFIG:
            return _ok(JSON, CONTENT, NEVER_CACHED)
        if path.startswith(ASSETS):
            return self._asset(path)
        if self.files.index is None:
            raise ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, NOT_BUILT)
        # Every other path is a route of the page, which can be shared and reloaded.
        return _ok("text/html; charset=utf-8", self.files.index, NEVER_CACHED)

    def _check(self, method: str, headers: Mapping[str, str], body: bytes) -> None:
        """Raise a ProblemError unless a request of the API is from us and has a valid token."""
        own = {f"http://{host}" for host in self.hosts}
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        if (origin is not None and origin not in own) or (site and site not in OWN_SITES):
            raise ProblemError(HTTPStatus.FORBIDDEN, WRONG_ORIGIN, kind=FOREIGN_ORIGIN)
        self.sessions.check(headers)
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if method in WITH_BODY and body and kind != JSON:
            detail = f"the Content-Type of a body must be {JSON}"
            raise ProblemError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, detail)

    def _asset(self, path: str) -> dict[str, Any]:
        asset = self.files.assets.get(path)
        if asset is None:
            raise ProblemError(HTTPStatus.NOT_FOUND, "there is no such file")
        kind, content = asset
        return _ok(kind, content, ALWAYS_CACHED)


# All that the page needs to know: a deployed console will have another base URL and sign-in.
CONTENT: Final = dumps({"api": API, "auth": "token", "session": f"{API}/session"}).encode()


def _ok(kind: str, body: bytes, caching: str) -> dict[str, Any]:
    headers = {
        "Content-Type": kind,
        "Cache-Control": caching,
        "Content-Security-Policy": PAGE_POLICY,
    }
    return {"statusCode": HTTPStatus.OK.value, "headers": headers, "body": body}
