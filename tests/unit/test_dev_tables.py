"""Which tables can be extended, and which must be replaced."""

from dataclasses import replace
from typing import Any

import pytest

from adminview.aws.table_description import TableDescription
from adminview.local.dev.tables import differences, leftovers
from adminview.local.tables import source_table, view_table
from adminview.model import Registry, Source
from tests.support.model import registry


def view(model: Registry | None = None) -> TableDescription:
    return TableDescription.of(view_table(model or registry(), "AdminViewTable"))


def with_index(table: TableDescription, **changes: Any) -> TableDescription:
    """Return a table whose first index differs."""
    first, *others = table.indexes
    return replace(table, indexes=(replace(first, **changes), *others))


def test_a_table_as_declared_has_no_differences() -> None:
    assert [*differences(view(), view()), *leftovers(view(), view())] == []


def test_a_global_index_can_be_added() -> None:
    old = replace(view(), indexes=view().indexes[1:])
    assert [*differences(view(), old)] == []


def test_a_local_index_cannot_be_added() -> None:
    expected = with_index(view(), local=True)
    old = replace(expected, indexes=expected.indexes[1:])
    (problem,) = differences(expected, old)
    assert problem.endswith("but does not exist")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"sort": (("other", "S"),)}, "but has key (GSI1_PK, other)"),
        ({"sort": (("GSI1_SK", "N"),)}, "but has key (GSI1_PK, GSI1_SK (number))"),
        ({"projection": "KEYS_ONLY", "include": ()}, "and projection KEYS_ONLY"),
    ],
)
def test_an_index_cannot_be_changed(change: dict[str, Any], text: str) -> None:
    (problem,) = differences(view(), with_index(view(), **change))
    assert problem.startswith("table 'AdminViewTable': index 'GSI1' is declared with key (GSI1_PK")
    assert text in problem


def test_an_index_that_is_no_longer_declared_is_a_leftover() -> None:
    new = replace(view(), indexes=view().indexes[1:])
    assert [*differences(new, view())] == []
    (problem,) = leftovers(new, view())
    assert problem == "table 'AdminViewTable': index 'GSI1' is no longer declared"


def test_a_view_table_without_a_stream_cannot_feed_totals() -> None:
    expected = replace(view(), stream_type="NEW_AND_OLD_IMAGES")
    (problem,) = leftovers(expected, view())
    assert problem == "table 'AdminViewTable' has no stream, which totals need"


def test_a_source_with_another_key_is_named_with_both() -> None:
    old, new = (
        TableDescription.of(source_table(Source("Orders", partition_key=key), "Orders"))
        for key in ("id", "orderId")
    )
    (problem,) = differences(new, old)
    assert problem == "table 'Orders' is declared with key (orderId), but has key (id)"
