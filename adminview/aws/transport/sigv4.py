"""AWS Signature Version 4 for POST requests of JSON to the root of a service.

Botocore's signer takes seven times as long, and loading it takes longer than everything else that
the sync loads. A test checks that both give the same signature.
"""

import hmac
from functools import lru_cache
from hashlib import sha256
from time import gmtime, strftime
from typing import NamedTuple, Protocol

CONTENT_TYPE = "application/x-amz-json-1.0"
ALGORITHM, END = "AWS4-HMAC-SHA256", "aws4_request"


class Credentials(Protocol):
    """AWS credentials, such as botocore's frozen credentials."""

    @property
    def access_key(self) -> str: ...

    @property
    def secret_key(self) -> str: ...

    @property
    def token(self) -> str | None: ...


class Service(NamedTuple):
    """The service that a request is signed for."""

    name: str
    region: str
    host: str  # with the port, if it is not the default


def signed_headers(
    service: Service, target: str, body: bytes, credentials: Credentials, now: float | None = None
) -> dict[str, str]:
    """Return the headers of a request with its signature."""
    moment = strftime("%Y%m%dT%H%M%SZ", gmtime(now))
    day = moment[:8]
    headers = {
        "Content-Type": CONTENT_TYPE,
        "Host": service.host,
        "X-Amz-Date": moment,
        **({"X-Amz-Security-Token": credentials.token} if credentials.token else {}),
        "X-Amz-Target": target,
    }  # sorted by name, as the signature requires
    names = ";".join(headers).lower()
    lines = "".join(f"{name.lower()}:{value}\n" for name, value in headers.items())
    canonical_request = f"POST\n/\n\n{lines}\n{names}\n{sha256(body).hexdigest()}"
    scope = f"{day}/{service.region}/{service.name}/{END}"
    to_sign = f"{ALGORITHM}\n{moment}\n{scope}\n{sha256(canonical_request.encode()).hexdigest()}"
    key = _key(credentials.secret_key, day, service.region, service.name)
    headers["Authorization"] = (
        f"{ALGORITHM} Credential={credentials.access_key}/{scope}, "
        f"SignedHeaders={names}, Signature={_digest(key, to_sign).hex()}"
    )
    return headers


@lru_cache(maxsize=4)
def _key(secret: str, day: str, region: str, service: str) -> bytes:
    """Derive the signing key of a day; cached for all its requests."""
    key = f"AWS4{secret}".encode()
    for part in (day, region, service, END):
        key = _digest(key, part)
    return key


def _digest(key: bytes, text: str) -> bytes:
    return hmac.digest(key, text.encode(), "sha256")
