"""Links from rows to queries, and the model as a graph."""

from typing import Any

import pytest

from adminview.dead_letters.groups import LetterGroup, Selection, view_of
from adminview.http_api.catalogue import hint
from adminview.http_api.operations.links import MOST_LINKS, links
from adminview.http_api.operations.model_graph import ModelHistory, model_group
from adminview.http_api.operations.router import Request
from adminview.model import AccessPattern, Registry
from adminview.model.key import key
from adminview.model.template import render, values_in
from tests.support.dead_letter_queue import letter_body, message, resolved
from tests.support.shop import registry as shop


def linked(row: dict[str, Any]) -> dict[str, dict[str, str]]:
    return {link.pattern.name: dict(link.parameters) for link in links(row, shop())}


def row(pk: str, sk: str = "X", data: dict[str, Any] | None = None, **keys: str) -> dict[str, Any]:
    return {
        "PK": {"S": pk},
        "SK": {"S": sk},
        "data": {"M": data or {}},
        **{name: {"S": value} for name, value in keys.items()},
    }


@pytest.mark.parametrize(
    ("template", "value", "values"),
    [
        ("USER#{user_id}", "USER#u-1", {"user_id": "u-1"}),
        ("USER#{user_id}", key("USER", "a#b%c"), {"user_id": "a#b%c"}),
        ("USER#{user_id}", "USER#a#b", None),
        ("USER#{user_id}", "ORDER#1", None),
        ("{day}", "2025-03-01#1", {"day": "2025-03-01#1"}),
        ("A#{x}#{y:raw}", "A#1#2#3", {"x": "1", "y": "2#3"}),
        ("A#{x}#{x}", "A#1#1", {"x": "1"}),
        ("A#{x}#{x}", "A#1#2", None),
    ],
)
def test_a_template_reads_what_it_renders(
    template: str, value: str, values: dict[str, str] | None
) -> None:
    assert values_in(template, value) == values
    if values:
        assert render(template, values) == value


def test_keys_of_a_row_lead_to_queries() -> None:
    links_ = linked(row("USER#u-1", GSI3_PK="PAYMENT#t-1", GSI1_PK="ORDER#STATUS#PAID"))
    assert links_["orders-of-user"] == {"user_id": "u-1"}
    assert links_["order-by-payment"] == {"transaction_id": "t-1"}
    assert links_["orders-by-status"] == {"status": "PAID"}
    assert "payments-by-status" not in links_


def test_an_escaped_key_is_read_as_it_was_written() -> None:
    assert linked(row(key("USER", "north#7%")))["user-profile"] == {"user_id": "north#7%"}


def test_ids_in_the_data_lead_to_queries_and_other_names_do_not() -> None:
    data = {
        "orderId": {"S": "1"},
        "Status": {"S": "PAID"},
        "lines": {"L": [{"M": {"productId": {"S": "p-1"}}}]},
        "userId": {"N": "7"},
    }
    links_ = linked(row("A", data=data))
    assert links_["payments-of-order"] == {"order_id": "1"}
    assert links_["product-details"] == {"product_id": "p-1"}
    assert links_["user-profile"] == {"user_id": "7"}
    assert links_["spending-of-user"] == {"user_id": "7"}
    assert "orders-by-status" not in links_


def test_parameters_that_the_row_lacks_are_missing() -> None:
    row_ = row("A", customerId="c-1", status="PAID", orderDate="2025-03-01")
    by_name = {link.pattern.name: link for link in links(row_, shop())}
    assert by_name["orders-of-customer"].parameters == {"customer_id": "c-1"}
    assert by_name["orders-of-customer-by-status"].parameters["status"] == "PAID"
    between = by_name["orders-of-customer-between"]
    assert between.missing == ["start", "end"]


def test_hostile_data_makes_no_link_and_no_error() -> None:
    data = {
        "orderId": {"S": "\ud800"},
        "userId": {"S": "x" * 3000},
        "productId": {"B": "AA=="},
        "more": {"L": [{"M": {f"a{n}": {"S": "x"}}} for n in range(5000)]},
    }
    assert linked(row("A", data=data)) == {}


def test_the_number_of_links_is_limited() -> None:
    patterns = [AccessPattern(f"p-{n}", partition="A#{a_id}") for n in range(MOST_LINKS + 5)]
    registry = Registry((), (), (), (), tuple(patterns))
    assert len(links(row("A#1"), registry)) == MOST_LINKS


def test_the_graph_follows_views_through_their_functions() -> None:
    group = model_group(shop(), lambda: ModelHistory(True, ()))
    graph = group.operations[0].handle(Request()).content
    edges = {(edge["from"].split(".")[-1], edge["to"], edge["kind"]) for edge in graph["edges"]}
    assert ("order", "index:GSI1", "enters") in edges
    assert ("order", "index:GSI2", "enters") in edges  # through purchases()
    assert ("order", "total:DailySales", "adds-to") in edges  # through sold()
    assert ("favourite", "index:GSI1", "enters") not in edges
    assert ("index:GSI1", "pattern:orders-by-status", "serves") in edges
    assert ("total:DailySales", "pattern:daily-sales", "serves") in edges
    ids = [node["id"] for node in graph["nodes"]]
    assert len({*ids}) == len(ids)
    assert {edge[end] for edge in graph["edges"] for end in ("from", "to")} <= {*ids}
    places = {node["id"]: node["place"] for node in graph["nodes"]}
    assert places["source:Orders"].startswith("lambdas/views/orders.py:")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("delivery_date", "date"),
        ("day", "date"),
        ("start", "date"),
        ("created_at", "datetime"),
        ("month", "month"),
        ("status", None),
        ("birthdate", None),
        ("update", None),
    ],
)
def test_a_name_hints_at_a_time(name: str, kind: str | None) -> None:
    assert hint(name) == kind


def test_dead_letters_are_grouped_by_the_view_that_their_error_names() -> None:
    assert view_of("the view raised KeyError; view 'parts' at views.things:7") == "parts"
    assert view_of("view '<script>' at x") is None
    assert LetterGroup.of(resolved(letter_body("a"))) == LetterGroup("Things", None, "ViewError")


def test_a_selection_matches_ids_or_a_group() -> None:
    letter = resolved(letter_body("a"), "m-1")
    group = LetterGroup("Things", None, "ViewError")
    assert Selection().matches(letter, 0.0)
    assert Selection(ids=frozenset({"m-1"})).matches(letter, 0.0)
    assert not Selection(ids=frozenset({"m-2"})).matches(letter, 0.0)
    assert Selection(group=group).matches(letter, 0.0)
    assert not Selection(group=LetterGroup("Things", "parts", "ViewError")).matches(letter, 0.0)
    assert Selection().matches_unresolved(message("?"), 0.0)
    assert not Selection(group=group).matches_unresolved(message("?"), 0.0)
