"""The API's routes: what they return, and which requests they refuse."""

from typing import Any
from urllib.parse import quote

import pytest
from botocore.exceptions import ClientError

from adminview.http_api.handlers import HEADERS
from adminview.http_api.request import MOST_PARAMETERS
from adminview.model.errors import QueryError
from tests.support.api_client import Client
from tests.support.query_table import Lab, make_registry


def stocked() -> Lab:
    lab = Lab(make_registry(3))
    for number in range(7):
        lab.put(f"t{number}", "red", number)
    return lab


def client() -> Client:
    return Client(stocked().query_engine)


def keyed(*keys: tuple[str, str]) -> Client:
    """Query a table that holds rows of these keys."""
    lab = stocked()
    row = lab.table.rows["THING#t0", "DETAILS"]
    for pk, sk in keys:
        lab.table.rows[pk, sk] = row | {"PK": {"S": pk}, "SK": {"S": sk}}
    return Client(lab.query_engine)


def test_the_catalogue_lists_the_parameters_of_each_access_pattern() -> None:
    catalogue = client().get("/patterns")
    assert catalogue["model"] == "model-1"
    assert catalogue["patterns"][0] == {
        "name": "heavy",
        "about": "",
        "parameters": [
            {
                "name": "colour",
                "type": "string",
                "required": True,
                "hint": None,
                "condition": "colour = {colour}",
            },
            {
                "name": "least",
                "type": "number",
                "required": True,
                "hint": None,
                "condition": "weight >= {least}",
            },
        ],
        "conditions": ["colour = {colour}", "weight >= {least}"],
        "shows": ["data"],
        "joins": [],
        "total": None,
        "ranked": False,
        "group": [],
        "sums": [],
        "rankedBy": None,
        "index": "ByColour",
        "order": "asc",
        "consistent": False,
        "ready": True,
    }


def test_a_query_returns_rows_and_hides_shards() -> None:
    page = client().get("/patterns/heavy?colour=red&least=5&order=desc")
    assert page == {
        "pattern": "heavy",
        "rows": [
            {
                "key": {"PK": f"THING#t{number}", "SK": "DETAILS"},
                "data": {"id": f"t{number}"},
                "index": {"colour": "red", "weight": number},
                "joined": {},
            }
            for number in (6, 5)
        ],
        "cursor": None,
    }


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 100])
def test_following_the_cursors_gives_every_row_once(limit: int) -> None:
    requested, ids, cursor = client(), [], ""
    while True:
        page = requested.get(f"/patterns/of-colour?colour=red&limit={limit}{cursor}")
        assert len(page["rows"]) <= limit
        ids += [row["data"]["id"] for row in page["rows"]]
        if page["cursor"] is None:
            break
        cursor = f"&cursor={quote(page['cursor'])}"
    assert ids == [f"t{number}" for number in range(7)]


def test_rows_are_counted() -> None:
    assert client().get("/patterns/heavy/count?colour=red&least=2") == {
        "pattern": "heavy",
        "count": 5,
    }


WRONG = {
    "colour=red&least=x": "access pattern 'heavy': least must be a number",
    "colour=red": "access pattern 'heavy' takes (colour, least); least is missing",
    "colour=red&least=1&x=1": "access pattern 'heavy' takes (colour, least); x is unknown",
    "colour=red&least=1&self=1": "access pattern 'heavy' takes (colour, least); self is unknown",
    "colour=red&colour=red&least=1": "'colour' is given 2 times; give it once",
    "colour=&least=1": "'colour' is empty",
    "colour&least=1": "'colour' is empty",
    f"colour={'a' * 2049}&least=1": "'colour' has 2049 bytes; the limit is 2048",
    f"colour={'%C3%A4' * 1025}&least=1": "'colour' has 2050 bytes; the limit is 2048",
    "colour=%FF&least=1": "the query string is not percent-encoded UTF-8",
    "&".join(f"p{number}=1" for number in range(MOST_PARAMETERS + 1)): (
        f"there are more than {MOST_PARAMETERS} parameters"
    ),
}
PAGES = {
    "limit=0": "access pattern 'heavy': limit must be a whole number from 1 to 1000",
    "limit=1001": "access pattern 'heavy': limit must be a whole number from 1 to 1000",
    "limit=%2B5": "access pattern 'heavy': limit must be a whole number from 1 to 1000",
    "limit=%D9%A3": "access pattern 'heavy': limit must be a whole number from 1 to 1000",
    f"limit={'9' * 2000}": "access pattern 'heavy': limit must be a whole number from 1 to 1000",
    "order=up": "access pattern 'heavy': order must be asc or desc",
    "cursor=AAAA": "access pattern 'heavy': the cursor was truncated or changed",
    f"cursor={'A' * 16001}": "'cursor' has 16001 bytes; the limit is 16000",
}


