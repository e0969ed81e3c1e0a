"""Both writers send the same requests, and the environment decides which one is used."""

import json
import os
from base64 import b64encode
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from botocore.loaders import Loader
from botocore.regions import EndpointResolver
from botocore.serialize import create_serializer
from hypothesis import given
from hypothesis import strategies as st

from adminview import runtime as runtimes
from adminview.aws import clients
from adminview.aws.batch_writers import Boto3BatchWriter, HttpBatchWriter, body
from adminview.aws.concurrency import batched
from adminview.aws.deadline import Deadline
from adminview.aws.transport.eligibility import (
    DirectEndpoint,
    StaticCredentials,
    deployed_fallback,
    direct_endpoint,
    fallback,
)
from adminview.aws.view_reader import Boto3Reader, HttpReader
from adminview.aws.view_table import RetryQueue, ViewTable, WriteOutcome
from adminview.handlers.api import api
from adminview.sync.fold import Write
from tests.support.dynamodb_writers import make_http_client as way_to
from tests.support.dynamodb_writers import session
from tests.support.fakes import TABLE, a_put, a_write
from tests.support.faulty_server import Faulty

texts = st.text(st.characters(exclude_categories=()))  # lone surrogates too
numbers = st.decimals(allow_nan=False, allow_infinity=False).map(str)
blobs = st.binary().map(lambda blob: b64encode(blob).decode())
scalars = st.one_of(
    st.builds(lambda text: {"S": text}, texts),
    st.builds(lambda text: {"N": text}, numbers),
    st.builds(lambda text: {"B": text}, blobs),
    st.builds(lambda flag: {"BOOL": flag}, st.booleans()),
    st.just({"NULL": True}),
    st.builds(lambda strings: {"SS": strings}, st.lists(texts, min_size=1)),
    st.builds(lambda strings: {"NS": strings}, st.lists(numbers, min_size=1)),
    st.builds(lambda strings: {"BS": strings}, st.lists(blobs, min_size=1)),
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.builds(lambda members: {"M": members}, st.dictionaries(texts, inner, max_size=4)),
        st.builds(lambda elements: {"L": elements}, st.lists(inner, max_size=4)),
    ),
    max_leaves=10,
)


@st.composite
def some_writes(draw: st.DrawFn) -> list[Write]:
    keys = draw(st.lists(st.tuples(texts, texts), min_size=1, max_size=6, unique=True))
    return [draw(some_write(key, place)) for place, key in enumerate(keys)]


@st.composite
def some_write(draw: st.DrawFn, key: tuple[str, str], place: int) -> Write:
    more = draw(st.none() | st.dictionaries(texts, values, max_size=4))
    pk, sk = key
    row = None if more is None else {**more, "PK": {"S": pk}, "SK": {"S": sk}}
    return a_write(key, row, place)


NOTHING_LEFT: Any = {"UnprocessedItems": {}}


class Recorded:
    """A client that sends nothing, and spells its calls as botocore does."""

    def __init__(self, left: Any = None) -> None:
        self.left = left
        model = session()._session.get_service_model("dynamodb")
        self._operation = model.operation_model("BatchWriteItem")
        self.bodies: list[Any] = []

    def batch_write_item(self, **request: Any) -> Any:
        encoded = create_serializer("json").serialize_to_request(request, self._operation)
        self.bodies.append(json.loads(encoded["body"]))
        return {"UnprocessedItems": self.left or {}}


class Answering:
    """A direct client that sends nothing."""

    def __init__(self, left: Any = None) -> None:
        self.left = left
        self.bodies: list[Any] = []

    def calls(self, operation: str, bodies: Iterable[bytes], *_: object) -> Iterator[Any]:
        assert operation == "BatchWriteItem"
        for text in bodies:
            self.bodies.append(json.loads(text))
            yield {"UnprocessedItems": self.left or {}}


@given(some_writes())
def test_both_ways_send_the_same(writes: list[Write]) -> None:
    plain, direct = Recorded(), Answering()
    calls, deadline = [*batched(writes, 2)], Deadline.after(60)
    assert Boto3BatchWriter(cast("Any", plain)).send(TABLE, calls, deadline) == [
        NOTHING_LEFT
    ] * len(calls)
    assert HttpBatchWriter(cast("Any", direct)).send(TABLE, calls, deadline) == [
        NOTHING_LEFT
    ] * len(calls)
    assert sorted(map(repr, plain.bodies)) == sorted(map(repr, direct.bodies))


