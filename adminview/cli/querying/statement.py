"""Parse a PartiQL statement: whether it is one SELECT, from what, and what its condition fixes.

The parser is our own because it must refuse everything that it does not understand. The one
PartiQL parser for Python, py-partiql-parser, executes statements for a test engine: it reads
`SELECT …; DELETE …` as one SELECT, and NOT as an attribute. The statement that is sent is rebuilt
from the tokens, so that no comment and no quote can hide a keyword.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

from adminview.model.errors import QueryError

TOKEN = re.compile(
    r"""(?P<space>[ \t\r\n]+|--[^\r\n]*|/\*.*?\*/)
    |(?P<text>'(?:[^']|'')*+')
    |(?P<name>"(?:[^"]|"")++")
    |(?P<word>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    |(?P<mark><<|>>|<=|>=|<>|!=|\|\||/(?!\*)|[-+*%=<>(){}\[\],.:;])""",
    re.VERBOSE | re.DOTALL,
)
# Keywords that a SELECT does not have. An attribute of such a name must be quoted.
REFUSED = {
    *("INSERT", "UPDATE", "DELETE", "UPSERT", "REPLACE", "REMOVE", "SET", "INTO", "VALUES"),
    *("EXISTS", "EXEC", "CREATE", "DROP", "ALTER", "RETURNING", "UNION", "JOIN"),
}
OPENING, CLOSING = "([{", ")]}"


@dataclass(frozen=True, slots=True)
class Token:
    kind: str
    written: str
    spaced: bool  # whether whitespace or a comment precedes it

    def matches(self, *words: str) -> bool:
        """Return whether it is one of these keywords or marks."""
        return self.kind in {"word", "mark"} and self.written.upper() in words

    @property
    def name(self) -> str | None:
        """The name without quotes; None if it is not a name."""
        if self.kind == "name":
            return self.written[1:-1].replace('""', '"')
        return self.written if self.kind == "word" else None

    @property
    def is_value(self) -> bool:
        return self.kind in {"text", "number"}


def tokens_of(statement: str) -> Iterator[Token]:
    """Yield the tokens of a statement, without comments."""
    at, spaced = 0, False
    while at < len(statement):
        match = TOKEN.match(statement, at)
        if match is None or match.lastgroup is None:
            refuse(f"it has a syntax error at {statement[at : at + 10]!r}")
        at = match.end()
        if match.lastgroup != "space":
            yield Token(match.lastgroup, match[0], spaced)
        spaced = match.lastgroup == "space"


def rendered(token: Token) -> str:
    """Return the text of a token, after a space if one preceded it."""
    return f" {token.written}" if token.spaced else token.written


def quoted(name: str) -> str:
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def refuse(why: str) -> NoReturn:
    msg = f"the statement is not run: {why}"
    raise QueryError(msg)


@dataclass(frozen=True, slots=True)
class Select:
    table: str
    index: str | None
    fixed: frozenset[str]  # attributes that the condition compares with a value
    _before: tuple[Token, ...]
    _after: tuple[Token, ...]

    def on(self, table: str) -> str:
        """Return the statement for a table of another name, without comments."""
        place = quoted(table) + (f".{quoted(self.index)}" if self.index else "")
        after = "".join(map(rendered, self._after))
        return f"{''.join(map(rendered, self._before)).strip()} {place}{after}"


def read(statement: str) -> Select:
    """Parse a statement. Raises a QueryError if it is not exactly one SELECT."""
    tokens = list(tokens_of(statement))
    if tokens and tokens[-1].matches(";"):
        tokens.pop()
    _check(tokens)
    begin = next((at for at, token in enumerate(tokens) if token.matches("FROM")), None)
    if begin is None or begin == 1:
        refuse("it is not SELECT … FROM …")
    table, index, after = _place(tokens[begin + 1 :])
    condition = _condition(after)
    if after:  # it may follow a quote without a space
        after[0] = replace(after[0], spaced=True)
    before = tuple(tokens[: begin + 1])
    return Select(table, index, frozenset(_fixed(condition)), before, tuple(after))


def _check(tokens: Sequence[Token]) -> None:
    if not tokens or not tokens[0].matches("SELECT"):
        begins = f", and this begins with {tokens[0].written}" if tokens else ""
        refuse(f"only SELECT is allowed{begins}")
    for token in tokens[1:]:
        if token.matches(";"):
            refuse("it is more than one statement")
        if token.matches("LIMIT"):
            refuse("DynamoDB does not support LIMIT: use --limit")
        if token.matches("SELECT", *REFUSED):
            word = token.written.upper()
            refuse(f'{word} is not allowed in it; quote an attribute of that name: "{word}"')
    depth: list[str] = []
    for token in tokens:
        if token.matches(*OPENING):
            depth.append(CLOSING[OPENING.index(token.written)])
        elif token.matches(*CLOSING) and (not depth or depth.pop() != token.written):
            refuse(f"{token.written} has no opening bracket")
    if depth:
        refuse(f"{depth[-1]} is missing")


def _place(tokens: Sequence[Token]) -> tuple[str, str | None, list[Token]]:
    """Split the tokens after FROM into table, index and the rest."""
    match [*tokens]:
        case [table, dot, index, *rest] if dot.matches(".") and table.name and index.name:
            return table.name, index.name, rest
        case [table, *rest] if table.name and not (rest and rest[0].matches(".")):
            return table.name, None, rest
    return refuse('FROM must be followed by "table" or "table"."index"')


def _condition(after: Sequence[Token]) -> list[Token]:
    """Return the tokens between WHERE and ORDER BY. Refuses any other clause."""
    end = next((at for at, token in enumerate(after) if token.matches("ORDER")), len(after))
    condition, order = after[:end], after[end:]
    if condition and not condition[0].matches("WHERE"):
        refuse(f"the table must be followed by WHERE or ORDER BY, not {condition[0].written}")
    valid = all(token.name or token.matches(",", ".") for token in order) and not any(
        token.matches("AND", "OR", "WHERE") for token in order
    )
    if order and not (valid and order[1:] and order[1].matches("BY")):
        refuse("ORDER must be followed by BY and names")
    return list(condition[1:])


def _fixed(condition: list[Token]) -> Iterator[str]:
    """Yield the attributes that the condition requires to equal a value, or one of several."""
    terms: list[list[Token]] = [[]]
    depth, between = 0, False
    for token in condition:
        depth += token.matches(*OPENING) - token.matches(*CLOSING)
        if not depth and token.matches("OR", "CASE"):
            return
        if not depth and token.matches("AND") and not between:
            terms.append([])
            continue
        if not depth and token.matches("AND", "BETWEEN"):
            between = token.matches("BETWEEN")
        terms[-1].append(token)
    for term in terms:
        if _wrapped(term):
            yield from _fixed(term[1:-1])
        elif name := _equality(term):
            yield name


def _wrapped(term: Sequence[Token]) -> bool:
    """Return whether one pair of parentheses encloses the whole term."""
    depth = 0
    for at, token in enumerate(term):
        depth += token.matches("(") - token.matches(")")
        if not depth:
            return at == len(term) - 1 and token.matches(")")
    return False


def _equality(term: Sequence[Token]) -> str | None:
    """Return the attribute that a term fixes: a = value, value = a, or a IN [value, …]."""
    match _unsigned(term):
        case [name, sign, value] if sign.matches("=") and value.is_value:
            return name.name
        case [value, sign, name] if sign.matches("=") and value.is_value:
            return name.name
        case [name, sign, opening, *values, closing] if (
            sign.matches("IN") and opening.matches("[", "(") and closing.matches("]", ")")
        ):
            literals = values[0::2] and all(value.is_value for value in values[0::2])
            commas = all(comma.matches(",") for comma in values[1::2]) and len(values) % 2
            return name.name if literals and commas else None
    return None


def _unsigned(term: Sequence[Token]) -> list[Token]:
    """Return the term without the signs of numbers. A mark between two values is an operator."""
    return [
        token
        for at, token in enumerate(term)
        if not (
            token.matches("-", "+")
            and [after.kind for after in term[at + 1 : at + 2]] == ["number"]
            and all(before.matches("=", ",", "[", "(") for before in term[max(0, at - 1) : at])
        )
    ]
