"""DynamoDB over a plain HTTP connection, for bodies that are JSON text already.

A boto3 client takes a call apart, checks it, spells it and reads the answer in ten times the time.
What it does besides is here, and each fault is held by a test against a socket that has it:

- credentials are asked for with every call, so that those that expire are renewed by their owner;
- connections are kept, and one that was closed meanwhile is not used again;
- an answer that is not whole, not JSON or not what its checksum says counts as none;
- every fault is raised as the error that a boto3 client raises for it, and quotes nothing.

There is no retry: whoever calls knows how much time is left.
"""

import ssl
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPMessage, HTTPSConnection, IncompleteRead
from json import loads
from pathlib import Path
from select import select
from socket import SO_KEEPALIVE, SOL_SOCKET
from typing import Any
from urllib.parse import urlsplit
from weakref import finalize
from zlib import crc32

import botocore
from botocore.exceptions import (
    ChecksumError,
    ClientError,
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    IncompleteReadError,
    ReadTimeoutError,
    ResponseStreamingError,
    SSLError,
)

from lambdas.aws.signature import Credentials, Service, signed_headers

VERSION = "DynamoDB_20120810"
AGENT = {"User-Agent": "AdminView"}
OK = 200


class Direct:
    """Calls to DynamoDB at one address; any number of threads may make them."""

    def __init__(
        self,
        url: str,
        region: str,
        credentials: Callable[[], Credentials],
        timeouts: tuple[float, float],  # seconds to connect, and for an answer
    ) -> None:
        place = urlsplit(url)
        assert place.hostname
        host = f"[{place.hostname}]" if ":" in place.hostname else place.hostname
        usual = {"https": 443, "http": 80}[place.scheme]
        port = place.port or usual
        self._url = url
        self._address = (place.hostname, port)
        self._service = Service("dynamodb", region, host if port == usual else f"{host}:{port}")
        self._credentials = credentials
        self._timeouts = timeouts
        self._tls = _trusting() if place.scheme == "https" else None
        self._idle: deque[HTTPConnection] = deque()  # never more than there were callers at once
        finalize(self, _close, self._idle)

    def call(self, operation: str, body: bytes) -> dict[str, Any]:
        """Make one call, and give its answer."""
        target = f"{VERSION}.{operation}"
        headers = signed_headers(self._service, target, body, self._credentials())
        status, told, content = self._exchange(body, headers | AGENT)
        _check_sum(told, content)
        answer = _parse(content)
        if status != OK:
            raise _refusal(status, answer, operation, told)
        if answer is None:
            raise ResponseStreamingError(error="the answer is not a JSON object")
        return answer

    def _exchange(self, body: bytes, headers: dict[str, str]) -> tuple[int, HTTPMessage, bytes]:
        """Send a request and read its answer; a connection that failed is not used again."""
        connection = self._kept() or self._connect()
        reusable = True
        try:
            try:
                connection.request("POST", "/", body, headers)
            except (BrokenPipeError, ConnectionResetError):
                reusable = False  # it may have said why, before it stopped to listen
            response = connection.getresponse()
            content = response.read()
            reusable = reusable and not response.will_close
        except (OSError, HTTPException) as error:
            connection.close()
            if isinstance(error, TimeoutError):
                self._drop_idle()
            raise self._broken(error) from error
        except BaseException:
            connection.close()
            raise
        if reusable:
            self._idle.append(connection)
        else:
            connection.close()
        return response.status, response.headers, content

    def _kept(self) -> HTTPConnection | None:
        """Take a connection that is still open: the one used last, for it is the likeliest."""
        with suppress(IndexError):
            while True:
                connection = self._idle.pop()
                if not _has_news(connection):
                    return connection
                connection.close()
        return None

    def _drop_idle(self) -> None:
        """Use none of the kept connections again: what silenced one has silenced all."""
        with suppress(IndexError):
            while True:
                self._idle.pop().close()

    def _connect(self) -> HTTPConnection:
        to_connect, to_read = self._timeouts
        host, port = self._address
        connection = (
            HTTPSConnection(host, port, timeout=to_connect, context=self._tls)
            if self._tls
            else HTTPConnection(host, port, timeout=to_connect)
        )
        try:
            connection.connect()
            connection.sock.setsockopt(SOL_SOCKET, SO_KEEPALIVE, 1)
            connection.sock.settimeout(to_read)
        except OSError as error:
            connection.close()
            raise self._unreachable(error) from error
        return connection

    def _unreachable(self, error: OSError) -> Exception:
        if isinstance(error, TimeoutError):
            return ConnectTimeoutError(endpoint_url=self._url)
        if isinstance(error, ssl.SSLError):
            return SSLError(endpoint_url=self._url, error=error)
        return EndpointConnectionError(endpoint_url=self._url)

    def _broken(self, error: Exception) -> Exception:
        if isinstance(error, TimeoutError):
            return ReadTimeoutError(endpoint_url=self._url)
        if isinstance(error, IncompleteRead):
            read = len(error.partial)
            return IncompleteReadError(
                actual_bytes=read, expected_bytes=read + (error.expected or 0)
            )
        return ConnectionClosedError(endpoint_url=self._url)


def _close(connections: Iterable[HTTPConnection]) -> None:
    for connection in connections:
        connection.close()


def _trusting() -> ssl.SSLContext:
    """Trust whom botocore trusts."""
    try:
        from certifi import where  # noqa: PLC0415 - botocore takes it where it is installed
    except ImportError:
        bundle = str(Path(botocore.__file__).with_name("cacert.pem"))
    else:
        bundle = where()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_verify_locations(bundle)
    return context


def _has_news(connection: HTTPConnection) -> bool:
    """Tell whether something came while nothing was asked: the other side has closed it."""
    try:
        return bool(select([connection.sock], [], [], 0)[0])
    except (OSError, ValueError):
        return True


def _check_sum(told: HTTPMessage, content: bytes) -> None:
    expected = told.get("x-amz-crc32")
    if expected is not None and expected != (actual := str(crc32(content))):
        raise ChecksumError(
            checksum_type="crc32", expected_checksum=expected, actual_checksum=actual
        )


def _parse(content: bytes) -> dict[str, Any] | None:
    try:
        answer = loads(content)
    except ValueError:
        return None
    return answer if isinstance(answer, dict) else None


def _refusal(
    status: int, answer: dict[str, Any] | None, operation: str, told: HTTPMessage
) -> ClientError:
    """Make the error that DynamoDB named, or one named by its status; its text may quote data."""
    named = str((answer or {}).get("__type", "")).partition(":")[0].rpartition("#")[2]
    return ClientError(
        {
            "Error": {"Code": named if named.isidentifier() else str(status), "Message": ""},
            "ResponseMetadata": {
                "HTTPStatusCode": status,
                "RequestId": told.get("x-amzn-requestid", ""),
                "HTTPHeaders": {},
                "RetryAttempts": 0,
                "HostId": "",
            },
        },
        operation,
    )
