"""Plan the steps from the deployed model to the declared one.

A plan depends only on the deployed state. After any step, a new plan contains the remaining steps,
so no progress is stored. The order keeps every access pattern correct at every moment:

  tables of new sources         before functions read their streams
  the stream and the totals     before the first row with a contribution is written
  each new index                one per update, a limit of CloudFormation
  warm throughput               before rows are written at a higher rate
  the API                       an access pattern that is not ready is rejected, or uses the older
                                index; from here on no query uses a pattern that was removed
  the views                     new rows appear next to old ones
  the alarms                    for the declared model
  a wait                        until invocations of the old code have ended
  backfills                     until all rows are new
  the API again                 all access patterns are ready
  each unused index is dropped  one per update
  a sweep                       of rows that no view derives any more
  tables of dropped sources     when no function reads their streams
  the stream                    is turned off when the Totals stack has been deleted by hand
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from adminview.aws.table_description import CREATING, DELETING, TableIndex
from adminview.cli.deployment.facts import Declared, Deployed, PendingPatterns
from adminview.cli.model_lock.model_diff import Description
from adminview.cli.planning.refusals import (
    dark_patterns,
    fallback_epoch,
    fallback_index,
    notes,
    refusals,
)
from adminview.cli.planning.steps import (
    AddSources,
    AddStream,
    AddTotals,
    AwaitIndex,
    BackfillStep,
    CreateIndex,
    CreateView,
    DeployApi,
    DeployCode,
    DeployWatch,
    DropIndex,
    DropSources,
    DropStream,
    Phase,
    Plan,
    Step,
    SweepStep,
    Wait,
    phase_of,
)
from adminview.cli.planning.warmth import warm_up_steps, warmth_notes
from adminview.model.registry import monitored_parts

# The timeout of replay, the longest of the functions that write (infra/recovery_stack.py).
LONGEST_WRITE = 300.0
LONGEST_ANSWER = 30.0  # the timeout of the API


def make_plan(
    deployed: Deployed,
    model: Description,
    now: float,
    *,
    longest: float = LONGEST_WRITE,
    peak: int | None = None,  # write units per second that the view must take at once
) -> Plan:
    """Plan the steps from *deployed* to *model*, or return the reasons why there are none."""
    declared = Declared(model)
    refused = tuple(refusals(deployed, declared))
    steps = () if refused else tuple(_Planner(deployed, declared, now, longest, peak).steps())
    remarks = warmth_notes(deployed, declared.unbuilt(deployed), peak)
    return Plan(steps, refused, (*notes(deployed, declared), *remarks))


@dataclass(frozen=True, slots=True)
class _Planner:
    deployed: Deployed
    declared: Declared
    now: float
    longest: float
    peak: int | None

    def steps(self) -> Iterator[Step]:
        unbuilt = self.declared.unbuilt(self.deployed)
        swept = _sources_to_sweep(self.deployed, self.declared, unbuilt)
        pending = self._pending()
        sweep_first = bool(swept) and _may_show_stale_rows(
            self.deployed, self.declared, pending, unbuilt
        )
        if not unbuilt and not sweep_first:
            pending = {}
        yield from self._tables()
        yield from self._view()
        yield from self._totals()
        yield from self._indexes()
        table = self._table_after_creation()
        yield from warm_up_steps(self.deployed, table, self.peak)
        phase = self._phase(table, pending)
        # In a first deployment the API stack imports from the stacks of the functions.
        if self.deployed.sync is None:
            yield from self._code(unbuilt, phase)
        api_steps = [*self._api(pending, phase)]
        yield from api_steps
        if self.deployed.sync is not None:
            yield from self._code(unbuilt, phase)
        if self.deployed.watch != monitored_parts(self.declared.model):
            yield DeployWatch(reason="the alarms must cover the declared model")
        if unbuilt or swept:
            yield from self._pause()
        yield from self._backfills(unbuilt)
        if sweep_first:
            yield from self._sweep(swept)
        if pending:
            reason = "all sources are backfilled: results are complete"
            all_ready = self._phase(table)
            yield DeployApi(
                reason=reason, phase=all_ready, on=tuple(pending), totals=self._on_totals(pending)
            )
        yield from self._drops(table, api_replaced=bool(pending or (api_steps and not unbuilt)))
        if not sweep_first:
            yield from self._sweep(swept)
        yield from self._dropped_tables()
        yield from self._dropped_stream()

    def _phase(self, table: Iterable[TableIndex], pending: PendingPatterns | None = None) -> Phase:
        """Return a phase in which the view's stream stays on, once it is.

        A model without totals may have rows that contribute to totals of the model before.
        """
        on = self.deployed.stream or self.deployed.totals
        keep = on and not self.declared.has_totals
        return phase_of(table, self.declared.indexes, pending or {}, keep_totals=keep)

    def _tables(self) -> Iterator[Step]:
        own = [name for name in self.declared.sources if name not in self.deployed.imported]
        if missing := tuple(name for name in own if name not in self.deployed.tables):
            reason = "functions can read only streams that exist"
            yield AddSources(reason=reason, names=missing)

    def _view(self) -> Iterator[Step]:
        if self.deployed.indexes is None:
            yield CreateView(reason="it does not exist; a new table takes all indexes at once")
            return
        for index in self.deployed.indexes:
            if index.status in (CREATING, DELETING):
                reason = "DynamoDB creates or deletes one index of a table at a time"
                yield AwaitIndex(reason=reason, index=index.name, status=index.status)

    def _totals(self) -> Iterator[Step]:
        """Turn the stream on, and follow it: a contribution that is not followed is not counted."""
        if not self.declared.has_totals:
            return
        if self.deployed.indexes is not None and not self.deployed.stream:
            reason = "the totals function follows it"
            yield AddStream(reason=reason, phase=self._phase(self._staying()))
        if not self.deployed.totals:
            reason = "every row that contributes to a total must be counted"
            yield AddTotals(reason=reason)

    def _indexes(self) -> Iterator[Step]:
        if self.deployed.indexes is None:
            return
        table = list(self._staying())
        for name, index in self.declared.indexes.items():
            if not any(existing.name == name for existing in table):
                table.append(index)
                users = [
                    shape["name"] for shape in self.declared.patterns if shape["index"] == name
                ]
                use = f"for {', '.join(users)}" if users else "declared; no access pattern uses it"
                yield CreateIndex(
                    reason=f"{use}; CloudFormation creates one per update",
                    index=name,
                    phase=self._phase(table),
                )

    def _staying(self) -> Iterator[TableIndex]:
        return (index for index in self.deployed.indexes or () if index.status != DELETING)

    def _table_after_creation(self) -> list[TableIndex]:
        existing = list(self._staying())
        names = {index.name for index in existing}
        created = [index for name, index in self.declared.indexes.items() if name not in names]
        return existing + created

    def _pending(self) -> PendingPatterns:
        """Return the access patterns that are not ready, each with what serves it meanwhile."""
        if self._api_is_declared():
            return dict(self.deployed.pending)
        live = {name: (old, index) for name, old, index in self.deployed.live()}
        dark = set(dark_patterns(self.deployed, self.declared))
        pending: dict[str, str | None] = {}
        for shape in self.declared.patterns:
            name = shape["name"]
            if name not in live or name in dark:
                pending[name] = None
                continue
            old, index = live[name]
            if "total" in shape:
                epoch = fallback_epoch(self.deployed, self.declared, shape, old)
                if epoch != str(self.declared.totals[shape["total"]]["epoch"][0]):
                    pending[name] = epoch
            elif index != shape["index"]:
                pending[name] = fallback_index(self.deployed, self.declared, shape, index)
        return pending

    def _on_totals(self, patterns: Iterable[str]) -> tuple[str, ...]:
        """Return the totals that access patterns read."""
        names = set(patterns)
        shapes = [shape for shape in self.declared.patterns if shape["name"] in names]
        return tuple(dict.fromkeys(shape["total"] for shape in shapes if "total" in shape))

    def _api_is_declared(self) -> bool:
        api = self.deployed.api
        return api is not None and api["fingerprint"] == self.declared.fingerprint

    def _api(self, pending: PendingPatterns, phase: Phase) -> Iterator[Step]:
        before = self.deployed
        if self._api_is_declared() and dict(pending) == dict(before.pending):
            return
        declared = [shape["name"] for shape in self.declared.patterns]
        old = [shape["name"] for shape in before.api["patterns"]] if before.api else []
        live = {name for name, _, _ in before.live()}
        if pending:
            reason = "an access pattern that is not ready is rejected: its results are incomplete"
        elif before.api is None:
            reason = "it does not exist"
        else:
            reason = "no backfill is needed for it"
        on = tuple(
            name
            for name in declared
            if (name not in live or name in before.pending) and name not in pending
        )
        yield DeployApi(
            reason=reason,
            phase=phase,
            dropped=tuple(name for name in old if name not in declared),
            on=on,
            totals=self._on_totals({*on, *self._pending()} - pending.keys()),
        )

    def _code(self, unbuilt: list[str], phase: Phase) -> Iterator[Step]:
        before, model = self.deployed, self.declared.fingerprint
        if before.sync and before.sync["fingerprint"] == model == before.recovery:
            return
        known = before.sync["code"] if before.sync else {}
        gone = sorted(known.keys() - set(self.declared.sources))
        leftovers = (*(name for name in unbuilt if name in known), *gone)
        update = "changes must write new rows before old rows are backfilled"
        yield DeployCode(
            reason=update if before.sync else "they do not exist",
            phase=phase,
            unbuilt=tuple(unbuilt),
            leftovers=leftovers,
            attributes=tuple(sorted(_index_attributes(before.sync))) if before.sync else (),
        )

    def _pause(self) -> Iterator[Step]:
        """Wait for invocations of older code: they must not overwrite new rows."""
        deadline = self.deployed.busy_until
        if any(True for _ in self._code([], Phase())):
            deadline = max(deadline, self.now + self.longest if self.deployed.sync else 0.0)
        elif self.deployed.code_at is not None:
            deadline = max(deadline, self.deployed.code_at + self.longest)
        if deadline > self.now:
            reason = "invocations of the old code may still write"
            yield Wait(reason=reason, deadline=deadline, seconds=deadline - self.now)

    def _backfills(self, unbuilt: list[str]) -> Iterator[Step]:
        for source in unbuilt:
            marker = self.deployed.markers.get(source)
            if marker is None:
                reason = "no completed backfill is recorded"
            elif not marker.code:
                reason = "its rows are from two models until they are backfilled"
            else:
                reason = f"its rows were backfilled with other views, of model {marker.model}"
            yield BackfillStep(reason=reason, source=source)

    def _drops(self, table: list[TableIndex], *, api_replaced: bool) -> Iterator[Step]:
        """Drop unused indexes, after the last query of the old API has ended."""
        left = [index for index in table if index.ours]
        dropped = [index for index in left if index.name not in self.declared.indexes]
        replaced_at = self.now if api_replaced else self.deployed.api_at or 0.0
        if dropped and (wait := replaced_at + LONGEST_ANSWER - self.now) > 0:
            reason = "queries of the old indexes may still be in flight"
            yield Wait(reason=reason, deadline=self.now + wait, seconds=wait)
        for index in dropped:
            left.remove(index)
            yield DropIndex(
                reason="no access pattern uses it; CloudFormation deletes one per update",
                index=index.name,
                phase=self._phase(left),
            )

    def _sweep(self, sources: list[str]) -> Iterator[Step]:
        if sources:
            reason = "rows of an older model may remain that no view derives any more"
            yield SweepStep(reason=reason, sources=tuple(sources))

    def _dropped_tables(self) -> Iterator[Step]:
        own = set(self.declared.sources) - self.deployed.imported
        # With no own source left, the app has no Sources stack to deploy; a note says so.
        if own and (gone := tuple(sorted(self.deployed.tables - own))):
            reason = "no function reads their streams; prod retains the tables, dev deletes them"
            yield DropSources(reason=reason, names=gone)

    def _dropped_stream(self) -> Iterator[Step]:
        # The plan never deletes the Totals stack, which holds data; a note says when to do so.
        if self.deployed.stream and not self.deployed.totals and not self.declared.has_totals:
            yield DropStream(reason="no total is declared, and the Totals stack is deleted")


def _sources_to_sweep(deployed: Deployed, declared: Declared, unbuilt: list[str]) -> list[str]:
    """Return the sources that may have stale rows: rows that no view derives any more."""
    sync = deployed.sync
    owners = (sync["code"].keys() if sync else set()) | deployed.rows.sources()
    stale = {source for source, left in deployed.sweeps.items() if left is not None}
    stale |= {source for source in owners if source not in declared.sources}
    if sync is not None and sync["fingerprint"] != declared.fingerprint:
        stale |= set(unbuilt) & sync["code"].keys()
    stale |= set(_with_older_rows(deployed, declared, unbuilt))
    known = declared.sources
    return [source for source in known if source in stale] + sorted(stale - set(known))


def _may_show_stale_rows(
    deployed: Deployed, declared: Declared, pending: PendingPatterns, unbuilt: list[str]
) -> bool:
    """Return whether a new access pattern might show rows that a sweep is to delete.

    Stale rows have only the attributes that older models gave them. An index whose key has any
    other attribute holds no stale row.
    """
    older = {name for left in deployed.sweeps.values() for name in left or ()}
    if deployed.sync and deployed.sync["fingerprint"] != declared.fingerprint:
        older |= _index_attributes(deployed.sync)
    unknown = bool(_with_older_rows(deployed, declared, unbuilt))
    for shape in declared.patterns:
        if "total" in shape and shape["name"] in pending:
            return True  # a stale row contributes to its totals until it is deleted
        if pending.get(shape["name"], "ready") is None:
            index = declared.indexes.get(shape["index"] or "")
            if unknown or index is None or index.attributes.keys() <= older:
                return True
    return False


def _index_attributes(model: Description) -> frozenset[str]:
    return frozenset(
        name for index in Declared(model).indexes.values() for name in index.attributes
    )


def _with_older_rows(deployed: Deployed, declared: Declared, unbuilt: list[str]) -> list[str]:
    """Return the built sources that have rows of another model and no recorded sweep."""
    model = declared.fingerprint
    return [
        source
        for source in declared.sources
        if source not in unbuilt
        and source not in deployed.sweeps
        and deployed.markers[source].model == model
        and deployed.rows.older(source, model)
    ]
