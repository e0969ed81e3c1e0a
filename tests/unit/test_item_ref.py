"""An item has one owner string; similar strings name no item."""

from decimal import Decimal
from typing import Any

import pytest

from adminview.model import Source, number
from adminview.model.errors import UnreadableRecordError
from adminview.model.item import normalize_number
from adminview.reconcile.item_ref import target_by_key, target_by_owner
from adminview.sync.decode import Route

things = Source("Things", partition_key="id")
readings = Source("Readings", partition_key="device", sort_key=number("at"))
ROUTES = [Route("things", things, ()), Route("readings", readings, ())]


@pytest.mark.parametrize("owner", ["Things/a", "Things/x%25y", "Things/a%2Fb", "Readings/d/1.5"])
def test_an_owner_leads_to_its_item_and_back(owner: str) -> None:
    target = target_by_owner(ROUTES, owner)
    assert target
    assert target.owner == owner


@pytest.mark.parametrize(
    "owner",
    [
        "",
        "Things",
        "Nothing/a",
        "Things/a/b",
        "Things/",
        "Things/x%y",
        "Readings/d/x",
        "Readings/d",
    ],
)
def test_what_no_item_is_called_leads_nowhere(owner: str) -> None:
    assert target_by_owner(ROUTES, owner) is None


@pytest.mark.parametrize(
    "key",
    [{}, {"id": {"N": "1"}}, {"id": {"S": ""}}, {"id": {"S": "x" * 3000}}, {"id": {"S": "\ud800"}}],
)
def test_a_key_that_no_item_can_have_is_refused(key: dict[str, Any]) -> None:
    with pytest.raises(UnreadableRecordError):
        target_by_key(ROUTES[0], key)


@pytest.mark.parametrize(
    ("typed", "expected"), [("1E+2", "100"), ("1.50", "1.5"), ("-0", "0"), ("1E-3", "0.001")]
)
def test_a_number_has_one_spelling(typed: str, expected: str) -> None:
    assert normalize_number(Decimal(typed)) == expected
