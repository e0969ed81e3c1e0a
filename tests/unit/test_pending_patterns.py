"""An access pattern that is not ready is rejected, or served by an older index."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, cast
from urllib.parse import quote

import pytest

from adminview.aws.settings import PendingPatterns
from adminview.aws.view_reader import Boto3Reader, ViewReader
from adminview.model.errors import PatternNotReadyError, QueryError, SettingsError
from adminview.query.engine import QueryEngine
from tests.support.api_client import Client
from tests.support.fakes import NO_WAIT
from tests.support.query_table import FakeTable, Lab, make_registry

OLD, NEW = make_registry(), make_registry(index="ByColourAndMore")
IDS = [f"t{place}" for place in range(7)]
RED: dict[str, Any] = {"colour": "red", "limit": 3}


@dataclass
class NotingTable(FakeTable):
    """A table that notes which indexes it is asked for."""

    requests: list[str | None] = field(default_factory=list)

    def query(self, **request: Any) -> dict[str, Any]:
        self.requests.append(request.get("IndexName"))
        return super().query(**request)


@pytest.fixture
def table() -> NotingTable:
    """Begin with seven red things, in the older index and in the newer one."""
    lab = Lab(OLD)
    for place, id_ in enumerate(IDS):
        lab.put(id_, "red", place)
    both = replace(OLD, indexes=(*OLD.indexes, *NEW.indexes))
    return NotingTable(both, lab.table.rows)


@pytest.fixture
def old(table: NotingTable) -> QueryEngine:
    """Query as before the change."""
    return QueryEngine(OLD, ViewReader(Boto3Reader(cast("Any", table)), "Table", NO_WAIT))


@pytest.fixture
def new(old: QueryEngine) -> QueryEngine:
    """Query as after it, when all is switched on."""
    return replace(old, registry=NEW)


def ids(answered: Any) -> list[str]:
    return [result.row["data"]["M"]["id"]["S"] for result in answered]


def test_a_pending_pattern_is_rejected_however_it_is_queried(
    new: QueryEngine, table: NotingTable
) -> None:
    query_engine = replace(new, pending={"of-colour": None})
    ways: list[Callable[[], Any]] = [
        lambda: query_engine.page("of-colour", **RED),
        lambda: list(query_engine.rows("of-colour", **RED)),
        lambda: query_engine.count("of-colour", colour="red"),
    ]
    for run_query in ways:
        with pytest.raises(PatternNotReadyError) as caught:
            run_query()
        assert str(caught.value) == (
            "access pattern 'of-colour' is not ready: its rows are still being backfilled; "
            "`adminview doctor` shows whether a backfill is running"
        )
    assert table.requests == []
    assert query_engine.count("heavy", colour="red", least=2) == 5, "the others are answered"


def test_a_wrong_query_of_a_pending_pattern_is_reported_as_wrong(new: QueryEngine) -> None:
    query_engine = replace(new, pending={"of-colour": None})
    with pytest.raises(QueryError, match="colour is missing"):
        query_engine.count("of-colour")


def test_a_pattern_with_a_fallback_index_is_queried_there(
    new: QueryEngine, table: NotingTable
) -> None:
    query_engine = replace(new, pending={"of-colour": "ByColour"})
    assert ids(query_engine.rows("of-colour", **RED)) == IDS
    assert query_engine.count("of-colour", colour="red") == len(IDS)
    assert set(table.requests) == {"ByColour"}
    table.requests.clear()
    assert query_engine.count("heavy", colour="red", least=2) == 5
    assert table.requests == ["ByColourAndMore"], "the others are asked as they are declared"


def test_a_cursor_is_valid_as_long_as_its_index_is_queried(
    old: QueryEngine, new: QueryEngine
) -> None:
    """Turn a page before the change, while it is under way, and after it."""
    first = old.page("of-colour", **RED)
    meanwhile = replace(new, pending={"of-colour": "ByColour"})
    second = meanwhile.page("of-colour", cursor=first.cursor, **RED)
    assert ids(first.rows) + ids(second.rows) == IDS[:6]
    with pytest.raises(QueryError, match="has moved to another index; start again"):
        new.page("of-colour", cursor=second.cursor, **RED)
    assert ids(new.rows("of-colour", **RED)) == IDS
    assert ids(old.page("of-colour", cursor=second.cursor, **RED).rows) == IDS[6:], "and back"


def test_an_unknown_pattern_name_is_ignored(new: QueryEngine) -> None:
    query_engine = replace(new, pending={"of-another-model": None})
    assert ids(query_engine.rows("of-colour", **RED)) == IDS


@pytest.fixture
def client(new: QueryEngine) -> Client:
    """Query over HTTP, while one access pattern is not ready and another moves."""
    return Client(replace(new, pending={"of-colour": None, "heavy": "ByColour"}))


@pytest.mark.parametrize("route", ["/patterns/of-colour", "/patterns/of-colour/count"])
def test_the_api_responds_503_and_when_to_retry(client: Client, route: str) -> None:
    refused = client.send(f"{route}?colour=red")
    assert (refused.status, refused.headers["Retry-After"]) == (503, "60")
    assert refused.json["title"] == "not ready"
    assert refused.detail.startswith("access pattern 'of-colour' is not ready")
    assert client.log.getvalue() == "", "nothing is wrong"
    assert client.send(f"{route}?color=red").status == 400


def test_the_catalogue_marks_pending_patterns_and_names_the_queried_index(client: Client) -> None:
    patterns = {pattern["name"]: pattern for pattern in client.get("/patterns")["patterns"]}
    assert {name: pattern["ready"] for name, pattern in patterns.items()} == {
        "heavy": True,
        "of-colour": False,
    }
    assert patterns["heavy"]["index"] == "ByColour"
    assert patterns["of-colour"]["index"] == "ByColourAndMore"


def test_pages_over_http_stay_whole_while_a_pattern_moves(client: Client) -> None:
    page = client.get("/patterns/heavy?colour=red&least=0&limit=5")
    more = client.get(f"/patterns/heavy?colour=red&least=0&cursor={quote(page['cursor'])}")
    assert [row["data"]["id"] for row in page["rows"] + more["rows"]] == IDS


def operations(client: Client) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in client.get("/openapi.json")["paths"].items():
        yield path, methods["get"]


def test_openapi_documents_that_a_pattern_may_be_refused_for_a_while(client: Client) -> None:
    for path, operation in operations(client):
        may_refuse = path.startswith("/patterns/")
        assert ("503" in operation["responses"]) == may_refuse
        if may_refuse:
            assert "Retry-After" in operation["responses"]["503"]["headers"]


def test_pending_patterns_survive_the_environment() -> None:
    for pending in ({}, {"a": None}, {"a": None, "b": "GSI1"}):
        assert PendingPatterns.from_env(PendingPatterns(pending).to_env()) == PendingPatterns(
            pending
        )
    assert PendingPatterns().to_env() == {}, (
        "a function is told nothing unless something is being built"
    )


@pytest.mark.parametrize("text", ["x", "[]", "7", '{"a": 1}', '{"a": ""}', '{"a": ["GSI1"]}'])
def test_a_malformed_environment_is_refused_with_what_would_be_right(text: str) -> None:
    with pytest.raises(
        SettingsError, match=r'ADMINVIEW_PENDING_PATTERNS is .*\{"orders-by-status": "GSI1"'
    ):
        PendingPatterns.from_env({"ADMINVIEW_PENDING_PATTERNS": text})