@pytest.mark.parametrize(("query", "words"), WRONG.items())
@pytest.mark.parametrize("route", ["/patterns/heavy", "/patterns/heavy/count"])
def test_wrong_parameters_are_refused_by_name(route: str, query: str, words: str) -> None:
    refused = client().send(f"{route}?{query}")
    assert (refused.status, refused.detail) == (400, words)


@pytest.mark.parametrize(("query", "words"), PAGES.items())
def test_a_wrong_page_is_refused_in_the_librarys_words(query: str, words: str) -> None:
    refused = client().send(f"/patterns/heavy?colour=red&least=1&{query}")
    assert (refused.status, refused.detail) == (400, words)


def test_a_cursor_of_another_access_pattern_is_rejected_as_the_library_does() -> None:
    requested = client()
    cursor = requested.get("/patterns/of-colour?colour=red&limit=1")["cursor"]
    with pytest.raises(QueryError) as caught:
        requested.query_engine.page("of-colour", colour="blue", cursor=cursor)
    refused = requested.send(f"/patterns/of-colour?colour=blue&cursor={cursor}")
    assert (refused.status, refused.detail) == (400, str(caught.value))


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("/patterns/nope?x=1", "no access pattern is named 'nope'; declared are heavy, of-colour"),
        ("/patterns/nope/count", "no access pattern is named 'nope'; declared are"),
        ("/nope", "no such path; the API has /patterns, /patterns/{name},"),
        ("/patterns/", "no such path"),
        ("/patterns/heavy/count/x", "no such path"),
        ("/rows/THING%23t0", "there is no row with this key"),
        ("/rows/THING%23t0/NOPE", "there is no row with this key"),
        (f"/rows/{'a' * 2049}/{'b' * 1025}", "there is no row with this key"),
        ("/rows?PK=a&SK=b", "there is no row with this key"),
    ],
)
def test_what_is_not_there_is_not_found(target: str, words: str) -> None:
    refused = client().send(target)
    assert refused.status == 404
    assert refused.detail.startswith(words)


def test_only_a_local_server_has_a_page_at_the_root() -> None:
    assert client().gateway.query("GET", "/", {})["statusCode"] == 404
    assert client().send("/").status == 200


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "POST", "PUT", "DELETE", "PATCH"])
@pytest.mark.parametrize("route", ["/patterns", "/patterns/heavy", "/rows/a/b", "/health"])
def test_other_methods_are_not_allowed(route: str, method: str) -> None:
    refused = client().send(route, method)
    assert (refused.status, refused.headers["Allow"]) == (405, "GET")
    assert client().send("/nope", method).status == 404


@pytest.mark.parametrize(
    "target",
    ["/patterns", "/health", "/openapi.json", "/rows/a/b", "/nope", "/patterns/heavy?x=1"],
)
def test_every_answer_carries_the_security_headers(target: str) -> None:
    assert client().send(target).headers.items() >= HEADERS.items()
    assert HEADERS["Cache-Control"] == "no-store"


@pytest.mark.parametrize("route", ["/patterns", "/health", "/openapi.json", "/rows/a/b"])
def test_a_route_without_parameters_takes_none(route: str) -> None:
    refused = client().send(f"{route}?x=1")
    assert (refused.status, refused.detail) == (400, "'x' is unknown; known: no parameters")


