"""Checks 5 and 6: large responses, and keys in the paths of the API."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from json import dumps, loads
from typing import Any, Final
from urllib.parse import quote, urlencode

from adminview.aws.settings import API_URL_OUTPUT
from adminview.cli.deployment.stacks import API
from adminview.cli.smoke.check import Cleanup, Seen, SmokeCheck, UnknownError, failed, passed
from adminview.cli.smoke.run import SmokeRun
from adminview.cli.smoke.wire import WireResponse
from adminview.http_api.paths import PATTERNS, ROW_BY_QUERY
from adminview.model import Registry
from adminview.model.attribute import PK, SK
from adminview.model.key_condition import BEGINS
from adminview.model.row import DATA, RECONCILED, Attributes, RowKey, key_image, provenance

ROWS: Final = 3
ROW_BYTES: Final = 380_000  # of padding; a row may have 400 KB
LEAST_BYTES: Final = 1024 * 1024
READ_SECONDS: Final = 10.0
OK, UNAUTHORIZED, FORBIDDEN = 200, 401, 403


@dataclass(frozen=True, slots=True)
class ScratchPartition:
    """A partition of the view that only scratch rows are in, and the query that returns it."""

    pattern: str
    parameters: Mapping[str, str]
    pk: str
    sk_prefix: str

    @property
    def query(self) -> str:
        return f"{PATTERNS}/{self.pattern}?{urlencode({**self.parameters, 'limit': str(ROWS)})}"


def scratch_partition(model: Registry, mark: str) -> ScratchPartition | None:
    """Return the partition of an access pattern on the table whose key can contain *mark*."""
    for pattern in model.patterns:
        if pattern.index or pattern.total or pattern.joins:
            continue
        parameters = dict.fromkeys(pattern.required, mark)
        values = list(pattern.condition(**parameters).values.values())
        pk = values[0]["S"]
        sort = pattern.comparisons[1:2]
        begins = [comparison.operator == BEGINS for comparison in sort]
        # One more condition may omit its parameters, so count those that were filled in.
        prefixes = [value["S"] for value in values[1:]]
        if mark in pk and all(begins) and len(prefixes) <= 1:
            return ScratchPartition(pattern.name, parameters, pk, "".join(prefixes))
    return None


def read_megabyte(run: SmokeRun, cleanup: Cleanup) -> Seen:
    """Read rows of more than 1 MB with the direct client, and through the API."""
    partition = scratch_partition(run.model, run.mark)
    if not partition:
        msg = "no access pattern returns several rows of one partition of the table"
        raise UnknownError(msg)
    keys = [(partition.pk, f"{partition.sk_prefix}{run.mark}-{row}") for row in range(ROWS)]
    for key in keys:
        run.put_row(_row(run, key, "x" * ROW_BYTES), cleanup)
    direct = _direct_bytes(run, keys)
    response, _ = run.wait(lambda: _get_rows(run, partition.query), READ_SECONDS)
    response = response or _get(run, partition.query)
    rows = loads(response.body).get("rows", []) if response.status == OK else []
    line = (
        f"the direct client read {direct:,} bytes; the API returned status {response.status} and "
        f"{len(rows)} rows in {len(response.body):,} bytes"
    )
    if direct >= LEAST_BYTES and len(rows) == ROWS and len(response.body) >= LEAST_BYTES:
        return passed(line)
    return failed(line, "read the log of the API function; report it if it names no reason")


def _get_rows(run: SmokeRun, query: str) -> WireResponse | None:
    """Query the API; None as long as it does not return all rows."""
    response = _get(run, query)
    all_rows = response.status == OK and len(loads(response.body).get("rows", [])) == ROWS
    return response if all_rows else None


def _direct_bytes(run: SmokeRun, keys: list[RowKey]) -> int:
    """Read rows with the functions' own client, and return their size."""
    table = run.settings.view_table
    request = {"RequestItems": {table: {"Keys": [key_image(key) for key in keys]}}}
    response = run.wire.direct_client().call("BatchGetItem", dumps(request).encode())
    run.calls["dynamodb:BatchGetItem"] += 1
    return len(dumps(response["Responses"][table]))


def find_by_path(run: SmokeRun, cleanup: Cleanup) -> Seen:
    """Read rows whose keys have characters that a path must escape."""
    wrong, lines = [], []
    for name, key in _keys(run.mark):
        run.put_row(_row(run, key, name), cleanup)
        escaped = "/".join(quote(part, safe="") for part in key)
        query = urlencode({PK.name: key[0], SK.name: key[1]})
        # By query first: when that finds the row, an eventually consistent read has seen it.
        by_query = _await_row(run, f"{ROW_BY_QUERY}?{query}", key)
        by_path = _await_row(run, f"{ROW_BY_QUERY}/{escaped}", key)
        line = f"{name}: by path {_found(by_path, key)}, by query {_found(by_query, key)}"
        lines.append(line)
        if not (_is_found(by_path, key) and _is_found(by_query, key)):
            wrong.append(name)
    words = "; ".join(lines)
    if wrong:
        advice = "report it: until it is fixed, name rows by ?PK=…&SK=… if that returned them"
        return failed(words, advice)
    return passed(words)


def _keys(mark: str) -> Iterator[tuple[str, RowKey]]:
    yield "%23", (f"SMOKE#{mark}", "PATH#1")
    yield "%2F", (f"SMOKE#{mark}", "PATH/1")
    yield "%2523", (f"SMOKE#{mark}", "PATH%231")  # as `key` escapes a # within a part


def _row(run: SmokeRun, key: RowKey, text: str) -> Attributes:
    stamp = provenance(f"smoke/{run.mark}", RECONCILED, run.now(), run.model.fingerprint)
    return {**key_image(key), DATA: {"M": {"text": {"S": text}}}, **stamp}


def _is_found(response: WireResponse, key: RowKey) -> bool:
    try:
        body: Any = loads(response.body)
        return response.status == OK and body["key"] == {PK.name: key[0], SK.name: key[1]}
    except (ValueError, LookupError, TypeError):
        return False


def _found(response: WireResponse, key: RowKey) -> str:
    return "found" if _is_found(response, key) else f"not found (status {response.status})"


def _await_row(run: SmokeRun, path: str, key: RowKey) -> WireResponse:
    """Request a row until it is found: the API's reads are eventually consistent."""
    response, _ = run.wait(
        lambda: next((r for r in [_get(run, path)] if _is_found(r, key)), None), READ_SECONDS
    )
    return response or _get(run, path)


def _get(run: SmokeRun, path: str) -> WireResponse:
    """Send a signed request; raises an UnknownError if the API refuses the credentials."""
    run.calls["execute-api:Invoke"] += 1
    url = run.options.api_url or run.deployment.output(API, API_URL_OUTPUT)
    response = run.wire.get(f"{url.rstrip('/')}{path}")
    if response.status in (UNAUTHORIZED, FORBIDDEN):
        msg = f"the API refused the request: status {response.status}"
        advice = "allow execute-api:Invoke; an API with a JWT issuer cannot be checked"
        raise UnknownError(msg, advice)
    return response


CHECKS: Final = (
    SmokeCheck(
        5,
        "A response of 1 MB arrives",
        "the direct client and the API return more than a megabyte of rows",
        read_megabyte,
        minutes=0.3,
        cents=1,
        only_on_aws=True,
    ),
    SmokeCheck(
        6,
        "The API finds rows whose keys have # and / in them",
        "API Gateway decodes %23, %2F and %2523 in a path exactly once",
        find_by_path,
        minutes=0.2,
        cents=0.1,
        only_on_aws=True,
    ),
)
