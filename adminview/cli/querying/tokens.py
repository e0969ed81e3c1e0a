"""The words, names, values and marks of a PartiQL statement.

Taken apart by hand, because what decides here must refuse all that it does not understand. The one
PartiQL parser for Python, py-partiql-parser, executes statements for a test engine: to it, `SELECT
…; DELETE …` is one SELECT, and NOT an attribute. What is sent is put together from the tokens
again, so that no comment and no quote can hide a word.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from adminview.model.errors import QuestionError

TOKEN = re.compile(
    r"""(?P<space>[ \t\r\n]+|--[^\r\n]*|/\*.*?\*/)
    |(?P<text>'(?:[^']|'')*+')
    |(?P<name>"(?:[^"]|"")++")
    |(?P<word>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    |(?P<mark><<|>>|<=|>=|<>|!=|\|\||/(?!\*)|[-+*%=<>(){}\[\],.:;])""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a statement, as it was written."""

    kind: str
    written: str
    spaced: bool  # from the one before

    def says(self, *words: str) -> bool:
        """Tell whether it is one of these key words or marks."""
        return self.kind in {"word", "mark"} and self.written.upper() in words

    @property
    def name(self) -> str | None:
        """The name it is, with or without quotes."""
        if self.kind == "name":
            return self.written[1:-1].replace('""', '"')
        return self.written if self.kind == "word" else None

    @property
    def value(self) -> bool:
        """Whether it is a value."""
        return self.kind in {"text", "number"}


def tokens_of(statement: str) -> Iterator[Token]:
    """Take a statement apart; comments are left out."""
    at, spaced = 0, False
    while at < len(statement):
        found = TOKEN.match(statement, at)
        if found is None or found.lastgroup is None:
            refuse(f"it cannot be read from {statement[at : at + 10]!r} on")
        at = found.end()
        if found.lastgroup != "space":
            yield Token(found.lastgroup, found[0], spaced)
        spaced = found.lastgroup == "space"


def normalize_number(token: Token) -> str:
    """Write a token again, apart from the one before if it was."""
    return f" {token.written}" if token.spaced else token.written


def quoted(name: str) -> str:
    """Put a name in quotes."""
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def refuse(why: str) -> NoReturn:
    """Say why a statement is not run."""
    msg = f"the statement is not run: {why}"
    raise QuestionError(msg)
