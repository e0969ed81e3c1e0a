"""Whether the direct HTTP client can be used, or boto3 must be.

The direct HTTP client is used only in Lambda, and only when no SDK setting in the environment
requires botocore (a proxy, certificates, FIPS, a profile, another partition of AWS, a wrapper that
instruments botocore). Unknown SDK settings count too: this module lists the names that are
harmless, and any other one selects boto3. An operator can force boto3 with
`ADMINVIEW_PLAIN_CLIENT=true` in the function's environment.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from adminview.aws.settings import PLAIN_CLIENT, TRACING

IN_LAMBDA = "AWS_LAMBDA_FUNCTION_NAME"
WRAPPER = "AWS_LAMBDA_EXEC_WRAPPER"
ACCESS_KEY, SECRET_KEY = "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"
TOKEN = "AWS_SESSION_TOKEN"  # noqa: S105 - the name of one
REGION = "AWS_DEFAULT_REGION"  # as botocore reads it; Lambda sets AWS_REGION to the same
ENDPOINTS = ("AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL")  # the first that is set wins
STREAMS_ENDPOINT = "AWS_ENDPOINT_URL_DYNAMODB_STREAMS"  # boto3 always reads the streams

# Set by Lambda, without effect on calls to DynamoDB.
LAMBDA_PREFIXES = ("AWS_LAMBDA_", "AWS_XRAY_")
KNOWN = {REGION, "AWS_REGION", "AWS_EXECUTION_ENV", "AWS_ACCESS_KEY", "AWS_SECRET_KEY"} | {
    ACCESS_KEY,
    SECRET_KEY,
    TOKEN,
    *ENDPOINTS,
    STREAMS_ENDPOINT,
}
PROXY_SETTINGS = {"REQUESTS_CA_BUNDLE", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"}

PROFILES = ("config", "credentials")  # SDK files that a container image may contain

# The regions whose endpoints end in amazonaws.com: https://docs.aws.amazon.com/general/latest/gr/ddb.html
REGIONS = re.compile(r"(us|eu|ap|sa|ca|me|af|il|mx)-(gov-)?[a-z]+-\d+")


class StaticCredentials(NamedTuple):
    """Static credentials, as Lambda puts them into the environment of a function.

    They stay the same while the execution environment lives, and Lambda replaces it before they
    expire. Credentials that are fetched or renewed (a profile, SnapStart's or a container's
    credentials endpoint) are left to botocore: `direct_endpoint` returns None for them.
    """

    access_key: str
    secret_key: str
    token: str | None = None


class DirectEndpoint(NamedTuple):
    """The address of DynamoDB and the credentials for it."""

    url: str
    region: str
    credentials: StaticCredentials


class Fallback(NamedTuple):
    """The setting that requires botocore: its name, never its value."""

    setting: str
    reason: str

    def __str__(self) -> str:
        return f"{self.setting} {self.reason}"


def direct_endpoint(environ: Mapping[str, str]) -> DirectEndpoint | None:
    """Return the endpoint of the direct client; None if boto3 must be used."""
    if fallback(environ):
        return None
    region = environ[REGION]
    _, url = _endpoint(environ, region)
    keys = StaticCredentials(environ[ACCESS_KEY], environ[SECRET_KEY], environ.get(TOKEN) or None)
    return DirectEndpoint(url, region, keys)


def fallback(
    environ: Mapping[str, str], exists: Callable[[Path], bool] = Path.exists
) -> Fallback | None:
    """Return the first setting that requires botocore; None if the direct client can be used.

    *exists* checks for SDK files in the home directory.
    """
    return next(_fallbacks({name: value for name, value in environ.items() if value}, exists), None)


def deployed_fallback(variables: Mapping[str, str], region: str) -> Fallback | None:
    """Return the fallback of a function that is deployed with *variables*."""
    by_lambda = dict.fromkeys((IN_LAMBDA, ACCESS_KEY, SECRET_KEY), "set by Lambda")
    return fallback({**variables, **by_lambda, REGION: region}, lambda _: False)


def _fallbacks(environ: Mapping[str, str], exists: Callable[[Path], bool]) -> Iterator[Fallback]:
    if IN_LAMBDA not in environ:
        yield Fallback(IN_LAMBDA, "is not set: this is not Lambda")
    # X-Ray instruments botocore; PLAIN_CLIENT is an operator's choice.
    forced = [name for name in (TRACING, PLAIN_CLIENT) if environ.get(name) == "true"]
    for name in (*forced, *filter(_requires_botocore, sorted(environ))):
        yield Fallback(name, "is set")
    for name in (ACCESS_KEY, SECRET_KEY):
        if name not in environ:
            yield Fallback(name, "is not set")
    region = environ.get(REGION, "")
    setting, url = _endpoint(environ, region)
    if not REGIONS.fullmatch(region):
        yield Fallback(REGION, "names a region whose endpoint only botocore knows")
    if not _is_root(url):
        yield Fallback(setting, "is more than a host and a port")
    files = {name: Path(environ.get("HOME", "/"), ".aws", name) for name in PROFILES}
    yield from (Fallback(f"~/.aws/{name}", "exists") for name in files if exists(files[name]))


def _requires_botocore(name: str) -> bool:
    """Return whether a variable may change how the SDK makes calls."""
    if name.upper() in PROXY_SETTINGS or name == WRAPPER:
        return True
    return name.startswith("AWS_") and name not in KNOWN and not name.startswith(LAMBDA_PREFIXES)


def _endpoint(environ: Mapping[str, str], region: str) -> tuple[str, str]:
    """Return the setting that determines the endpoint, and the endpoint."""
    for name in ENDPOINTS:
        if environ.get(name):
            return name, environ[name]
    return REGION, f"https://dynamodb.{region}.amazonaws.com"


def _is_root(url: str) -> bool:
    """Return whether a URL has only a host and perhaps a port."""
    return re.fullmatch(r"https?://([\w.-]+|\[[\da-fA-F:]+\])(:\d{1,5})?/?", url) is not None
