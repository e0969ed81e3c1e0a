"""A statement is sent only if it is parsed as one SELECT."""

from typing import Any

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from adminview.cli.commands.sql import explanation, plan, refusal, sql
from adminview.cli.querying.statement import read, rendered, tokens_of
from adminview.model.errors import QueryError
from examples import load
from tests.support.model import registry

app = typer.Typer()
app.command()(sql)

TABLE = "acme-AdminViewTable"
FROM = "SELECT * FROM AdminViewTable WHERE "


@pytest.mark.parametrize(
    "condition",
    [
        "PK = 'a'",
        "pk = 'b' AND PK = 'a'",
        "\"PK\" = 'it''s'",
        "'a' = PK",
        "PK IN ['a', 'b']",
        "PK IN ('a')",
        "PK = 'a' AND SK BETWEEN 'b' AND 'c'",
        "SK BETWEEN 'b' AND 'c' AND PK = 'a'",
        "(PK = 'a' AND (SK > 'b'))",
        "((PK = 'a')) AND (x = 1 OR y = 2)",
        "PK = 'a' AND NOT x = 1",
        "PK = 'a' AND begins_with(SK, 'b') ORDER BY SK DESC",
        "PK='a'--OR x = 1",
        "PK = /* OR */ 'a'",
        "PK = 'a' AND x = 'OR'",
    ],
)
def test_a_condition_that_fixes_the_partition_key_makes_a_query(condition: str) -> None:
    assert "PK" in read(FROM + condition).fixed


@pytest.mark.parametrize(
    "condition",
    [
        "PK > 'a'",
        "PK = 'a' OR PK = 'b'",
        "PK = 'a' OR x = 1 AND PK = 'b'",
        "NOT PK = 'a'",
        "NOT (PK = 'a')",
        "PK <> 'a'",
        "PK NOT IN ['a']",
        "PK IN []",
        "PK IN ['a',]",
        "PK IN ['a', SK]",
        "PK IN ['a' || 'b']",
        "PK = SK",
        "PK = 'a' || 'b'",
        "PK = 'a' - 'b'",
        "- PK = 1",
        "5 - 3 = PK",
        "data.PK = 'a'",
        "PK.x = 'a'",
        "pk = 'a'",
        "size(PK) = 1",
        "x BETWEEN 'a' AND PK = 'b'",
        "(PK = 'a' OR x = 1)",
        "(PK = 'a') = true",
        "CASE WHEN x = 1 AND PK = 'a' AND y = 2 THEN true END",
        "PK IS NOT MISSING",
        "-- PK = 'a'\n x = 1",
        "x = 'PK = ''a'''",
    ],
)
def test_any_other_condition_makes_a_scan(condition: str) -> None:
    assert "PK" not in read(FROM + condition).fixed


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("", "only SELECT is allowed"),
        ("-- SELECT", "only SELECT is allowed"),
        ("delete from AdminViewTable", "begins with delete"),
        ("/* SELECT */ UPDATE x SET a = 1", "begins with UPDATE"),
        ("INSERT INTO x VALUE {'a': 1}", "begins with INSERT"),
        ("EXISTS(SELECT * FROM x WHERE PK = 'a')", "begins with EXISTS"),
        ('"SELECT" * FROM x', "only SELECT is allowed"),
        ("SELECT * FROM x; DELETE FROM x", "more than one statement"),
        ("SELECT * FROM x WHERE EXISTS (a)", "EXISTS is not allowed"),
        ("SELECT * FROM x WHERE a IN (SELECT b FROM y)", "SELECT is not allowed"),
        ("SELECT * FROM x WHERE PK = 'a' LIMIT 5", "use --limit"),
        ("SELECT * FROM x, y WHERE PK = 'a'", "WHERE or ORDER BY, not ,"),
        ("SELECT * FROM x AS y", "WHERE or ORDER BY, not AS"),
        ("SELECT * FROM x.y.z", "WHERE or ORDER BY, not ."),
        ("SELECT * FROM x.", "table"),
        ("SELECT * FROM 'x'", "table"),
        ("SELECT * FROM", "table"),
        ("SELECT *", "not SELECT … FROM …"),
        ("SELECT FROM x", "not SELECT … FROM …"),
        ("SELECT * FROM x WHERE (PK = 'a'", ") is missing"),
        ("SELECT * FROM x WHERE PK = 'a')", ") has no opening bracket"),
        (
            "SELECT * FROM x WHERE PK = 'a' ORDER = 1 OR 1 = 1",
            "ORDER must be followed by BY and names",
        ),
        ("SELECT * FROM x WHERE PK = 'a", 'has a syntax error at "\'a"'),
        ("SELECT * /* FROM x", "has a syntax error at '/* FROM x'"),
        ("SELECT * FROM x WHERE PK = `a`", "has a syntax error"),
        ("SELECT * FROM x WHERE PK = ?", "has a syntax error"),
        ("SELECT\u00a0* FROM x", "has a syntax error"),
    ],
)
def test_what_is_not_one_select_is_refused_with_the_reason(statement: str, why: str) -> None:
    with pytest.raises(QueryError) as refused:
        read(statement)
    assert why in str(refused.value)


