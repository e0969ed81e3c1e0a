"""The examples are complete, and their key rules hold for declarations and queries."""

import ast
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import examples
from adminview.model import AccessPattern, Index
from adminview.model.errors import DeclarationError, QueryError
from adminview.model.limits import ROW_LIMIT
from adminview.model.row import OWNER_INDEX, Attributes, key_of
from adminview.sync.derive import derive
from examples import Example, load, names
from examples.__main__ import app
from tests.support.stream_records import image

FOLDER = Path(examples.__file__).parent
NO_EXAMPLES = {"__init__", "__main__", "query"}
ALL = [load(name) for name in names()]
PATTERNS = [
    pytest.param(pattern, id=f"{example.name}-{pattern.name}")
    for example in ALL
    for pattern in example.registry.patterns
]
INDEXES = [
    pytest.param(index, id=f"{example.name}-{index.name}")
    for example in ALL
    for index in example.registry.indexes
    if index != OWNER_INDEX
]


@pytest.fixture(params=ALL, ids=names())
def example(request: pytest.FixtureRequest) -> Example:
    """Take each example in turn."""
    current: Example = request.param
    return current


def derived(example: Example) -> list[tuple[dict[str, Any], Attributes]]:
    """List the rows that an example's items become in the end, each with its item."""
    items = {}
    for step in example.steps:
        source = example.registry.source(step.source)
        items[source, *(step.item[key.name] for key in source.key)] = image(step.item)
    return [
        (written, row)
        for (source, *_), written in items.items()
        for row in derive(example.registry.views_of(source), written, room=ROW_LIMIT).rows.values()
    ]


def anything(pattern: AccessPattern) -> dict[str, object]:
    """Make parameters of the right types."""
    values = {"S": "x", "N": 1}
    return {name: values[type_] for name, type_ in pattern.parameters.items()}


def test_every_view_file_has_data_and_all_data_has_a_view_file() -> None:
    assert {path.stem for path in FOLDER.glob("*.py")} - NO_EXAMPLES == set(names())


def test_an_example_is_written_in_the_words_of_the_model_alone(example: Example) -> None:
    tree = ast.parse((FOLDER / f"{example.name}.py").read_text())
    modules = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    modules |= {
        n.name for node in ast.walk(tree) if isinstance(node, ast.Import) for n in node.names
    }
    theirs = {name for name in modules if name.partition(".")[0] not in sys.stdlib_module_names}
    assert theirs == {"adminview"}


def test_every_pattern_of_an_example_is_queried(example: Example) -> None:
    queried = {query.pattern for query in example.queries}
    assert queried == {pattern.name for pattern in example.registry.patterns}


def test_every_pattern_has_an_answer_with_rows_and_says_what_it_is_about(example: Example) -> None:
    answered = {query.pattern for query in example.queries if query.rows}
    assert all(query.rows == () for query in example.queries if query.counted)
    assert answered == {pattern.name for pattern in example.registry.patterns if pattern.about}


def test_every_index_of_an_example_is_queried(example: Example) -> None:
    queried = {pattern.index for pattern in example.registry.patterns if pattern.index}
    assert {*queried, OWNER_INDEX} == set(example.registry.indexes)


def test_no_row_of_an_example_has_two_owners(example: Example) -> None:
    rows = derived(example)
    assert rows
    assert len({key_of(row) for _, row in rows}) == len(rows)


def test_an_index_key_named_as_an_attribute_of_the_item_is_that_attribute(
    example: Example,
) -> None:
    """Native: the same value, of the same type."""
    keys = {key.name for index in example.registry.indexes for key in index.key}
    for item, row in derived(example):
        native = keys & item.keys() & row.keys()
        assert {name: row[name] for name in native} == {name: item[name] for name in native}


def test_no_answer_is_simply_every_row_there_is(example: Example) -> None:
    """An empty result would prove nothing."""
    rows = len(derived(example))
    assert all(len(query.rows) < rows for query in example.queries)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_query_without_a_parameter_is_an_error_that_names_it(pattern: AccessPattern) -> None:
    whole = anything(pattern)
    assert pattern.condition(**whole).expression
    for missing in pattern.required:
        rest = {name: value for name, value in whole.items() if name != missing}
        with pytest.raises(QueryError, match=rf"{pattern.name}.*takes \(.*\b{missing}\b"):
            pattern.condition(**rest)
    with pytest.raises(QueryError, match=r"colour is unknown"):
        pattern.condition(**whole, colour="red")


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_parameter_of_another_type_is_an_error_that_names_it(pattern: AccessPattern) -> None:
    whole = anything(pattern)
    for wrong, value in whole.items():
        other = 1 if isinstance(value, str) else "1"
        with pytest.raises(QueryError, match=rf"\b{wrong} must be "):
            pattern.condition(**(whole | {wrong: other}))


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_last_parameters_may_be_left_out_if_they_are_optional(pattern: AccessPattern) -> None:
    whole = anything(pattern)
    for number in range(len(pattern.optional) + 1):
        arguments = dict([*whole.items()][: len(whole) - number])
        names = pattern.condition(**arguments).names
        assert len(names) == len(pattern.condition(**whole).names) - number


