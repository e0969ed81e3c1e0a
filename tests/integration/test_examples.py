"""The examples on real engines: their queries return the expected rows."""

from collections.abc import Callable

import pytest

from adminview.cli.output.tables import plain
from adminview.local.local_cloud import LocalCloud
from adminview.local.source_writes import apply
from adminview.model import Registry
from adminview.model.item import decode
from adminview.model.row import key_of
from examples import load, names
from examples.__main__ import title
from examples.query import ExampleQuery, ExpectedRow, pages


def answer(cloud: LocalCloud, query: ExampleQuery) -> list[ExpectedRow] | int:
    """Query, and keep of each row its key and the data that the query is about."""
    if query.counted is not None:
        return cloud.query_engine.count(query.pattern, **query.parameters)
    pattern = cloud.registry.pattern(query.pattern)
    read = list(pages(cloud.query_engine, query))
    size = query.limit or query.pages_of
    assert not size or [len(page) for page in read[:-1]] == [size] * (len(read) - 1)
    rows = [row for page in read for row in page]
    assert all(set(pattern.shows) <= row.keys() for row in rows)
    wanted = {name for row in query.rows for name in row.data}
    return [
        ExpectedRow(
            *key_of(row),
            {name: value for name, value in plain(decode(row["data"])).items() if name in wanted},
        )
        for row in rows
    ]


def expected(query: ExampleQuery) -> list[ExpectedRow] | int:
    return [*query.rows] if query.counted is None else query.counted


@pytest.mark.parametrize("name", names())
def test_an_example_answers_each_of_its_queries(
    name: str, start: Callable[[Registry], LocalCloud]
) -> None:
    example = load(name)
    cloud = start(example.registry)
    apply(cloud, example.steps)

    # One start for all queries of an example; a wrong answer is shown next to its query.
    answers = {title(example, query): answer(cloud, query) for query in example.queries}
    assert answers == {title(example, query): expected(query) for query in example.queries}
    assert len(answers) == len(example.queries), "a query is listed twice"
    assert cloud.letters() == []
