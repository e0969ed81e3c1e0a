"""JSON is written and parsed alike with orjson and without it."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adminview.model import json_codec as spelling
from adminview.model.json_codec import dump_json, parse

texts = st.text(st.characters(exclude_categories=()))  # lone surrogates too
scalars = (
    texts
    | st.booleans()
    | st.none()
    | st.integers(-(2**63), 2**64 - 1)  # DynamoDB JSON has its large numbers as text
    | st.floats(allow_nan=False, allow_infinity=False)
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4)
)


@pytest.fixture(params=["orjson", "Python's own"])
def module(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    assert vars(spelling)["orjson"], "it is installed where this is tested"
    if request.param != "orjson":
        monkeypatch.setattr(spelling, "orjson", None)
    return str(request.param)


@given(value=values)
def test_encoded_json_is_read_back_by_either_codec(value: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        with_it = dump_json(value)
        patch.setattr(spelling, "orjson", None)
        without = dump_json(value)
        assert parse(with_it) == parse(without) == value
    assert parse(with_it) == parse(without) == json.loads(without) == value


@dataclass
class Thing:
    """What orjson would write by itself."""

    a: int = 1


class Text(str):
    """Text of a kind of its own."""

    __slots__ = ()


@pytest.mark.parametrize("value", [b"bytes", object(), {1, 2}, datetime.now(UTC), Thing()])
def test_what_is_no_json_is_refused(value: Any, module: str) -> None:
    assert module
    with pytest.raises(TypeError):
        dump_json({"S": value})


@pytest.mark.parametrize("value", [Text("x"), 10**30, {1: "x"}, {Text("k"): Text("v")}])
def test_what_only_pythons_own_takes_is_taken(value: Any, module: str) -> None:
    assert module
    assert dump_json(value) == json.dumps(value, separators=(",", ":")).encode()


def test_too_deep_is_an_error_that_is_expected(module: str) -> None:
    assert module
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises((TypeError, ValueError, RecursionError)):
        dump_json(deep)


@pytest.mark.parametrize("text", [b"", b"{", b"<html>", b"\xff\xfe{", b'{"a": 1} x'])
def test_what_is_no_json_is_not_read(text: bytes, module: str) -> None:
    assert module
    with pytest.raises(ValueError, match=r".*"):
        parse(text)