def test_a_gap_in_the_levels_of_a_tree_is_named_with_what_comes_after_it() -> None:
    teams_below = load("organisation").registry.pattern("teams-below")
    assert len(teams_below.condition(org_id="acme").names) == 1
    with pytest.raises(QueryError, match=r"region is missing; 'region' comes before 'country'"):
        teams_below.condition(org_id="acme", country="DE")
    with pytest.raises(QueryError, match=r"country is missing; 'country' comes before 'team'"):
        teams_below.condition(org_id="acme", region="EMEA", team="Ledger")
    with pytest.raises(QueryError, match=r"takes \(org_id, \[region\], .*; org_id is missing"):
        teams_below.condition(region="EMEA")


@pytest.mark.parametrize(
    ("declared", "problem"),
    [
        ({"partition": {"orgId": "{o}", "segment": "{s}"}}, r"'teamId' is missing: .*'segment'"),
        ({"partition": {"orgId": "{o}", "teamId": "{t}"}}, "segment is missing"),
        ({"partition": {"teamId": "{t}"}}, r"'orgId' is missing: it comes before 'teamId'"),
        ({"sort": {"segment": "{s}"}}, r"'segment' is not a sort attribute.* \(lastInteraction\)"),
        ({"partition": {"colour": "{c}"}}, r"'colour' is not a partition attribute.* \(orgId, "),
        ({"optional": ["team_id"]}, "'team_id' cannot be optional"),
        ({"optional": ["colour"]}, "'colour', which is not a parameter"),
    ],
)
def test_a_template_for_no_attribute_or_without_the_one_before_is_refused_by_name(
    declared: dict[str, Any], problem: str
) -> None:
    customers = load("crm").registry.pattern("customers-in-touch-after")
    with pytest.raises(DeclarationError, match=problem):
        replace(customers, **declared)


def test_templates_by_name_give_the_same_query_in_any_order() -> None:
    customers = load("crm").registry.pattern("customers-in-touch-after")
    assert isinstance(customers.partition, dict)
    turned = replace(customers, partition=dict(reversed(customers.partition.items())))
    in_order = replace(customers, partition=[*customers.partition.values()])
    arguments = anything(customers)
    assert (
        turned.condition(**arguments)
        == in_order.condition(**arguments)
        == customers.condition(**arguments)
    )


@pytest.mark.parametrize("index", INDEXES)
def test_an_index_is_not_queried_with_fewer_partition_attributes_than_it_has(index: Index) -> None:
    partition = [f"{{{attribute.name}}}" for attribute in index.partition]
    missing = index.partition[-1].name
    assert AccessPattern("whole", index=index, partition=partition)
    with pytest.raises(DeclarationError, match=rf"set all of \(.*\b{missing}\)"):
        AccessPattern("asked", index=index, partition=partition[:-1])


@pytest.mark.parametrize("index", INDEXES)
def test_an_index_is_queried_with_its_sort_attributes_from_the_left_and_no_others(
    index: Index,
) -> None:
    partition = [f"{{{attribute.name}}}" for attribute in index.partition]
    sort = [f"{{{attribute.name}}}" for attribute in index.sort]
    for fixed in range(len(sort) + 1):
        pattern = AccessPattern("asked", index=index, partition=partition, sort=sort[:fixed])
        keys = [key.name for key in index.key[: len(partition) + fixed]]
        assert [*pattern.parameters] == keys
    last = index.key[-1].name
    with pytest.raises(DeclarationError, match=rf"sort conditions .*\b{last}\)"):
        AccessPattern("asked", index=index, partition=partition, sort=[*sort, "more"])
    with pytest.raises(DeclarationError, match=rf"sort conditions .*\b{last}\)"):
        replace(pattern, sort_from="{more}")


def test_without_a_name_the_examples_are_listed() -> None:
    result = CliRunner().invoke(app, [])
    assert result.exit_code == 0
    assert [line.split()[0] for line in result.stdout.splitlines()] == names()
    assert all(example.about in result.stdout for example in ALL)


def test_an_unknown_name_is_answered_with_those_there_are() -> None:
    result = CliRunner().invoke(app, ["nowhere"], env={"COLUMNS": "200"})
    assert result.exit_code == 2
    assert "there is no example 'nowhere'" in result.stderr
    assert "tournament" in result.stderr


def test_help_says_how_to_run_an_example() -> None:
    result = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"})
    assert result.exit_code == 0
    assert "--engine" in result.stdout


def test_an_example_shows_each_query_and_its_rows() -> None:
    """Run it as a process: moto keeps one state in each."""
    command = [sys.executable, "-m", "examples", "crm"]
    root = Path(examples.__file__).parents[1]
    wide = os.environ | {"COLUMNS": "200"}
    shown = subprocess.run(
        command, capture_output=True, text=True, check=True, cwd=root, env=wide
    ).stdout
    for query in load("crm").queries:
        assert query.pattern in shown
        assert all(row.pk in shown for row in query.rows)
