"""Ask the AdminViewTable its declared questions, page by page."""

from collections.abc import Iterator, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from typing import Any

from adminview.aws.concurrency import map_concurrently, thread_pool
from adminview.aws.deadline import Deadline
from adminview.aws.view_reader import Meter, ViewReader
from adminview.model import AccessPattern, Registry
from adminview.model.errors import BeingBuiltError, QuestionError, ServiceError
from adminview.model.row import Attributes
from adminview.query import cursor as cursors
from adminview.query.cursor import Place, Positions
from adminview.query.merge import merged
from adminview.query.query import Question

PAGE, MOST = 50, 1000  # rows of a page, if nobody says; and at most
SECONDS = 25.0  # for a page, with retries


@dataclass(frozen=True, slots=True)
class AnsweredRow:
    """A row of an answer, and the rows that its question shows beside it."""

    row: Attributes
    joined: Mapping[str, Attributes | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class QueryResult:
    """One page, and where the next one begins; None if this is the last."""

    rows: list[AnsweredRow]
    cursor: str | None
    meter: Meter


@dataclass(frozen=True, slots=True)
class QueryEngine:
    """The questions that are declared, and the table that answers them.

    *building* names the questions whose rows are not all there yet, each with the older index that
    still answers it; None if there is none, and then it is refused.
    """

    registry: Registry
    reader: ViewReader
    pending: Mapping[str, str | None] = field(default_factory=dict)
    # Who asks the shards of an index, all at once.
    crew: Executor = field(default_factory=thread_pool, repr=False, compare=False)

    def ask(
        self,
        name: str,
        /,
        *,
        limit: int = PAGE,
        cursor: str | None = None,
        order: str | None = None,
        **parameters: Any,
    ) -> QueryResult:
        """Answer a question with one page: at most *limit* rows, from *cursor* on."""
        question = self.question(name, parameters, order)
        if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MOST:
            msg = f"access pattern {name!r}: limit is a whole number from 1 to {MOST}"
            raise QuestionError(msg)
        binding = question.binding
        place = binding.start if cursor is None else cursors.read(binding, cursor)
        meter, deadline = Meter(), Deadline.after(SECONDS)
        try:
            shown, more = self._page(question, place, limit, meter, deadline)
        except ServiceError as error:
            if cursor is None or error.code != "ValidationException":
                raise
            raise cursors.refusal(binding, "does not fit the question") from error
        following = cursors.write(binding, place) if more else None
        return QueryResult(self._joined(question.pattern, shown, deadline), following, meter)

    def rows(self, name: str, /, **asked: Any) -> Iterator[AnsweredRow]:
        """Answer a question with all its rows, page after page."""
        answer = self.ask(name, **asked)
        yield from answer.rows
        while answer.cursor:
            answer = self.ask(name, **{**asked, "cursor": answer.cursor})
            yield from answer.rows

    def count(self, name: str, /, **parameters: Any) -> int:
        """Count the rows that answer a question."""
        question = self.question(name, parameters)
        deadline, meter = Deadline.after(SECONDS), Meter()
        count = partial(
            self.reader.count,
            consistent=question.pattern.consistent,
            deadline=deadline,
            meter=meter,
        )
        return sum(map_concurrently(count, question.conditions, self.crew))

    def question(
        self, name: str, parameters: Mapping[str, Any], order: str | None = None
    ) -> Question:
        """Find a pattern and fill it in, or say which ones there are and what they take."""
        try:
            pattern = self.registry.pattern(name)
        except KeyError as error:
            raise QuestionError(error.args[0]) from error
        question = Question.of(pattern, parameters, order)
        if name not in self.pending:
            return question
        older = self.pending[name]
        if older is None:
            raise BeingBuiltError(name)
        return question.asked_of(older)

    def _page(
        self, question: Question, place: Place, limit: int, meter: Meter, deadline: Deadline
    ) -> tuple[list[Attributes], bool]:
        """Read one page, move *place* to its end, and tell whether there is another."""
        shown: list[Attributes] = []
        reached: dict[int, Attributes] = {}  # the last row of each shard
        more = False
        # One more than is shown tells whether there is another page.
        for shard, row in self._run(question, place.positions, limit + 1, meter, deadline):
            past = question.is_past(row, place.last)
            if not past and len(shown) == limit:
                more = True
                break
            reached[shard] = row
            if not past:
                shown.append(row)
        for shard, row in reached.items():
            place.positions[shard] = question.position(row)
        place.last = question.position(shown[-1]) if shown else place.last
        return shown, more

    def _run(
        self,
        question: Question,
        positions: Positions,
        page_size: int,
        meter: Meter,
        deadline: Deadline,
    ) -> Iterator[tuple[int, Attributes]]:
        """Read all shards from their positions on, in one order; the first page of each at once."""
        shards = [
            self.reader.rows(
                condition,
                after=after,
                page_size=page_size,
                descending=question.descending,
                consistent=question.pattern.consistent,
                deadline=deadline,
                meter=meter,
            )
            for condition, after in zip(question.conditions, positions, strict=True)
        ]
        firsts = map_concurrently(lambda shard: list(islice(shard, 1)), shards, self.crew)
        runs = [chain(first, shard) for first, shard in zip(firsts, shards, strict=True)]
        return merged(runs, question.sort, descending=question.descending)

    def _joined(
        self, pattern: AccessPattern, rows: list[Attributes], deadline: Deadline
    ) -> list[AnsweredRow]:
        """Read the rows to show beside an answer's, each once."""
        answered = [AnsweredRow(row) for row in rows]
        if not pattern.joins:
            return answered
        wanted = [{join.name: join.key(row) for join in pattern.joins} for row in rows]
        keys = dict.fromkeys(key for one in wanted for key in one.values() if key)
        found = self.reader.get(list(keys), deadline=deadline)
        return [
            replace(
                one, joined={name: found.get(key) if key else None for name, key in which.items()}
            )
            for one, which in zip(answered, wanted, strict=True)
        ]