KEYS = [
    ("USER#user-123", "ORDER#2025-03-01#2121195"),
    ("a/b", "c"),
    ("a", "b/c/d"),
    ("100%", "%23"),
    ("a b+c", "ä|臺\n\t\\\"'?&="),
]


@pytest.mark.parametrize("key", KEYS)
def test_a_row_is_found_by_its_percent_encoded_key_with_its_provenance(
    key: tuple[str, str],
) -> None:
    requested = keyed(key)
    requested.query_engine.reader._reader._client.rows[key] |= {  # type: ignore[attr-defined]  # a fake
        "_owner": {"S": "Things/t0"},
        "_seq": {"S": "123456789012345678901"},
        "_at": {"N": "1740819600"},
        "_model": {"S": "abc"},
    }
    pk, sk = (quote(part, safe="") for part in key)
    row = requested.get(f"/rows/{pk}/{sk}")
    assert row == requested.get(f"/rows?PK={pk}&SK={sk}")
    assert row["key"] == {"PK": key[0], "SK": key[1]}
    assert row["provenance"] == {
        "owner": "Things/t0",
        "sequence": "123456789012345678901",
        "time": "2025-03-01T09:00:00Z",
        "model": "abc",
    }


def test_a_path_that_means_two_rows_is_answered_with_how_to_say_which() -> None:
    requested = keyed(("a/b", "c"), ("a", "b/c"))
    refused = requested.send("/rows/a%2Fb/c")
    assert refused.status == 409
    assert refused.detail.startswith("this path matches 2 rows; /rows?PK=")
    assert requested.get("/rows?PK=a/b&SK=c")["key"] == {"PK": "a/b", "SK": "c"}


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("", "PK is missing, SK is missing"),
        ("PK=a", "SK is missing"),
        ("PK=a&SK=", "'SK' is empty"),
    ],
)
def test_a_row_is_asked_for_by_both_halves_of_its_key(query: str, words: str) -> None:
    refused = client().send(f"/rows?{query}")
    assert (refused.status, refused.detail) == (400, words)


class Refusing:
    """A table that answers with one error."""

    def __init__(self, code: str) -> None:
        self.code = code

    def query(self, **_: Any) -> dict[str, Any]:
        raise ClientError({"Error": {"Code": self.code, "Message": "USER#ada"}}, "Query")

    batch_get_item = query


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("AccessDeniedException", 502),
        ("ResourceNotFoundException", 502),
        ("ValidationException", 400),
    ],
)
def test_a_refusal_of_aws_is_reported_without_its_text(code: str, status: int) -> None:
    requested = client()
    requested.query_engine.reader._reader = Refusing(code)
    refused = requested.send("/patterns/of-colour?colour=red")
    assert refused.status == status
    assert "ada" not in refused.text
    assert code not in refused.text
    assert ("request failed" in requested.log.getvalue()) == (status >= 500)
    assert (code in requested.log.getvalue()) == (status >= 500)
    assert "ada" not in requested.log.getvalue()


def test_throttling_is_answered_with_when_to_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adminview.query.engine.SECONDS", 0.01)
    requested = client()
    requested.query_engine.reader._reader = Refusing("ThrottlingException")
    refused = requested.send("/patterns/of-colour?colour=red")
    assert (refused.status, refused.headers["Retry-After"]) == (503, "5")
    assert refused.detail == "the view cannot be read at the moment; try again later"


def test_an_unexpected_error_is_logged_by_place_and_returned_without_internals() -> None:
    requested = client()
    requested.query_engine.reader._reader = None  # type: ignore[assignment]
    refused = requested.send("/patterns/of-colour?colour=red")
    assert (refused.status, refused.detail) == (
        500,
        "the request failed; see the function's log",
    )
    assert "AttributeError" in requested.log.getvalue()
    assert "view_reader.py" in requested.log.getvalue()
    assert "red" not in requested.log.getvalue()
