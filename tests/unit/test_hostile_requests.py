"""A forged cursor or request gets a page or a 400, at once: never a 500, and never a long wait."""

import json
import re
from base64 import urlsafe_b64encode
from decimal import Decimal
from time import process_time
from typing import Any
from urllib.parse import quote
from zlib import compress

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from adminview.cli.commands.item import key_of
from adminview.cli.output.tables import plain
from adminview.http_api.render import plain as rendered
from adminview.local.http_server import event
from adminview.model import Item, Source, number
from adminview.model.errors import QueryError, RowError
from adminview.model.item import normalize_number, number_text
from adminview.query.cursor import VERSION, _checksum
from adminview.reconcile.equality import equivalent
from tests.support.api_client import Client
from tests.support.query_table import Lab, make_registry

# Of processor time: far more than a request takes, and far less than expanding 1E+999999999 takes.
SECONDS = 1.0
HUGE = [
    "1E+999999999",
    "-1E+999999999",
    "1E-999999999",
    "1E+126",
    "1E-131",
    "9" * 39,
    "NaN",
    "-Inf",
]

LAB = Lab(make_registry(3))
for weight in range(9):
    LAB.put(f"t{weight}", "red", weight)
CLIENT = Client(LAB.query_engine)


def forge(body: bytes) -> str:
    """Write a cursor as the API does, around any body: its marks are no secret."""
    binding = LAB.query_engine.prepare("of-colour", {"colour": "red"}).binding
    whole = bytes([VERSION]) + binding.digest + body
    return urlsafe_b64encode(_checksum(whole) + whole).decode().rstrip("=")


def forge_json(content: Any) -> str:
    return forge(compress(json.dumps(content).encode()))


def status_of(cursor: str) -> int:
    """Query with a cursor; fail if it takes long, or is neither a page nor a problem."""
    begun = process_time()
    answered = CLIENT.send(f"/patterns/of-colour?colour=red&limit=3&cursor={quote(cursor)}")
    assert process_time() - begun < SECONDS
    assert answered.status in {200, 400}, answered.text
    assert answered.status == 200 or answered.detail
    return answered.status


@pytest.mark.parametrize("value", HUGE)
def test_a_cursor_with_a_number_out_of_range_is_refused_at_once(value: str) -> None:
    key = [value, "p", "s"]
    assert status_of(forge_json([[key, None, None], None])) == 400
    assert status_of(forge_json([[None, None, None], key])) == 400


@pytest.mark.parametrize("value", ["0", "-1E+125", "1E-130", "9" * 38, "0E+999999999"])
def test_a_cursor_with_a_number_that_a_key_can_have_gives_a_page(value: str) -> None:
    assert status_of(forge_json([[None, None, None], [value, "p", "s"]])) == 200


@pytest.mark.parametrize(
    "value", [[], 0, "", {}, False, True, 1, "x", [[]], {"a": 1, "b": 2, "c": 3}]
)
def test_a_position_that_is_neither_null_nor_a_key_is_refused(value: Any) -> None:
    assert status_of(forge_json([[None, None, None], value])) == 400
    assert status_of(forge_json([[value, None, None], None])) == 400
    assert status_of(forge_json([value, None])) == 400


texts = st.text(st.characters(exclude_categories=()))  # lone surrogates too
numbers = st.sampled_from(HUGE) | st.builds("{}E{}".format, st.integers(), st.integers())
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts | numbers,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=8,
)
keys = st.none() | st.tuples(numbers, texts, texts) | values
places = st.tuples(st.lists(keys, max_size=4) | values, keys)
shaped = st.tuples(st.lists(keys, min_size=3, max_size=3), keys)


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(codec="utf-8")) | (st.binary() | st.binary().map(compress)).map(forge))
@example(forge(compress(b"[" * 100_000)))
@example(forge(compress(b"9" * 150_000)))
@example(forge(compress(b" " * 10_000_000)))
def test_any_text_as_a_cursor_gives_a_page_or_a_400(cursor: str) -> None:
    if cursor:
        status_of(cursor)


@settings(max_examples=300, deadline=None)
@given(shaped | places | values)
def test_any_json_in_a_cursor_gives_a_page_or_a_400(content: Any) -> None:
    status_of(forge_json(content))


@pytest.mark.parametrize("value", HUGE)
def test_a_number_parameter_out_of_range_is_refused_at_once(value: str) -> None:
    begun = process_time()
    for path in ("/patterns/heavy", "/patterns/heavy/count"):
        answered = CLIENT.send(f"{path}?colour=red&least={quote(value)}")
        assert answered.status == 400
        assert re.search(
            "least must be a number|a number is outside|significant digits", answered.detail
        )
    assert process_time() - begun < SECONDS


@settings(max_examples=200, deadline=None)
@given(numbers | texts.filter(bool))
def test_any_number_parameter_gives_rows_or_a_400(value: str) -> None:
    escaped = quote(value, errors="surrogatepass")
    begun = process_time()
    assert CLIENT.send(f"/patterns/heavy?colour=red&least={escaped}").status in {200, 400}
    assert process_time() - begun < SECONDS


def answer(query: Any, path: str = "/patterns") -> dict[str, Any]:
    """Call the function itself, with any query string; ... stands for an event without one."""
    requested = event("GET", path, {}) | {"rawQueryString": query}
    if query is ...:
        del requested["rawQueryString"]
    return CLIENT.gateway.api(requested, None)


@pytest.mark.parametrize("query", ["colour=\ud800", "\udfff=red", "colour=red&limit=\ud800"])
@pytest.mark.parametrize("path", ["/patterns", "/patterns/of-colour", "/rows"])
def test_a_lone_surrogate_in_a_query_is_a_400(query: str, path: str) -> None:
    answered = answer(query, path)
    assert answered["statusCode"] == 400
    assert "not percent-encoded UTF-8" in json.loads(answered["body"])["detail"]


def test_a_lone_surrogate_in_a_path_names_no_row_and_no_pattern() -> None:
    for path in ("/rows/\ud800/x", "/rows/x/\udfff", "/patterns/\ud800", "/\ud800"):
        answered = answer("", path)
        assert answered["statusCode"] == 404
        answered["body"].encode()


@pytest.mark.parametrize("query", [..., None, ""])
def test_an_event_without_a_query_string_is_as_one_with_an_empty_one(query: Any) -> None:
    assert answer(query)["statusCode"] == 200
    refused = answer(query, "/patterns/of-colour")
    assert refused["statusCode"] == 400
    assert "colour is missing" in json.loads(refused["body"])["detail"]


@pytest.mark.parametrize("value", [value for value in HUGE if value != "9" * 39])
def test_no_number_out_of_range_is_written_without_its_exponent(value: str) -> None:
    begun = process_time()
    for write in (normalize_number, number_text):
        with pytest.raises(RowError):
            write(Decimal(value))
    with pytest.raises(QueryError, match="not a number that DynamoDB can store"):
        key_of(Source("Readings", partition_key=number("at")), [value])
    assert not equivalent({"a": {"N": value}}, {"a": {"N": "1"}})
    assert len(str(plain(Item({"a": {"N": value}})))) < 100
    assert len(str(rendered({"N": value}))) < 100
    assert process_time() - begun < SECONDS


def test_a_zero_is_written_without_its_exponent() -> None:
    assert number_text(Decimal("0E+999999999")) == normalize_number(Decimal("-0E-999999999")) == "0"
