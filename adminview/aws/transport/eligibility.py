"""When items go directly to DynamoDB, and when boto3 must be used.

The direct HTTP client is used only in Lambda, and only when no SDK setting in the environment
requires botocore (a proxy, certificates, FIPS, a profile, another partition of AWS, a wrapper that
watches botocore). Settings of the future count too: the names that are known to mean nothing here
are listed, and with any other the boto3 client is used. An operator can ask for that with
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
ENDPOINTS = ("AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL")  # the first that is set holds

# Set by Lambda, and of no consequence here.
LAMBDAS_OWN = ("AWS_LAMBDA_", "AWS_XRAY_")
KNOWN = {REGION, "AWS_REGION", "AWS_EXECUTION_ENV", "AWS_ACCESS_KEY", "AWS_SECRET_KEY"} | {
    ACCESS_KEY,
    SECRET_KEY,
    TOKEN,
    *ENDPOINTS,
}
OTHERS = {"REQUESTS_CA_BUNDLE", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"}

PROFILES = ("config", "credentials")  # an image may carry such files of the SDK

# The regions whose names end in amazonaws.com: https://docs.aws.amazon.com/general/latest/gr/ddb.html
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
    """Where DynamoDB is, and as whom it is asked."""

    url: str
    region: str
    credentials: StaticCredentials


class Fallback(NamedTuple):
    """The setting that requires botocore: its name, never its value."""

    setting: str
    why: str

    def __str__(self) -> str:
        return f"{self.setting} {self.why}"


def direct_endpoint(environ: Mapping[str, str]) -> DirectEndpoint | None:
    """Find the endpoint of the direct client; None where boto3 must be used."""
    if fallback(environ):
        return None
    region = environ[REGION]
    _, url = _endpoint(environ, region)
    keys = StaticCredentials(environ[ACCESS_KEY], environ[SECRET_KEY], environ.get(TOKEN) or None)
    return DirectEndpoint(url, region, keys)


def fallback(
    environ: Mapping[str, str], exists: Callable[[Path], bool] = Path.exists
) -> Fallback | None:
    """Find the first setting that requires botocore; None where the direct client is used.

    *exists* looks for files of the SDK in the home directory.
    """
    return next(_fallbacks({name: value for name, value in environ.items() if value}, exists), None)


def deployed_fallback(variables: Mapping[str, str], region: str) -> Fallback | None:
    """Do the same for a function that is deployed with *variables*, from elsewhere."""
    by_lambda = dict.fromkeys((IN_LAMBDA, ACCESS_KEY, SECRET_KEY), "set by Lambda")
    return fallback({**variables, **by_lambda, REGION: region}, lambda _: False)


def _fallbacks(environ: Mapping[str, str], exists: Callable[[Path], bool]) -> Iterator[Fallback]:
    if IN_LAMBDA not in environ:
        yield Fallback(IN_LAMBDA, "is not set: this is not Lambda")
    # X-Ray watches botocore; the other is an operator's wish.
    wishes = [name for name in (TRACING, PLAIN_CLIENT) if environ.get(name) == "true"]
    for name in (*wishes, *filter(_requires_botocore, sorted(environ))):
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
    """Tell whether a variable may mean something to the SDK that is not understood here."""
    if name.upper() in OTHERS or name == WRAPPER:
        return True
    return name.startswith("AWS_") and name not in KNOWN and not name.startswith(LAMBDAS_OWN)


def _endpoint(environ: Mapping[str, str], region: str) -> tuple[str, str]:
    """Find the endpoint, and the setting that it follows from."""
    for name in ENDPOINTS:
        if environ.get(name):
            return name, environ[name]
    return REGION, f"https://dynamodb.{region}.amazonaws.com"


def _is_root(url: str) -> bool:
    """Tell whether an address is a host and perhaps a port, and nothing else."""
    return re.fullmatch(r"https?://([\w.-]+|\[[\da-fA-F:]+\])(:\d{1,5})?/?", url) is not None