def test_a_statement_is_sent_without_comments_and_for_the_deployed_table() -> None:
    written = 'select "FROM", a.b -- c\n FROM"AdminViewTable"/**/.GSI1 WHERE x=\'-- "y"\' ;'
    select = read(written)
    assert (select.table, select.index) == ("AdminViewTable", "GSI1")
    assert select.on('a"b') == 'select "FROM", a.b FROM "a""b"."GSI1" WHERE x=\'-- "y"\''


def test_a_statement_is_explained_with_the_names_of_the_model() -> None:
    planned = plan(read("SELECT * FROM AdminViewTable.OrderDashboard"), registry(), TABLE)
    assert planned.scans
    assert explanation(planned)["it would"] == "scan: its condition does not fix customerId"
    assert "Add customerId = …, joined by AND" in refusal(planned)
    for name in ("AdminViewTable", f'"{TABLE}"'):
        planned = plan(read(f"SELECT * FROM {name} WHERE PK = 'a'"), registry(), TABLE)  # noqa: S608 - nothing is run
        assert not planned.scans
        assert explanation(planned)["on"] == f"table {TABLE}"
    with pytest.raises(QueryError, match=r"no index 'gsi1'; it has .*GSI1, .*Owner"):
        plan(read("SELECT * FROM AdminViewTable.gsi1"), registry(), TABLE)
    with pytest.raises(QueryError, match="table 'Orders' cannot be read: only 'AdminViewTable'"):
        plan(read("SELECT * FROM Orders"), registry(), "AdminViewTable")


def test_a_query_fixes_every_partition_attribute_and_the_shard() -> None:
    crm, logs = load("crm").registry, load("logs").registry
    place = "SELECT * FROM AdminViewTable.CustomerByOrgTeamSegment WHERE "
    whole = "orgId = 'a' AND teamId = 'b' AND segment = 'c'"
    assert not plan(read(place + whole), crm, TABLE).scans
    assert plan(read(f"{place}orgId = 'a' AND segment = 'c'"), crm, TABLE).missing == ("teamId",)
    critical = "SELECT * FROM AdminViewTable.GSI1 WHERE GSI1_PK = 'CriticalLogs'"
    assert plan(read(critical), logs, TABLE).missing == ("_GSI1_shard",)
    assert not plan(read(f"{critical} AND _GSI1_shard = 0"), logs, TABLE).scans


def test_options_that_contradict_each_other_are_refused() -> None:
    result = CliRunner().invoke(app, ["SELECT * FROM x", "--json", "--csv"])
    assert result.exit_code == 2
    assert "exclude each other" in result.stderr


PIECES = [
    *("SELECT", "select", "FROM", "WHERE", "ORDER", "BY", "AND", "OR", "NOT", "IN", "BETWEEN"),
    *("DELETE", "Update", "INSERT", "EXISTS", "SET", "VALUE", "INTO", "LIMIT", "CASE"),
    *("AdminViewTable", '"AdminViewTable"', "PK", "SK", '"DELETE"', "'DELETE'", "'a'", "1", "x"),
    *("*", "=", ",", ".", "(", ")", "[", "]", "-", "--", "/*", "*/", ";", "'", '"', "`", "?", "\n"),
]
STATEMENTS = st.one_of(
    st.lists(st.sampled_from([*PIECES, " "]), max_size=25).map("".join),
    st.lists(st.sampled_from(PIECES), max_size=25).map(" ".join),
    st.lists(st.sampled_from(PIECES), max_size=12).map(lambda some: FROM + " ".join(some)),
    st.text(max_size=40),
    st.text(max_size=40).map(lambda text: FROM + text),
)


@given(STATEMENTS)
def test_whatever_is_typed_what_is_sent_is_one_select_without_comments(statement: str) -> None:
    try:
        select = read(statement)
    except QueryError:
        return
    sent = select.on(TABLE)
    tokens = list(tokens_of(sent))
    words = [token.written.upper() for token in tokens if token.kind == "word"]
    assert words.count("SELECT") == 1
    assert tokens[0].written.upper() == "SELECT"
    assert not {"INSERT", "UPDATE", "DELETE", "EXISTS", "SET", "INTO"} & {*words}
    assert not any(token.written in {";", "`", "?"} for token in tokens)
    # Distinguished from text and quoted names, in which they are no comments.
    bare = "".join(" " if token.kind in {"text", "name"} else rendered(token) for token in tokens)
    assert "/*" not in bare
    again = read(sent)
    assert (again.table, again.index, again.fixed) == (TABLE, select.index, select.fixed)
    assert again.on(TABLE) == sent


@given(STATEMENTS)
def test_a_refused_statement_is_not_even_a_reason_to_look_for_the_table(statement: str) -> None:
    """Nothing is configured here: a call of AWS would fail otherwise."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise LookupError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("adminview.cli.commands.sql.find_settings", refuse)
        result = CliRunner().invoke(app, ["--", statement])
    assert type(result.exception) is (LookupError if readable(statement) else QueryError)


def readable(statement: str) -> bool:
    try:
        read(statement)
    except QueryError:
        return False
    return True
