"""Who may ask the API, as cdk.json's `api` says: callers signed with IAM, unless a JWT is named."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from adminview.cdk.options.context import given_or, is_nothing, lists_nothing, read_object
from adminview.model.errors import SettingsError

ISSUER, AUDIENCE, ORIGINS = "jwtIssuer", "jwtAudience", "corsOrigins"
KEYS: Final = (ISSUER, AUDIENCE, ORIGINS)
URL: Final = re.compile(r"https://[^\s/?#]+(/[^\s?#]*)?")
ORIGIN: Final = re.compile(r"https?://[^\s/?#*]+")
EXAMPLE: Final = '{"jwtIssuer": "https://…", "jwtAudience": ["…"], "corsOrigins": ["https://…"]}'


@dataclass(frozen=True, slots=True)
class ApiAccess:
    """The authorizer, and the origins whose pages may ask."""

    issuer: str = ""  # none: IAM
    audience: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()

    @classmethod
    def read(cls, given: object) -> "ApiAccess":
        """Read the context's `api`, which `-c` hands over as text, or say what is wrong in it."""
        entries = read_object("api", given, example=EXAMPLE, known=KEYS)
        for problem in (*_jwt_problems(entries), *_origin_problems(entries)):
            msg = f"context api: {problem}"
            raise SettingsError(msg)
        return cls(
            given_or(entries.get(ISSUER), ""),
            tuple(entries.get(AUDIENCE) or ()),
            tuple(entries.get(ORIGINS) or ()),
        )


def _jwt_problems(given: Mapping[str, Any]) -> Iterator[str]:
    """Refuse half an authorizer: a JWT of any audience would let in who is meant for others."""
    issuer, audience = given.get(ISSUER), given.get(AUDIENCE)
    if not is_nothing(issuer) and not (isinstance(issuer, str) and URL.fullmatch(issuer)):
        yield f"{ISSUER} {issuer!r} is not the URL of an issuer, such as https://login.example/pool"
    if not lists_nothing(audience) and not _texts(audience):
        yield f"{AUDIENCE} {audience!r} is not a list of names, such as ['admin-panel']"
    if bool(issuer) != bool(audience):
        alone, other = (ISSUER, AUDIENCE) if issuer else (AUDIENCE, ISSUER)
        yield f"{alone} without {other}; give both for a JWT, or neither for IAM"


def _origin_problems(given: Mapping[str, Any]) -> Iterator[str]:
    origins: Any = given.get(ORIGINS)
    if lists_nothing(origins):
        return
    if not _texts(origins):
        yield f"{ORIGINS} {origins!r} is not a list of origins, such as ['https://panel.example']"
        return
    for origin in origins:
        if "*" in origin:
            yield (
                f"{ORIGINS} {origin!r} would let the pages of strangers ask with their visitors' "
                "rights; name each origin, such as https://panel.example"
            )
        elif not ORIGIN.fullmatch(origin):
            yield f"{ORIGINS} {origin!r} is not an origin: a scheme and a host, without a path"


def _texts(given: object) -> bool:
    return isinstance(given, list) and all(isinstance(one, str) and one for one in given)
