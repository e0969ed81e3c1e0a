"""The routes, spelled once: for the function, for the gateway before it, and for OpenAPI."""

import re
from typing import Final

PATTERNS: Final = "/patterns"
QUESTION: Final = "/patterns/{name}"
COUNT: Final = "/patterns/{name}/count"
ROW_BY_QUERY: Final = "/rows"
# Greedy: the gateway decodes a path before it looks for the route, so a key with a slash in it
# comes as several segments.
ROW: Final = "/rows/{key+}"
HEALTH: Final = "/health"
OPENAPI: Final = "/openapi.json"

PATHS: Final = (PATTERNS, QUESTION, COUNT, ROW_BY_QUERY, ROW, HEALTH, OPENAPI)  # all for GET alone
METHOD: Final = "GET"


def rule(path: str) -> str:
    """Write a path as the regular expression that the resolver matches by.

    Its own `<name>` takes few characters; keys are full of others.
    """
    pieces = re.split(r"(\{\w+\+?\})", path)
    return "".join(
        re.escape(piece) if not piece.startswith("{") else _variable(piece) for piece in pieces
    )


def known(path: str) -> bool:
    """Tell whether there is anything at a path."""
    return any(re.fullmatch(rule(one), path) for one in PATHS)


def _variable(piece: str) -> str:
    return r"([\s\S]+)" if piece.endswith("+}") else "([^/]+)"


# What pages of another origin may send and see: what a signed request brings, and a JWT.
CORS_HEADERS: Final = ("authorization", "x-amz-date", "x-amz-security-token")
CORS_EXPOSED: Final = ("retry-after",)
