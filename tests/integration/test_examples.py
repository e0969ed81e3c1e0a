"""The examples on real engines: what is written comes out as the answers say."""

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
from examples.question import Found, Question, pages


def answer(cloud: LocalCloud, question: Question) -> list[Found] | int:
    """Ask, and keep of each row its key and the data that the question is about."""
    if question.counted is not None:
        return cloud.query_engine.count(question.pattern, **question.given)
    pattern = cloud.registry.pattern(question.pattern)
    read = list(pages(cloud.query_engine, question))
    size = question.limit or question.pages_of
    assert not size or [len(page) for page in read[:-1]] == [size] * (len(read) - 1)
    rows = [row for page in read for row in page]
    assert all(set(pattern.shows) <= row.keys() for row in rows)
    wanted = {name for found in question.answer for name in found.data}
    return [
        Found(
            *key_of(row),
            {name: one for name, one in plain(decode(row["data"])).items() if name in wanted},
        )
        for row in rows
    ]


def expected(question: Question) -> list[Found] | int:
    return [*question.answer] if question.counted is None else question.counted


@pytest.mark.parametrize("name", names())
def test_an_example_answers_each_of_its_questions(
    name: str, start: Callable[[Registry], LocalCloud]
) -> None:
    example = load(name)
    cloud = start(example.registry)
    apply(cloud, example.steps)

    # One start for all questions of an example; a wrong answer is shown beside its question.
    answers = {title(example, one): answer(cloud, one) for one in example.questions}
    assert answers == {title(example, one): expected(one) for one in example.questions}
    assert len(answers) == len(example.questions), "a question is asked twice"
    assert cloud.letters() == []