@given(some_writes(), st.data())
def test_both_ways_understand_what_is_left(writes: list[Write], data: st.DataObject) -> None:
    sent = json.loads(body(TABLE, writes))["RequestItems"][TABLE]
    places = data.draw(st.lists(st.sampled_from(range(len(writes))), unique=True))
    left = data.draw(st.sampled_from([{TABLE: [sent[place] for place in places]}, {}]))
    expected = {writes[place].key for place in places} if left else set()
    for writer in (
        Boto3BatchWriter(cast("Any", Recorded(left))),
        HttpBatchWriter(cast("Any", Answering(left))),
    ):
        (response,) = writer.send(TABLE, [writes], Deadline.after(60))
        outcome, again = WriteOutcome(), RetryQueue()
        ViewTable(writer, TABLE)._succeed(writes, cast("Any", response), outcome, again)
        assert {write.key for write in again.later} == expected
        assert len(again.later) + outcome.written == len(writes)


def test_values_that_are_already_encoded_are_sent_unchanged() -> None:
    row = b'{"PK": {"S": "P"},  "SK": {"S": "\\u00e9"}}'
    assert row in body(TABLE, [Write(("P", "é"), "o", row, 0, 0)])


def test_past_its_deadline_no_call_is_begun_either_way() -> None:
    over, calls = Deadline.after(-1), [[a_put(0)], [a_put(1)]]
    recorded = Recorded()
    assert Boto3BatchWriter(cast("Any", recorded)).send(TABLE, calls, over) == [None, None]
    assert recorded.bodies == []
    with Faulty() as server:
        assert HttpBatchWriter(way_to(server.url)).send(TABLE, calls, over) == [None, None]
        assert server.connections == 0


LAMBDA = {
    "AWS_LAMBDA_FUNCTION_NAME": "sync",
    "AWS_LAMBDA_RUNTIME_API": "127.0.0.1:9001",
    "AWS_XRAY_CONTEXT_MISSING": "LOG_ERROR",
    "AWS_EXECUTION_ENV": "AWS_Lambda_python3.13",
    "AWS_REGION": "eu-west-1",
    "AWS_DEFAULT_REGION": "eu-west-1",
    "AWS_ACCESS_KEY_ID": "access",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_SESSION_TOKEN": "token",
    "HTTPS_PROXY": "",
    "PATH": "/usr/bin",
}


def test_in_lambda_the_way_is_straight() -> None:
    assert direct_endpoint(LAMBDA) == DirectEndpoint(
        "https://dynamodb.eu-west-1.amazonaws.com",
        "eu-west-1",
        StaticCredentials("access", "secret", "token"),
    )


@pytest.mark.parametrize(
    "environ",
    [
        {"AWS_LAMBDA_FUNCTION_NAME": ""},
        {"AWS_LAMBDA_EXEC_WRAPPER": "/opt/watch"},
        {"ADMINVIEW_PLAIN_CLIENT": "true"},
        {"AWS_USE_FIPS_ENDPOINT": "true"},
        {"AWS_USE_DUALSTACK_ENDPOINT": "true"},
        {"AWS_PROFILE": "mine"},
        {"AWS_CONFIG_FILE": "/tmp/config"},  # noqa: S108 - a name
        {"AWS_CA_BUNDLE": "/opt/bundle.pem"},
        {"REQUESTS_CA_BUNDLE": "/opt/bundle.pem"},
        {"HTTPS_PROXY": "http://proxy"},
        {"https_proxy": "http://proxy"},
        {"AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true"},
        {"AWS_ACCOUNT_ID_ENDPOINT_MODE": "required"},
        {"AWS_SOMETHING_NEW": "1"},
        {"AWS_DEFAULT_REGION": "cn-north-1"},
        {"AWS_DEFAULT_REGION": ""},
        {"AWS_SECRET_ACCESS_KEY": ""},
        {"AWS_ENDPOINT_URL": "http://127.0.0.1:4566/path"},
        {"AWS_ENDPOINT_URL": "http://me:secret@127.0.0.1:4566"},
        {"AWS_ENDPOINT_URL": "nonsense"},
    ],
)
def test_what_only_botocore_understands_is_left_to_it(environ: dict[str, str]) -> None:
    assert direct_endpoint(LAMBDA | environ) is None
    reason = fallback(LAMBDA | environ)
    ((setting, value),) = environ.items()
    assert reason
    assert reason.setting == setting
    assert not value or value == "1" or value not in str(reason)


