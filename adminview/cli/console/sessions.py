"""Tokens: one that is printed when the server starts, and one per session of a browser."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from hmac import compare_digest
from http import HTTPStatus
from secrets import token_urlsafe
from threading import Lock
from time import monotonic
from typing import Any, Final

from adminview.http_api.operations.router import Operation, OperationGroup, Reply, Request
from adminview.http_api.operations.schemas import COUNT
from adminview.http_api.problems import ProblemError
from adminview.http_api.schemas import MAYBE_TEXT, TEXT, Schema, list_of, one_of, shape

TOKEN_BYTES: Final = 32
IDLE_SECONDS: Final = 8 * 60 * 60  # after which a session ends
MOST_SESSIONS: Final = 100
SCHEME: Final = "Bearer "
EXPIRED: Final = "urn:adminview:session-expired"
MISSING: Final = "urn:adminview:token-missing"
SIGN_IN: Final = "copy the token from the terminal in which `adminview console` runs"
CHALLENGE: Final = {"WWW-Authenticate": "Bearer"}


@dataclass(slots=True)
class Sessions:
    """The token that the server prints, and the sessions that were opened with it."""

    launch_token: str = field(default_factory=lambda: token_urlsafe(TOKEN_BYTES), repr=False)
    clock: Callable[[], float] = monotonic
    _used: dict[bytes, float] = field(default_factory=dict, repr=False)  # by digest of the token
    _lock: Lock = field(default_factory=Lock)

    def check(self, headers: Mapping[str, str]) -> None:
        """Raise a ProblemError (401) unless a request has a valid token."""
        token = bearer(headers)
        if self._is_launch_token(token):
            return
        with self._lock:
            self._forget_idle()
            digest = _digest(token)
            if digest not in self._used:
                detail = f"the token is not valid, or its session has ended: {SIGN_IN}"
                raise ProblemError(HTTPStatus.UNAUTHORIZED, detail, kind=EXPIRED, headers=CHALLENGE)
            self._used[digest] = self.clock()

    def open(self, headers: Mapping[str, str]) -> str:
        """Open a session and return its token; raise a ProblemError without the printed token."""
        if not self._is_launch_token(bearer(headers)):
            detail = f"only the printed token opens a session: {SIGN_IN}"
            raise ProblemError(HTTPStatus.UNAUTHORIZED, detail, kind=EXPIRED, headers=CHALLENGE)
        token = token_urlsafe(TOKEN_BYTES)
        with self._lock:
            self._used[_digest(token)] = self.clock()
            while len(self._used) > MOST_SESSIONS:
                del self._used[min(self._used, key=lambda digest: self._used[digest])]
        return token

    def close(self, headers: Mapping[str, str]) -> None:
        """End a session; the printed token stays valid."""
        with self._lock:
            self._used.pop(_digest(bearer(headers)), None)

    def _is_launch_token(self, token: str) -> bool:
        return compare_digest(_digest(token), _digest(self.launch_token))

    def _forget_idle(self) -> None:
        oldest = self.clock() - IDLE_SECONDS
        self._used = {digest: at for digest, at in self._used.items() if at > oldest}


def bearer(headers: Mapping[str, str]) -> str:
    """Return the token of a request; raise a ProblemError (401) if it has none."""
    value = headers.get("authorization", "")
    if not value.startswith(SCHEME):
        detail = f"the header Authorization: Bearer TOKEN is missing: {SIGN_IN}"
        raise ProblemError(HTTPStatus.UNAUTHORIZED, detail, kind=MISSING, headers=CHALLENGE)
    return value.removeprefix(SCHEME).strip()


def session_group(
    sessions: Sessions, user: str, target: Mapping[str, Any], features: Callable[[], list[str]]
) -> OperationGroup:
    """Return the operations that open, describe and end a session."""

    def described() -> dict[str, Any]:
        return {
            "expiresInSeconds": IDLE_SECONDS,
            "user": user,
            "target": dict(target),
            "features": features(),
        }

    def open_session(request: Request) -> Reply:
        return Reply({"token": sessions.open(request.headers), **described()})

    def show_session(request: Request) -> Reply:
        request.parameters()
        return Reply(described())

    def close_session(request: Request) -> Reply:
        sessions.close(request.headers)
        return Reply(None, HTTPStatus.NO_CONTENT)

    operations = [
        Operation(
            method="POST",
            path="/session",
            id="openSession",
            summary="Exchange the printed token for one that ends after eight hours without use",
            handle=open_session,
            response="OpenedSession",
        ),
        Operation(
            method="GET",
            path="/session",
            id="getSession",
            summary="The user, the deployment, and the groups of routes",
            handle=show_session,
            response="Session",
        ),
        Operation(
            method="DELETE",
            path="/session",
            id="closeSession",
            summary="End the session",
            handle=close_session,
            response="Session",
            status=HTTPStatus.NO_CONTENT,
        ),
    ]
    return OperationGroup("session", operations, SCHEMAS)


SESSION: Final[dict[str, Schema]] = {
    "expiresInSeconds": COUNT,
    "user": TEXT,
    "target": shape(
        {
            "kind": one_of(["local", "stage"]),
            "name": TEXT,
            "stage": MAYBE_TEXT,
            "prefix": TEXT,
            "viewTable": TEXT,
            "region": MAYBE_TEXT,
        }
    ),
    "features": list_of(TEXT),
}
SCHEMAS: Final[dict[str, Schema]] = {
    "Session": shape(SESSION),
    "OpenedSession": shape({"token": TEXT, **SESSION}),
    "Problem": {
        **shape(
            {
                "type": TEXT,
                "title": TEXT,
                "status": {"type": "integer", "minimum": 400, "maximum": 599},
                "detail": TEXT,
            }
        ),
        "additionalProperties": True,
    },
}


def _digest(token: str) -> bytes:
    return sha256(token.encode()).digest()
