"""A PartiQL statement -> whether it is one SELECT, of what, and what its condition fixes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from adminview.cli.querying.tokens import Token, normalize_number, quoted, refuse, tokens_of

# No attribute is written like these without quotes, and a SELECT has none of them.
REFUSED = {
    *("INSERT", "UPDATE", "DELETE", "UPSERT", "REPLACE", "REMOVE", "SET", "INTO", "VALUES"),
    *("EXISTS", "EXEC", "CREATE", "DROP", "ALTER", "RETURNING", "UNION", "JOIN"),
}
OPENING, CLOSING = "([{", ")]}"


@dataclass(frozen=True, slots=True)
class Select:
    """One SELECT: what it is from, and what its condition fixes."""

    table: str
    index: str | None
    fixed: frozenset[str]
    _before: tuple[Token, ...]
    _after: tuple[Token, ...]

    def on(self, table: str) -> str:
        """Write the statement for a table of another name, without its comments."""
        place = quoted(table) + (f".{quoted(self.index)}" if self.index else "")
        after = "".join(map(normalize_number, self._after))
        return f"{''.join(map(normalize_number, self._before)).strip()} {place}{after}"


def read(statement: str) -> Select:
    """Read a statement, or say why it is not one SELECT."""
    tokens = list(tokens_of(statement))
    if tokens and tokens[-1].says(";"):
        tokens.pop()
    _check(tokens)
    begin = next((at for at, one in enumerate(tokens) if one.says("FROM")), None)
    if begin is None or begin == 1:
        refuse("it is not SELECT … FROM …")
    table, index, after = _place(tokens[begin + 1 :])
    condition = _condition(after)
    if after:  # it may have stood close to a quote
        after[0] = replace(after[0], spaced=True)
    before = tuple(tokens[: begin + 1])
    return Select(table, index, frozenset(_fixed(condition)), before, tuple(after))


def _check(tokens: Sequence[Token]) -> None:
    """Refuse what is not one SELECT."""
    if not tokens or not tokens[0].says("SELECT"):
        begins = f", and this begins with {tokens[0].written}" if tokens else ""
        refuse(f"only SELECT is run here{begins}")
    for one in tokens[1:]:
        if one.says(";"):
            refuse("it is more than one statement")
        if one.says("LIMIT"):
            refuse("it has LIMIT, which DynamoDB does not know: use --limit")
        if one.says("SELECT", *REFUSED):
            word = one.written.upper()
            refuse(f'a SELECT here has no {word}; an attribute of that name is "{word}"')
    depth: list[str] = []
    for one in tokens:
        if one.says(*OPENING):
            depth.append(CLOSING[OPENING.index(one.written)])
        elif one.says(*CLOSING) and (not depth or depth.pop() != one.written):
            refuse(f"{one.written} closes nothing")
    if depth:
        refuse(f"{depth[-1]} is missing")


def _place(tokens: Sequence[Token]) -> tuple[str, str | None, list[Token]]:
    """Split what follows FROM into a table, its index, and the rest."""
    match [*tokens]:
        case [table, dot, index, *rest] if dot.says(".") and table.name and index.name:
            return table.name, index.name, rest
        case [table, *rest] if table.name and not (rest and rest[0].says(".")):
            return table.name, None, rest
    return refuse('after FROM comes "table" or "table"."index"')


def _condition(after: Sequence[Token]) -> list[Token]:
    """Take what is between WHERE and ORDER BY; there may be nothing else."""
    end = next((at for at, one in enumerate(after) if one.says("ORDER")), len(after))
    condition, order = after[:end], after[end:]
    if condition and not condition[0].says("WHERE"):
        refuse(f"after its table comes WHERE or ORDER BY, not {condition[0].written}")
    sound = all(one.name or one.says(",", ".") for one in order) and not any(
        one.says("AND", "OR", "WHERE") for one in order
    )
    if order and not (sound and order[1:] and order[1].says("BY")):
        refuse("after ORDER come BY and names")
    return list(condition[1:])


def _fixed(condition: list[Token]) -> Iterator[str]:
    """List the attributes that must equal a value, or one of several, for a row to be found."""
    terms: list[list[Token]] = [[]]
    depth, between = 0, False
    for one in condition:
        depth += one.says(*OPENING) - one.says(*CLOSING)
        if not depth and one.says("OR", "CASE"):
            return
        if not depth and one.says("AND") and not between:
            terms.append([])
            continue
        if not depth and one.says("AND", "BETWEEN"):
            between = one.says("BETWEEN")
        terms[-1].append(one)
    for term in terms:
        if _wrapped(term):
            yield from _fixed(term[1:-1])
        elif name := _equality(term):
            yield name


def _wrapped(term: Sequence[Token]) -> bool:
    """Tell whether one pair of parentheses is around the whole term."""
    depth = 0
    for at, one in enumerate(term):
        depth += one.says("(") - one.says(")")
        if not depth:
            return at == len(term) - 1 and one.says(")")
    return False


def _equality(term: Sequence[Token]) -> str | None:
    """Find the attribute that a term fixes: a = value, value = a, or a IN [value, …]."""
    match _unsigned(term):
        case [name, sign, value] if sign.says("=") and value.value:
            return name.name
        case [value, sign, name] if sign.says("=") and value.value:
            return name.name
        case [name, sign, opening, *values, closing] if (
            sign.says("IN") and opening.says("[", "(") and closing.says("]", ")")
        ):
            sound = values[0::2] and all(one.value for one in values[0::2])
            commas = all(one.says(",") for one in values[1::2]) and len(values) % 2
            return name.name if sound and commas else None
    return None


def _unsigned(term: Sequence[Token]) -> list[Token]:
    """Leave out the signs of numbers; one between two values is no sign."""
    return [
        one
        for at, one in enumerate(term)
        if not (
            one.says("-", "+")
            and [after.kind for after in term[at + 1 : at + 2]] == ["number"]
            and all(before.says("=", ",", "[", "(") for before in term[max(0, at - 1) : at])
        )
    ]