def test_a_deployed_function_is_judged_by_its_variables_as_in_lambda(tmp_path: Path) -> None:
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "config").touch()  # of whoever runs the doctor
    assert deployed_fallback({"HOME": str(tmp_path), "MORE": "x"}, "eu-west-1") is None
    for environ in ({"HTTPS_PROXY": "http://proxy"}, {"AWS_ENDPOINT_URL": "nonsense"}):
        assert deployed_fallback(environ, "eu-west-1") == fallback(LAMBDA | environ)
    in_china = deployed_fallback({}, "cn-north-1")
    assert in_china
    assert in_china.setting == "AWS_DEFAULT_REGION"


@pytest.mark.parametrize(
    ("environ", "setting"),
    [
        ({}, None),
        ({"ADMINVIEW_PLAIN_CLIENT": "true"}, "ADMINVIEW_PLAIN_CLIENT"),
        ({"HTTPS_PROXY": "http://user:password@proxy"}, "HTTPS_PROXY"),
        ({"AWS_LAMBDA_FUNCTION_NAME": ""}, None),  # local: nobody expects the direct client
    ],
)
def test_a_function_that_falls_back_to_boto3_logs_once_which_setting_is_the_reason(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    environ: dict[str, str],
    setting: str | None,
) -> None:
    monkeypatch.setattr(os, "environ", {**LAMBDA, **environ})
    clients._log_fallback.cache_clear()
    for _ in range(3):
        clients.find_endpoint()
        clients.Clients()
    lines = [vars(line) for line in caplog.records]
    assert [line["reason"] for line in lines] == ([f"{setting} is set"] if setting else [])
    assert "password" not in str(lines)


@pytest.mark.parametrize(
    "name",
    [
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",  # SnapStart
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AWS_CREDENTIAL_EXPIRATION",
    ],
)
def test_credentials_that_must_be_renewed_are_left_to_botocore(name: str) -> None:
    """The direct client signs with the credentials it was created with."""
    assert direct_endpoint(LAMBDA | {name: "x"}) is None


@pytest.mark.parametrize("name", ["config", "credentials"])
def test_profiles_that_an_image_carries_are_left_to_botocore(name: str, tmp_path: Path) -> None:
    at_home = LAMBDA | {"HOME": str(tmp_path)}
    assert direct_endpoint(at_home)
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / name).touch()
    assert direct_endpoint(at_home) is None


def test_what_x_ray_must_see_goes_through_boto3() -> None:
    assert direct_endpoint(LAMBDA | {"ADMINVIEW_TRACING": "true"}) is None


@pytest.mark.parametrize("url", ["http://127.0.0.1:8000", "https://[::1]:1/", "http://localhost"])
def test_an_endpoint_may_be_named(url: str) -> None:
    endpoint = direct_endpoint(LAMBDA | {"AWS_ENDPOINT_URL": url})
    assert endpoint
    assert endpoint.url == url
    both = {"AWS_ENDPOINT_URL": "http://other", "AWS_ENDPOINT_URL_DYNAMODB": url}
    assert direct_endpoint(LAMBDA | both) == endpoint


def test_dynamodb_is_where_botocore_finds_it_in_every_region_of_every_partition() -> None:
    resolver = EndpointResolver(Loader().load_data("endpoints"))
    straightly = 0
    for partition in session().get_available_partitions():
        for region in session().get_available_regions("dynamodb", partition):
            endpoint = direct_endpoint(LAMBDA | {"AWS_DEFAULT_REGION": region})
            if endpoint:
                straightly += 1
                expected: Any = resolver.construct_endpoint("dynamodb", region)
                assert endpoint.url == f"https://{expected['hostname']}"
    assert straightly > 20


def test_functions_take_the_way_that_their_environment_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reported = {
        "ADMINVIEW_TABLE": TABLE,
        "ADMINVIEW_DEAD_LETTER_QUEUE_URL": "https://queue",
        "ADMINVIEW_SOURCES": "{}",
        "ADMINVIEW_MODEL": "abc",
    }
    monkeypatch.setattr(os, "environ", {**LAMBDA, **reported})  # and nothing of this machine's
    makers: list[Any] = []
    monkeypatch.setattr(
        "adminview.aws.boto3_clients.dynamodb_client", lambda: makers.append("boto3")
    )
    for plain, writer, reader in (
        ("false", HttpBatchWriter, HttpReader),
        ("true", Boto3BatchWriter, Boto3Reader),
    ):
        os.environ["ADMINVIEW_PLAIN_CLIENT"] = plain
        for cached in (runtimes.runtime, api):
            cached.cache_clear()
        assert isinstance(runtimes.runtime().view._writer, writer)
        assert isinstance(api().engine.reader._reader, reader)
    for cached in (runtimes.runtime, api):
        cached.cache_clear()
    assert makers == ["boto3", "boto3"]
