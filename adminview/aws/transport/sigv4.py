"""AWS Signature Version 4 for one kind of request: a POST of JSON to the root of a service.

Botocore's own signer does the same in seven times the time, and loading it takes longer than all
else that the sync loads. A test holds that both sign alike.
"""

import hmac
from functools import lru_cache
from hashlib import sha256
from time import gmtime, strftime
from typing import NamedTuple, Protocol

CONTENT_TYPE = "application/x-amz-json-1.0"
ALGORITHM, END = "AWS4-HMAC-SHA256", "aws4_request"


class Credentials(Protocol):
    """Who asks; botocore's frozen credentials are such."""

    @property
    def access_key(self) -> str:
        """Name whose secret signs."""

    @property
    def secret_key(self) -> str:
        """Sign with it."""

    @property
    def token(self) -> str | None:
        """Say which role was assumed, if one was."""


class Service(NamedTuple):
    """Who is asked."""

    name: str
    region: str
    host: str  # with its port, where that is not the usual one


def signed_headers(
    service: Service, target: str, body: bytes, credentials: Credentials, now: float | None = None
) -> dict[str, str]:
    """Make the headers of a request, among them its signature."""
    moment = strftime("%Y%m%dT%H%M%SZ", gmtime(now))
    day = moment[:8]
    headers = {
        "Content-Type": CONTENT_TYPE,
        "Host": service.host,
        "X-Amz-Date": moment,
        **({"X-Amz-Security-Token": credentials.token} if credentials.token else {}),
        "X-Amz-Target": target,
    }  # in the order of their names, as they are signed
    names = ";".join(headers).lower()
    lines = "".join(f"{name.lower()}:{value}\n" for name, value in headers.items())
    asked = f"POST\n/\n\n{lines}\n{names}\n{sha256(body).hexdigest()}"
    scope = f"{day}/{service.region}/{service.name}/{END}"
    to_sign = f"{ALGORITHM}\n{moment}\n{scope}\n{sha256(asked.encode()).hexdigest()}"
    key = _key(credentials.secret_key, day, service.region, service.name)
    headers["Authorization"] = (
        f"{ALGORITHM} Credential={credentials.access_key}/{scope}, "
        f"SignedHeaders={names}, Signature={_digest(key, to_sign).hex()}"
    )
    return headers


@lru_cache(maxsize=4)
def _key(secret: str, day: str, region: str, service: str) -> bytes:
    """Derive the key of a day, which serves for all its requests."""
    key = f"AWS4{secret}".encode()
    for part in (day, region, service, END):
        key = _digest(key, part)
    return key


def _digest(key: bytes, text: str) -> bytes:
    return hmac.digest(key, text.encode(), "sha256")
