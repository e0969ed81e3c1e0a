"""Which way items go: straight to DynamoDB, unless that could differ from what boto3 does.

Straight is the way in Lambda, as it is deployed. Whatever else the environment says to the SDK (a
proxy, certificates, FIPS, a profile, another partition of AWS, somebody's wrapper that watches
botocore) is botocore's to understand, also what will be invented yet: so the names that are known
to mean nothing here are listed, and with any other the boto3 client is used. An operator can ask
for that: `ADMINVIEW_PLAIN_CLIENT=true` in the function's environment.
"""

import re
from collections.abc import Mapping
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


def direct_endpoint(environ: Mapping[str, str]) -> DirectEndpoint | None:
    """Find the straight way that the environment leads to; None where boto3 must be used."""
    told = {name: value for name, value in environ.items() if value}
    seen = TRACING, PLAIN_CLIENT  # by X-Ray, which looks at botocore; by an operator's wish
    if any(told.get(name) == "true" for name in seen) or not _is_plain_lambda(told):
        return None
    if not (ACCESS_KEY in told and SECRET_KEY in told and REGIONS.fullmatch(told.get(REGION, ""))):
        return None
    region = told[REGION]
    named = [told[name] for name in ENDPOINTS if name in told]
    url = named[0] if named else f"https://dynamodb.{region}.amazonaws.com"
    if not _is_root(url):
        return None
    return DirectEndpoint(
        url, region, StaticCredentials(told[ACCESS_KEY], told[SECRET_KEY], told.get(TOKEN))
    )


def _is_plain_lambda(told: Mapping[str, str]) -> bool:
    """Tell whether this is Lambda, and nothing is said to the SDK that is not listed here."""
    files = (Path(told.get("HOME", "/"), ".aws", name) for name in PROFILES)
    said = (
        name.upper() in OTHERS
        or name == WRAPPER
        or (name.startswith("AWS_") and name not in KNOWN and not name.startswith(LAMBDAS_OWN))
        for name in told
    )
    return IN_LAMBDA in told and not any(said) and not any(file.exists() for file in files)


def _is_root(url: str) -> bool:
    """Tell whether an address is a host and perhaps a port, and nothing else."""
    return re.fullmatch(r"https?://([\w.-]+|\[[\da-fA-F:]+\])(:\d{1,5})?/?", url) is not None
