"""The routes, shared by the function, the gateway and OpenAPI."""

import re
from typing import Final

PATTERNS: Final = "/patterns"
PATTERN: Final = "/patterns/{name}"
COUNT: Final = "/patterns/{name}/count"
ROW_BY_QUERY: Final = "/rows"
# Greedy: the gateway decodes a path before routing, so a key with a slash has several segments.
ROW: Final = "/rows/{key+}"
HEALTH: Final = "/health"
OPENAPI: Final = "/openapi.json"

PATHS: Final = (PATTERNS, PATTERN, COUNT, ROW_BY_QUERY, ROW, HEALTH, OPENAPI)  # GET only
METHOD: Final = "GET"


def rule(path: str) -> str:
    """Return a path as a regular expression for the resolver.

    The resolver's own `<name>` does not match all characters of keys.
    """
    pieces = re.split(r"(\{\w+\+?\})", path)
    return "".join(
        re.escape(piece) if not piece.startswith("{") else _variable(piece) for piece in pieces
    )


def known(path: str) -> bool:
    """Return whether a path matches a route."""
    return any(re.fullmatch(rule(route), path) for route in PATHS)


def _variable(piece: str) -> str:
    return r"([\s\S]+)" if piece.endswith("+}") else "([^/]+)"


# The headers that pages of another origin may send (signed requests, JWTs) and read.
CORS_HEADERS: Final = ("authorization", "x-amz-date", "x-amz-security-token")
CORS_EXPOSED: Final = ("retry-after",)
