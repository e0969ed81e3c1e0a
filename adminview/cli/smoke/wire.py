"""HTTP requests of the checks: signed calls of the API, and calls with the direct client."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as BotoCredentials
from botocore.httpsession import URLLib3Session

from adminview.aws.transport.connection import HttpConnection
from adminview.aws.transport.http_client import VERSION, HttpClient
from adminview.aws.transport.sigv4 import Credentials, Service, signed_headers

TIMEOUT: Final = 30  # seconds to receive a response
TIMEOUTS: Final = (5.0, float(TIMEOUT))  # to connect, too


@dataclass(frozen=True, slots=True)
class WireResponse:
    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


class CountingClient(HttpClient):
    """The direct client, which counts the connections that it opens."""

    opened = 0

    def _connect(self) -> HttpConnection:
        self.opened += 1
        return super()._connect()


@dataclass(frozen=True, slots=True)
class Wire:
    """Sends requests with the credentials of the command."""

    credentials: Credentials
    region: str
    dynamodb_url: str

    @property
    def has_tls(self) -> bool:
        return urlsplit(self.dynamodb_url).scheme == "https"

    def get(self, url: str) -> WireResponse:
        """Send a signed request to API Gateway, with its path as it is."""
        keys = self.credentials
        request = AWSRequest("GET", url)
        signer = BotoCredentials(keys.access_key, keys.secret_key, keys.token)
        SigV4Auth(signer, "execute-api", self.region).add_auth(request)
        return self._send(request)

    def post(self, operation: str, body: bytes, signed_at: float) -> WireResponse:
        """Send a call to DynamoDB that was signed at another time."""
        host = urlsplit(self.dynamodb_url).netloc
        service = Service("dynamodb", self.region, host)
        headers = signed_headers(
            service, f"{VERSION}.{operation}", body, self.credentials, signed_at
        )
        return self._send(AWSRequest("POST", f"{self.dynamodb_url}/", headers, body))

    def direct_client(self) -> CountingClient:
        """Return the client of the deployed functions."""
        return CountingClient(self.dynamodb_url, self.region, self.credentials, TIMEOUTS)

    def _send(self, request: AWSRequest) -> WireResponse:
        response: Any = URLLib3Session(timeout=TIMEOUT).send(request.prepare())
        return WireResponse(response.status_code, response.content, dict(response.headers))
