"""From what is deployed to what is declared, in steps.

Whatever the steps have reached, planning again from there gives the rest of them: no file and no
machine has to remember how far a plan is. The order keeps every question right at every moment:

  tables of new sources            before functions follow their streams
  each new index                   one per update, as CloudFormation takes them
  the API with the new questions   what is not filled yet is refused, or asked of the older index;
                                   from here on nobody asks what is no longer declared
  the views                        rows of the new kind appear beside those of the old kind
  the alarms                       on what is there from now on
  a pause                          until invocations of the old code are over
  backfills                        until all rows are of the new kind
  the API again                    all questions answered
  each index nobody asks           one per update
  a sweep                          of rows that nothing derives any more
  tables of dropped sources        when no function follows their streams
"""

from collections.abc import Iterator
from dataclasses import dataclass

from adminview.aws.table_description import CREATING, DELETING, TableIndex
from adminview.cli.deployment.facts import Declared, Deployed, PendingPatterns
from adminview.cli.model_lock.model_diff import Description
from adminview.cli.planning.phases import Phase, phase_of
from adminview.cli.planning.refusals import fallback_index, notes, refusals
from adminview.cli.planning.stale_rows import attributes, may_show_leftovers, to_sweep
from adminview.cli.planning.step import Plan, Step
from adminview.cli.planning.steps import (
    AddSources,
    AwaitIndex,
    BackfillStep,
    CreateIndex,
    CreateView,
    DeployCode,
    DeployQuestions,
    DeployWatch,
    DropIndex,
    DropSources,
    SweepStep,
    Wait,
)
from adminview.model.monitored import watched

# The longest that a function which writes may run: replay, of infra/recovery_stack.py.
LONGEST_WRITE = 300.0
LONGEST_ANSWER = 30.0  # of the API


def make_plan(
    deployed: Deployed, model: Description, now: float, *, longest: float = LONGEST_WRITE
) -> Plan:
    """Plan the way from what is deployed to *model*, or say why there is none."""
    declared = Declared(model)
    refused = tuple(refusals(deployed, declared))
    steps = () if refused else tuple(_Way(deployed, declared, now, longest).steps())
    return Plan(steps, refused, tuple(notes(deployed, declared)))


