"""The option `api`: who may call the API. Callers sign with IAM, unless a JWT issuer is set."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from adminview.cdk.options.context import is_empty, is_empty_list, read_object, value_or
from adminview.model.errors import SettingsError

ISSUER, AUDIENCE, ORIGINS = "jwtIssuer", "jwtAudience", "corsOrigins"
KEYS: Final = (ISSUER, AUDIENCE, ORIGINS)
URL: Final = re.compile(r"https://[^\s/?#]+(/[^\s?#]*)?")
ORIGIN: Final = re.compile(r"https?://[^\s/?#*]+")
EXAMPLE: Final = '{"jwtIssuer": "https://…", "jwtAudience": ["…"], "corsOrigins": ["https://…"]}'


@dataclass(frozen=True, slots=True)
class ApiAccess:
    """The authorizer of the API, and the origins whose pages may call it."""

    issuer: str = ""  # empty: IAM
    audience: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()

    @classmethod
    def read(cls, value: object) -> "ApiAccess":
        """Read the context's `api`, or raise a SettingsError."""
        entries = read_object("api", value, example=EXAMPLE, known=KEYS)
        for problem in (*_jwt_problems(entries), *_origin_problems(entries)):
            msg = f"context api: {problem}"
            raise SettingsError(msg)
        return cls(
            value_or(entries.get(ISSUER), ""),
            tuple(entries.get(AUDIENCE) or ()),
            tuple(entries.get(ORIGINS) or ()),
        )


def _jwt_problems(entries: Mapping[str, Any]) -> Iterator[str]:
    """Refuse half an authorizer: without an audience, tokens of other applications would pass."""
    issuer, audience = entries.get(ISSUER), entries.get(AUDIENCE)
    if not is_empty(issuer) and not (isinstance(issuer, str) and URL.fullmatch(issuer)):
        yield f"{ISSUER} {issuer!r} is not the URL of an issuer, such as https://login.example/pool"
    if not is_empty_list(audience) and not _is_list_of_texts(audience):
        yield f"{AUDIENCE} {audience!r} is not a list of names, such as ['admin-panel']"
    if bool(issuer) != bool(audience):
        alone, other = (ISSUER, AUDIENCE) if issuer else (AUDIENCE, ISSUER)
        yield f"{alone} without {other}; give both for a JWT, or neither for IAM"


def _origin_problems(entries: Mapping[str, Any]) -> Iterator[str]:
    origins: Any = entries.get(ORIGINS)
    if is_empty_list(origins):
        return
    if not _is_list_of_texts(origins):
        yield f"{ORIGINS} {origins!r} is not a list of origins, such as ['https://panel.example']"
        return
    for origin in origins:
        if "*" in origin:
            yield (
                f"{ORIGINS} {origin!r} would let any page call the API with its visitors' "
                "permissions; name each origin, such as https://panel.example"
            )
        elif not ORIGIN.fullmatch(origin):
            yield f"{ORIGINS} {origin!r} is not an origin: a scheme and a host, without a path"


def _is_list_of_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(entry, str) and entry for entry in value)
