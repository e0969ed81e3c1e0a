"""Read the region, custom endpoints and the defaults of a local engine from the environment.

The SDK silently retries a connection for up to a minute. A custom endpoint is therefore checked
once, before the first call.
"""

import ipaddress
import ssl
from collections.abc import Callable, Mapping, MutableMapping
from contextlib import closing
from functools import cache
from queue import Empty, SimpleQueue
from socket import create_connection, socket
from threading import Thread
from typing import Final
from urllib.parse import SplitResult, urlsplit

from botocore.session import Session
from botocore.utils import get_environ_proxies

from adminview.model.errors import SettingsError

ENDPOINT: Final = "AWS_ENDPOINT_URL"  # and AWS_ENDPOINT_URL_DYNAMODB for one service alone
IGNORED: Final = "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"
REGION, SDK_REGION = "AWS_REGION", "AWS_DEFAULT_REGION"
ACCESS_KEY, SECRET_KEY, PROFILE = "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"
LOCAL_REGION, LOCAL_KEY = "us-east-1", "local"  # of an engine on this machine
PORTS: Final = {"http": 80, "https": 443}
CONNECT_SECONDS: Final = 2.0  # includes the DNS lookup
ANSWER_SECONDS: Final = 5.0  # generous, because an engine may be busy


class EndpointUrlError(SettingsError):
    """An endpoint is not a URL. `variable` is the setting that names it."""

    def __init__(self, message: str, variable: str) -> None:
        super().__init__(f"{variable}: {message}")
        self.message, self.variable = message, variable


def use_region(environ: MutableMapping[str, str]) -> None:
    """Prefer AWS_REGION, as other AWS tools do: boto3 reads only AWS_DEFAULT_REGION."""
    if region := environ.get(REGION):
        environ[SDK_REGION] = region


def use_local_defaults(environ: MutableMapping[str, str]) -> None:
    """Set a region and credentials for an endpoint on this machine, unless there are some."""
    environ.update(local_defaults(environ))


def local_defaults(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the region and the credentials that an endpoint on this machine lacks.

    A local engine accepts any. What the environment or the files of the AWS CLI set is kept.
    """
    defaults: dict[str, str] = {}
    if not is_loopback(environ.get(ENDPOINT, "")) or _ignored(environ):
        return defaults
    session = Session()
    if not environ.get(SDK_REGION) and not session.get_config_variable("region"):
        defaults[SDK_REGION] = LOCAL_REGION
    configured = environ.get(ACCESS_KEY) or environ.get(PROFILE) or session.available_profiles
    if not configured:
        defaults |= {ACCESS_KEY: LOCAL_KEY, SECRET_KEY: LOCAL_KEY}
    return defaults


def replace_endpoints(environ: Mapping[str, str], url: str) -> dict[str, str]:
    """Return *environ* with one endpoint for all services."""
    kept = {name: value for name, value in environ.items() if not name.startswith(ENDPOINT)}
    kept.pop(IGNORED, None)
    return kept | {ENDPOINT: url}


def is_loopback(url: str) -> bool:
    """Return whether a URL is one of this machine's own addresses."""
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _ignored(environ: Mapping[str, str]) -> bool:
    return environ.get(IGNORED, "").lower() == "true"


def check_endpoints(environ: Mapping[str, str], *services: str) -> None:
    """Check the endpoints that the environment sets for *services*, such as DYNAMODB.

    Raises an EndpointUrlError if one is not a URL, and a SettingsError if nothing responds there.
    """
    if _ignored(environ):
        return
    for service in services:
        for variable in (f"{ENDPOINT}_{service}", ENDPOINT):
            if text := environ.get(variable):
                check_endpoint(text, variable)
                break


def check_endpoint(url: str, name: str) -> None:
    """Check one endpoint; errors call it *name*, as `check_endpoints` does with its variable."""
    _check_answers(_read(name, url), name)


def _read(variable: str, text: str) -> str:
    """Return scheme, host and port of a URL."""
    try:
        url = urlsplit(text)
        port = url.port
    except ValueError:
        url, port = SplitResult("", "", "", "", ""), None
    if url.scheme not in PORTS or not url.hostname:
        public = _without_credentials(text)
        msg = f"{public!r} is not a URL with a scheme and a host, such as http://127.0.0.1:8000"
        raise EndpointUrlError(msg, variable)
    host = f"[{url.hostname}]" if ":" in url.hostname else url.hostname
    return f"{url.scheme}://{host}:{port or PORTS[url.scheme]}"


@cache  # errors are not cached
def _check_answers(url: str, variable: str) -> None:
    scheme = urlsplit(url).scheme
    proxy = get_environ_proxies(f"{url}/").get(scheme)
    place = f"{url}, which {variable} names"
    if proxy:
        place = f"the proxy {_without_credentials(proxy)} for {place}"
    target = urlsplit(proxy if proxy and "//" in proxy else f"//{proxy}" if proxy else url)
    address = (target.hostname or "", target.port or PORTS.get(target.scheme, PORTS["http"]))
    advice = (
        f"start the engine there, or correct or unset {variable}; "
        "`adminview dev` prints the new value when it starts"
    )
    try:
        connection = _within(CONNECT_SECONDS, lambda: create_connection(address, CONNECT_SECONDS))
    except TimeoutError as error:
        msg = f"no connection to {place}, within {CONNECT_SECONDS:g} s: {advice}"
        raise SettingsError(msg) from error
    except OSError as error:
        msg = f"no connection to {place} ({error.strerror or error}): {advice}"
        raise SettingsError(msg) from error
    with closing(connection):
        if not proxy and not _answers(connection, scheme, address[0]):
            msg = f"no response from {place}, within {ANSWER_SECONDS:g} s: {advice}"
            raise SettingsError(msg)


def _answers(connection: socket, scheme: str, host: str) -> bool:
    """Return whether a server responds. The response itself does not matter."""
    connection.settimeout(ANSWER_SECONDS)
    try:
        if scheme == "https":
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # the SDK verifies
            context.wrap_socket(connection, server_hostname=host).close()
            return True
        connection.sendall(f"GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        return bool(connection.recv(1))
    except ssl.SSLError:
        return True  # the SDK reports it in more detail
    except OSError:
        return False


def _within(seconds: float, connect: Callable[[], socket]) -> socket:
    """Connect, or raise a TimeoutError after *seconds*, including DNS lookup and all addresses."""
    done: SimpleQueue[socket | OSError] = SimpleQueue()

    def run() -> None:
        try:
            done.put(connect())
        except OSError as error:
            done.put(error)

    Thread(target=run, daemon=True).start()
    try:
        result = done.get(timeout=seconds)
    except Empty as error:
        raise TimeoutError from error
    if isinstance(result, OSError):
        raise result
    return result


def _without_credentials(url: str) -> str:
    return url.rpartition("@")[2]
