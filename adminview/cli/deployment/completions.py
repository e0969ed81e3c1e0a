"""What the progress table says of rows: which are built, which may be left over.

`adminview.bulk` marks each run that has ended. Beside its marks are ours, set before other code is
deployed: from then on a source has rows of two kinds, and whoever looks here must not believe that
it is built, nor go on with a backfill that was under way before.
"""

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from adminview.aws.deadline import Deadline
from adminview.bulk.lease_table import TURN, LeaseTable
from adminview.bulk.runs import BACKFILL, EVERYTHING, SWEEP
from adminview.cli.deployment.facts import Marker
from adminview.model.errors import ServiceError

NO_TABLE: Final = "ResourceNotFoundException"
PATIENCE_SECONDS: Final = 60.0
LEFTOVERS: Final = "leftovers"
BY: Final = "by"  # in a mark that was taken back: the model that it was of

Marks = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress table of a view, as a plan reads and writes it."""

    table: LeaseTable
    now: Callable[[], float]

    def marks(self) -> Marks:
        """Read all marks; there are none where the table is not deployed yet."""
        try:
            return self.table.marks(deadline=_soon())
        except ServiceError as error:
            if error.code != NO_TABLE:
                raise
            return {}

    def busy_until(self, sources: Iterable[str], model: str) -> float:
        """Say until when a worker of another model may still be at work; 0 if there is none."""
        subjects = [*sources, EVERYTHING]
        runs = [f"{kind}/{one}" for kind in (BACKFILL, SWEEP) for one in subjects]
        try:
            found = [one for run in runs for one in self.table.records(run, deadline=_soon())]
        except ServiceError as error:
            if error.code != NO_TABLE:
                raise
            return 0.0
        return max((one.deadline for one in found if one.model != model), default=0.0)

    def invalidate(
        self,
        unbuilt: Iterable[str],
        leftovers: Iterable[str],
        names: Iterable[str],
        *,
        model: str,
    ) -> None:
        """Note that rows of other code may come: what is said of these sources holds no longer.

        *names* are the attributes that rows may be left with which the new code, of *model*, does
        not derive.
        """
        before, at, names = self.marks(), self.now(), set(names)
        try:
            for source in leftovers:
                due = left_by(before, source, model) or frozenset()
                facts = {"since": at, "model": model, "attributes": sorted(names | due)}
                self.table.mark(f"{LEFTOVERS}/{source}", facts, deadline=_soon())
                self._end(f"{SWEEP}/{source}", before)
            self._end(f"{SWEEP}/{EVERYTHING}", before)
            for source in unbuilt:
                self._end(f"{BACKFILL}/{source}", before, code="", at=at)
        except ServiceError as error:
            if error.code != NO_TABLE:  # then nothing is said of any source
                raise

    def _end(self, run: str, before: Marks, **said: Any) -> None:
        """Let no run go on, nor count when it ends, that was begun before other code came."""
        turns = [one.segment.turn for one in self.table.records(run, deadline=_soon())]
        known = before.get(run, {})
        # One more than is seen: a run may have been begun of which no worker has a record yet.
        turn = max([int(known.get(TURN, 0)), *turns]) + 1
        # Of no model: or a run of this turn would take the mark for its own.
        facts = {**known, BY: _by(known), **said, "model": "", TURN: turn}
        if not self.table.mark(run, facts, deadline=_soon()):
            self._end(run, self.marks(), **said)  # a run has ended meanwhile


def markers(marks: Marks) -> dict[str, Marker]:
    """Read which backfills have ended."""
    return {
        run.partition("/")[2]: Marker(str(facts.get("model", "")), str(facts.get("code") or ""))
        for run, facts in marks.items()
        if run.startswith(f"{BACKFILL}/")
    }


def sweeps(marks: Marks, sources: Iterable[str], model: str) -> dict[str, frozenset[str] | None]:
    """Read which sources may have rows left over, with which attributes; None if swept since.

    *model* is the one that is declared.
    """
    intent = [run.partition("/")[2] for run in marks if run.startswith(f"{LEFTOVERS}/")]
    found = {source: left_by(marks, source, model) for source in intent}
    for source in sources:
        if source not in found and _swept_at(marks, source):
            found[source] = None
    return found


def left_by(marks: Marks, source: str, model: str) -> frozenset[str] | None:
    """Read the attributes of rows that may be left over; None if there are none."""
    facts = marks.get(f"{LEFTOVERS}/{source}")
    if facts is None:
        return None
    # While code is deployed, the old one may still sweep: it keeps what is to go.
    models = {model, facts.get("model")}
    if _swept_at(marks, source, models) > facts["since"]:
        return None
    return frozenset(facts["attributes"])


def _swept_at(marks: Marks, source: str, models: Container[str | None] | None = None) -> float:
    """Say when a source was swept last, by one of some models or by any; 0 if never."""
    found = (marks.get(f"{SWEEP}/{one}", {}) for one in (source, EVERYTHING))
    return max(
        float(one.get("at", 0.0)) if models is None or _by(one) in models else 0.0 for one in found
    )


def _by(facts: Mapping[str, Any]) -> str:
    return str(facts.get("model") or facts.get(BY, ""))


def _soon() -> Deadline:
    return Deadline.after(PATIENCE_SECONDS)
