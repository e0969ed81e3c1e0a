"""The record of the deployed model, and of the access patterns whose rows are complete.

A deployment that changes the model writes it before the API of that model is deployed. From then on
an access pattern is not ready until its rows are built, unless the model before had it too.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Final, TypeAlias

from adminview.aws.deadline import Deadline
from adminview.aws.table_description import TableIndex
from adminview.bulk.completions import (
    CompletionMarkers,
    Completions,
    Marker,
    completed_sources,
    markers,
    sweeps,
)
from adminview.bulk.lease_table import LeaseTable
from adminview.model.readiness import PATTERNS, READY, contents, kept, not_ready

Description: TypeAlias = dict[str, Any]  # of a model: `Registry.description()`

PLAN, DEPLOYMENT = "plan", "deployment"  # who builds
# The longest timeout of functions that write rows; the replay has it.
OLD_CODE_SECONDS: Final = 300.0
SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildRecord:
    """What is deployed and what is built."""

    model: str = ""  # empty: not known yet
    code: Mapping[str, str] = field(default_factory=dict)  # digests by source
    attributes: tuple[str, ...] = ()  # of the keys of its indexes
    patterns: Mapping[str, str] = field(default_factory=dict)  # contents that are complete
    since: float = 0.0  # when the model was deployed
    begins: float = 0.0  # no invocation of older code can write rows any more
    owner: str = DEPLOYMENT
    execution: str = ""  # of the state machine; empty until it is started
    stack: str = ""  # the id of the stack that recorded it

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> "BuildRecord":
        known = {member.name: facts[member.name] for member in fields(cls) if member.name in facts}
        return cls(**{**known, "attributes": tuple(facts.get("attributes", ()))})

    def facts(self) -> dict[str, Any]:
        return {**asdict(self), "attributes": list(self.attributes)}


@dataclass(frozen=True, slots=True)
class Missing:
    """What is left to build."""

    unbuilt: tuple[str, ...]  # sources to backfill
    stale: tuple[str, ...]  # sources to sweep
    patterns: tuple[str, ...]  # access patterns that are not ready, or served by an older epoch

    def __bool__(self) -> bool:
        return bool(self.unbuilt or self.stale or self.patterns)


@dataclass(frozen=True, slots=True)
class Builds:
    """The record of one view, for the code of one model."""

    table: LeaseTable
    model: Description
    now: Callable[[], float]

    @property
    def fingerprint(self) -> str:
        return str(self.model["fingerprint"])

    def read(self) -> BuildRecord:
        return BuildRecord.of(self.table.facts(READY, PATTERNS, deadline=_soon()))

    def deployed(self, owner: str | None = None, stack: str = "") -> BuildRecord:
        """Record that this model is deployed, if it is new, and who builds its rows.

        If another *stack* than the recorded one deploys it, the tables were kept when that stack
        was deleted. Changes since then are lost, so nothing counts as built.
        """
        before, completions = self.read(), self._progress.read()
        first = not (before.model or completions)
        if before.model != self.fingerprint or _is_new(stack, before):
            self._invalidate(before, completions, everything=_is_new(stack, before))

        def change(facts: dict[str, Any]) -> dict[str, Any]:
            known = BuildRecord.of(facts)
            if _is_new(stack, known):
                known = BuildRecord(owner=known.owner)
            if known.model != self.fingerprint:
                begun = self._begun(known, owner or known.owner, first=first)
                return replace(begun, stack=stack or known.stack).facts()
            facts = {**facts, "stack": stack or known.stack}
            if owner in (None, known.owner):
                return facts
            return {**facts, "owner": owner, "since": self.now(), "execution": ""}

        return BuildRecord.of(self.table.update(READY, PATTERNS, change, deadline=_soon()))

    def _begun(self, before: BuildRecord, owner: str, *, first: bool) -> BuildRecord:
        """Return the record when functions of this model begin to write."""
        now = self.now()
        return BuildRecord(
            model=self.fingerprint,
            code=self.model["code"],
            attributes=tuple(sorted(_index_attributes(self.model))),
            patterns=kept(self.model, before.patterns),
            since=now,
            begins=now if first else now + OLD_CODE_SECONDS,
            owner=owner,
        )

    def _invalidate(
        self, before: BuildRecord, completions: Completions, *, everything: bool
    ) -> None:
        """Invalidate the completions of sources that the code before may have written since."""
        code, progress = self.model["code"], self._progress
        built = markers(completions)
        older = before.code or completed_sources(completions)
        unbuilt = [
            source
            for source in code
            if everything
            or not _is_built(code[source], built.get(source))
            or before.code.get(source, code[source]) != code[source]
        ]
        gone = [source for source in older if source not in code]
        leftovers = [*(source for source in unbuilt if source in older), *gone]
        if unbuilt or leftovers:
            progress.invalidate(unbuilt, leftovers, before.attributes, model=self.fingerprint)

    def missing(self) -> Missing:
        """Return what is left to build."""
        unbuilt, stale = missing_rows(self.model, self._progress.read())
        return Missing(unbuilt, stale, tuple(self.pending(self.read())))

    def pending(self, record: BuildRecord) -> list[str]:
        """Return the access patterns whose rows, or whose declared epoch, are not complete."""
        declared = contents(self.model)
        return [name for name in declared if name in not_ready(self.model, record.patterns)]

    def started(self, execution: str) -> None:
        """Record the execution that builds this model."""
        self._change(lambda facts: {**facts, "execution": execution})

    def complete(self, patterns: Iterable[str]) -> None:
        """Record that the rows of these access patterns are complete."""
        declared = contents(self.model)
        built = {name: declared[name] for name in patterns}
        self._change(lambda facts: {**facts, PATTERNS: {**facts.get(PATTERNS, {}), **built}})

    def _change(self, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        """Change the record, unless it is of another model."""

        def checked(facts: dict[str, Any]) -> dict[str, Any]:
            return change(facts) if facts.get("model", "") in ("", self.fingerprint) else facts

        self.table.update(READY, PATTERNS, checked, deadline=_soon())

    @property
    def _progress(self) -> CompletionMarkers:
        return CompletionMarkers(self.table, self.now)


def _is_new(stack: str, record: BuildRecord) -> bool:
    return bool(stack and record.stack and stack != record.stack)


def missing_rows(
    model: Description, completions: Completions
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the sources to backfill, and those to sweep."""
    code, built = model["code"], markers(completions)
    stale = sweeps(completions, code, str(model["fingerprint"]))
    return (
        tuple(source for source in code if not _is_built(code[source], built.get(source))),
        tuple(source for source, attributes in stale.items() if attributes is not None),
    )


def _is_built(code: str, marker: Marker | None) -> bool:
    return marker is not None and marker.code == code


def _index_attributes(model: Description) -> set[str]:
    return {name for index in model["indexes"] for name in TableIndex.of(index).attributes}


def _soon() -> Deadline:
    return Deadline.after(SECONDS)