@dataclass(frozen=True, slots=True)
class _Way:
    deployed: Deployed
    declared: Declared
    now: float
    longest: float

    def steps(self) -> Iterator[Step]:
        """List what is to be done, in order."""
        unbuilt = self.declared.unbuilt(self.deployed)
        swept = to_sweep(self.deployed, self.declared, unbuilt)
        pending = self._not_answerable()
        first = bool(swept) and may_show_leftovers(self.deployed, self.declared, pending, unbuilt)
        if not unbuilt and not first:
            pending = {}
        yield from self._tables()
        yield from self._indexes()
        table = self._table_after_creation()
        phase = phase_of(table, self.declared.indexes, pending)
        # Stacks import from one another, so that on the first day the functions come first.
        if self.deployed.sync is None:
            yield from self._code(unbuilt, phase)
        asks = [*self._questions(pending, phase)]
        yield from asks
        if self.deployed.sync is not None:
            yield from self._code(unbuilt, phase)
        if self.deployed.watch != watched(self.declared.model):
            yield DeployWatch(reason="all that is there from now on must be looked at")
        if unbuilt or swept:
            yield from self._pause()
        yield from self._backfills(unbuilt)
        if first:
            yield from self._sweep(swept)
        if pending:
            reason = "the rows of all sources are built: nothing is missing from the answers"
            on = phase_of(table, self.declared.indexes, {})
            yield DeployQuestions(reason=reason, phase=on, on=tuple(pending))
        yield from self._drops(table, asked_now=bool(pending or (asks and not unbuilt)))
        if not first:
            yield from self._sweep(swept)
        yield from self._dropped_tables()

    def _tables(self) -> Iterator[Step]:
        own = [one for one in self.declared.sources if one not in self.deployed.imported]
        if missing := tuple(one for one in own if one not in self.deployed.tables):
            reason = "their streams must be there before functions can follow them"
            yield AddSources(reason=reason, names=missing)

    def _indexes(self) -> Iterator[Step]:
        """Create what is missing; one at a time is all that DynamoDB takes."""
        if self.deployed.indexes is None:
            yield CreateView(reason="there is none yet: a new table takes all indexes at once")
            return
        for index in self.deployed.indexes:
            if index.status in (CREATING, DELETING):
                reason = "DynamoDB makes or deletes one index of a table at a time"
                yield AwaitIndex(reason=reason, index=index.name, status=index.status)
        table = list(self._staying())
        for name, index in self.declared.indexes.items():
            if not any(one.name == name for one in table):
                table.append(index)
                asking = [one["name"] for one in self.declared.questions if one["index"] == name]
                asked = f"for {', '.join(asking)}" if asking else "declared, and asked by nobody"
                yield CreateIndex(
                    reason=f"{asked}; CloudFormation makes one per update",
                    index=name,
                    phase=phase_of(table, self.declared.indexes, {}),
                )

    def _staying(self) -> Iterator[TableIndex]:
        return (one for one in self.deployed.indexes or () if one.status != DELETING)

    def _table_after_creation(self) -> list[TableIndex]:
        there = list(self._staying())
        names = {one.name for one in there}
        return there + [one for name, one in self.declared.indexes.items() if name not in names]

    def _not_answerable(self) -> PendingPatterns:
        """Say which questions cannot be answered from their indexes before all rows are built."""
        if self._asks_declared():
            return dict(self.deployed.pending)
        live = {name: index for name, _, index in self.deployed.live()}
        found: dict[str, str | None] = {}
        for shape in self.declared.questions:
            name = shape["name"]
            if name not in live:
                found[name] = None
            elif live[name] != shape["index"]:
                found[name] = fallback_index(self.deployed, self.declared, shape, live[name])
        return found

    def _asks_declared(self) -> bool:
        api = self.deployed.api
        return api is not None and api["fingerprint"] == self.declared.fingerprint

    def _questions(self, pending: PendingPatterns, phase: Phase) -> Iterator[Step]:
        before = self.deployed
        if self._asks_declared() and dict(pending) == dict(before.pending):
            return
        declared = {shape["name"] for shape in self.declared.questions}
        old = [shape["name"] for shape in before.api["patterns"]] if before.api else []
        live = {name for name, _, _ in before.live()}
        if pending:
            reason = "what is not built yet is refused rather than answered in part"
        elif before.api is None:
            reason = "there is none yet"
        else:
            reason = "nothing has to be built for it"
        yield DeployQuestions(
            reason=reason,
            phase=phase,
            dropped=tuple(name for name in old if name not in declared),
            on=tuple(
                name
                for name in (shape["name"] for shape in self.declared.questions)
                if (name not in live or name in before.pending) and name not in pending
            ),
        )

    def _code(self, unbuilt: list[str], phase: Phase) -> Iterator[Step]:
        before, model = self.deployed, self.declared.fingerprint
        if before.sync and before.sync["fingerprint"] == model == before.recovery:
            return
        known = before.sync["code"] if before.sync else {}
        gone = sorted(known.keys() - set(self.declared.sources))
        leftovers = (*(one for one in unbuilt if one in known), *gone)
        new = "rows of the new kind must keep coming while the old ones are built anew"
        yield DeployCode(
            reason=new if before.sync else "there are none yet",
            phase=phase,
            unbuilt=tuple(unbuilt),
            leftovers=leftovers,
            attributes=tuple(sorted(attributes(before.sync))) if before.sync else (),
        )

    def _pause(self) -> Iterator[Step]:
        """Outlast the invocations of older code: what they write must not come after the new."""
        deadline = self.deployed.busy_until
        if any(True for _ in self._code([], Phase())):
            deadline = max(deadline, self.now + self.longest if self.deployed.sync else 0.0)
        elif self.deployed.code_at is not None:
            deadline = max(deadline, self.deployed.code_at + self.longest)
        if deadline > self.now:
            reason = "invocations of the old code may still write; then they are over"
            yield Wait(reason=reason, deadline=deadline, seconds=deadline - self.now)

    def _backfills(self, unbuilt: list[str]) -> Iterator[Step]:
        for source in unbuilt:
            marker = self.deployed.markers.get(source)
            if marker is None:
                reason = "nothing says that its rows were ever built"
            elif not marker.code:
                reason = "its rows are of two models, until they are built anew"
            else:
                reason = f"its rows were built by other views, of model {marker.model}"
            yield BackfillStep(reason=reason, source=source)

    def _drops(self, table: list[TableIndex], *, asked_now: bool) -> Iterator[Step]:
        """Delete what nobody asks any more, once the last who might have is answered."""
        left = [one for one in table if one.ours]
        dropped = [one for one in left if one.name not in self.declared.indexes]
        last = self.now if asked_now else self.deployed.api_at or 0.0
        if dropped and (wait := last + LONGEST_ANSWER - self.now) > 0:
            reason = "questions to the old indexes may still be under way"
            yield Wait(reason=reason, deadline=self.now + wait, seconds=wait)
        for index in dropped:
            left.remove(index)
            yield DropIndex(
                reason="no question asks it; CloudFormation deletes one per update",
                index=index.name,
                phase=phase_of(left, self.declared.indexes, {}),
            )

    def _sweep(self, sources: list[str]) -> Iterator[Step]:
        if sources:
            reason = "rows of an older model may be left that nothing derives any more"
            yield SweepStep(reason=reason, sources=tuple(sources))

    def _dropped_tables(self) -> Iterator[Step]:
        own = set(self.declared.sources) - self.deployed.imported
        # A stack of which nothing is left is not ours to deploy: a note says so.
        if own and (gone := tuple(sorted(self.deployed.tables - own))):
            reason = "no function follows them; prod keeps the tables, dev deletes them"
            yield DropSources(reason=reason, names=gone)
