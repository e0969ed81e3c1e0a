"""A plan, its steps, and the rollout phase that a step deploys with."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

from adminview.aws.table_description import DELETING, TableIndex
from adminview.cli.deployment.facts import PendingPatterns
from adminview.cli.deployment.stacks import API, RECOVERY, SOURCES, SYNC, TOTALS, VIEW, WATCH

MANY = 5  # names in a title, at most


@dataclass(frozen=True, slots=True)
class Phase:
    """How a deployment in the middle of a plan differs from the declared model."""

    keep: tuple[TableIndex, ...] = ()  # indexes that still exist and are no longer declared
    without: tuple[str, ...] = ()  # declared indexes that are not created yet
    pending: PendingPatterns = field(default_factory=dict)
    keep_totals: bool = False  # the view's stream and the Totals stack, with no total declared

    def data(self) -> dict[str, Any]:
        """Return the JSON object that the CDK app reads."""
        return {
            "keep": [index.shape() for index in self.keep],
            "without": list(self.without),
            "pending": dict(self.pending),
            **({"keepTotals": True} if self.keep_totals else {}),
        }

    def indexes(self, declared: Mapping[str, TableIndex]) -> dict[str, TableIndex]:
        """Return the indexes of the table after a deployment in this phase."""
        created = {name: index for name, index in declared.items() if name not in self.without}
        return created | {index.name: index for index in self.keep}

    @contextmanager
    def file(self) -> Iterator[Path]:
        """Write the phase to a temporary file, and delete it on exit."""
        with TemporaryDirectory(prefix="adminview-") as folder:
            path = Path(folder, "rollout_phase.json")
            path.write_text(json.dumps(self.data(), indent=2), encoding="utf-8")
            yield path


def phase_of(
    table: Iterable[TableIndex],
    declared: Mapping[str, TableIndex],
    pending: PendingPatterns,
    *,
    keep_totals: bool = False,
) -> Phase:
    """Return how the indexes of *table* differ from the declared ones."""
    existing = {index.name: index for index in table if index.ours}
    return Phase(
        tuple(index for name, index in existing.items() if name not in declared),
        tuple(name for name, index in declared.items() if name not in existing and not index.local),
        pending,
        keep_totals,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Step(ABC):
    """One step of a plan. It is complete before the next one starts."""

    kind: ClassVar[str]
    stacks: ClassVar[tuple[str, ...]] = ()  # to deploy
    destroys: ClassVar[bool] = False  # something that a later step cannot bring back

    reason: str
    phase: Phase = field(default_factory=Phase)

    @property
    @abstractmethod
    def title(self) -> str:
        """What the step does, as users read it."""

    def data(self) -> dict[str, Any]:
        """Return the step as JSON data."""
        own = {
            attribute.name: _plain(getattr(self, attribute.name))
            for attribute in fields(self)
            if attribute.name not in ("reason", "phase")
        }
        deployed = {"stacks": list(self.stacks), "phase": self.phase.data()} if self.stacks else {}
        return {"step": self.kind, "title": self.title, "reason": self.reason, **own, **deployed}


@dataclass(frozen=True, slots=True)
class Plan:
    """The steps in order, or the reasons why there are none."""

    steps: tuple[Step, ...] = ()
    refusals: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def destroyed(self) -> frozenset[str]:
        """The titles of the steps that cannot be undone."""
        return frozenset(step.title for step in self.steps if step.destroys)

    def data(self) -> dict[str, Any]:
        """Return the plan as JSON data."""
        return asdict(self) | {"steps": [step.data() for step in self.steps]}


@dataclass(frozen=True, slots=True, kw_only=True)
class AddSources(Step):
    """Create the tables of new sources, with their streams."""

    kind: ClassVar[str] = "add-sources"
    stacks: ClassVar[tuple[str, ...]] = (SOURCES,)

    names: tuple[str, ...]

    @property
    def title(self) -> str:
        return f"create the tables of {_listed(self.names)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateView(Step):
    """Create the view table with all its indexes."""

    kind: ClassVar[str] = "create-view"
    stacks: ClassVar[tuple[str, ...]] = (VIEW,)

    @property
    def title(self) -> str:
        return "create the view table with all its indexes"


@dataclass(frozen=True, slots=True, kw_only=True)
class AddStream(Step):
    """Turn on the stream of the view table, which the totals function follows."""

    kind: ClassVar[str] = "add-stream"
    stacks: ClassVar[tuple[str, ...]] = (VIEW,)

    @property
    def title(self) -> str:
        return "turn on the stream of the view table"


@dataclass(frozen=True, slots=True, kw_only=True)
class AddTotals(Step):
    """Create the totals table, and the function that follows the view's stream."""

    kind: ClassVar[str] = "add-totals"
    stacks: ClassVar[tuple[str, ...]] = (TOTALS,)

    @property
    def title(self) -> str:
        return "create the totals table and the totals function"


@dataclass(frozen=True, slots=True, kw_only=True)
class DropStream(Step):
    """Turn off the stream of the view table, which no totals function follows any more."""

    kind: ClassVar[str] = "drop-stream"
    stacks: ClassVar[tuple[str, ...]] = (VIEW,)
    destroys: ClassVar[bool] = True

    @property
    def title(self) -> str:
        return "turn off the stream of the view table"


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateIndex(Step):
    """Create one index, and wait until it is active."""

    kind: ClassVar[str] = "create-index"
    stacks: ClassVar[tuple[str, ...]] = (VIEW,)

    index: str

    @property
    def title(self) -> str:
        return f"create index {self.index}, and wait until it is active"


@dataclass(frozen=True, slots=True, kw_only=True)
class AwaitIndex(Step):
    """Wait until an index is active, or until it is deleted."""

    kind: ClassVar[str] = "await-index"

    index: str
    status: str

    @property
    def title(self) -> str:
        state = "deleted" if self.status == DELETING else "active"
        return f"wait until index {self.index} is {state}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmUp(Step):
    """Raise the warm throughput of the view table and its indexes, and wait until it is."""

    kind: ClassVar[str] = "warm-up"

    units: int  # write units per second
    table: bool
    indexes: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        parts = [*(["the view table"] if self.table else []), *self.indexes]
        return f"raise the warm throughput of {_short(parts)} to {self.units:,} write units"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployApi(Step):
    """Deploy the API with the declared access patterns; `phase.pending` are not ready."""

    kind: ClassVar[str] = "deploy-api"
    stacks: ClassVar[tuple[str, ...]] = (API,)

    dropped: tuple[str, ...] = ()  # access patterns that are removed
    on: tuple[str, ...] = ()  # access patterns that become ready
    totals: tuple[str, ...] = ()  # that must include all rows before

    @property
    def title(self) -> str:
        refused = [name for name, older in self.phase.pending.items() if older is None]
        moving = [
            f"{name} on {f'epoch {older}' if older.isdecimal() else older}"
            for name, older in self.phase.pending.items()
            if older
        ]
        caught_up = f", when {_short(self.totals)} includes all rows" if self.totals else ""
        changes = [
            f"switch on {_short(self.on)}{caught_up}" if self.on else "",
            f"refuse {_short(refused)} until backfilled" if refused else "",
            f"keep {_short(moving)} until then" if moving else "",
            f"remove {_short(self.dropped)}" if self.dropped else "",
        ]
        summary = "; ".join(filter(None, changes)) or "the access patterns as declared"
        return f"deploy the API: {summary}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployCode(Step):
    """Deploy the declared views to every function that writes rows."""

    kind: ClassVar[str] = "deploy-code"
    stacks: ClassVar[tuple[str, ...]] = (SYNC, RECOVERY)

    unbuilt: tuple[str, ...] = ()  # sources whose rows must be backfilled
    leftovers: tuple[str, ...] = ()  # sources that may have stale rows
    attributes: tuple[str, ...] = ()  # index attributes that stale rows may have

    @property
    def title(self) -> str:
        return "deploy the views: the sync function and the repair functions"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployWatch(Step):
    """Deploy the alarms and the dashboard."""

    kind: ClassVar[str] = "deploy-watch"
    stacks: ClassVar[tuple[str, ...]] = (WATCH,)

    @property
    def title(self) -> str:
        return "deploy the alarms and the dashboard"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait(Step):
    """Wait until a point in time."""

    kind: ClassVar[str] = "wait"

    deadline: float
    seconds: float

    @property
    def title(self) -> str:
        return f"wait {self.seconds:.0f} seconds"


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillStep(Step):
    """Derive all rows of a source again."""

    kind: ClassVar[str] = "backfill"

    source: str

    @property
    def title(self) -> str:
        return f"backfill {self.source}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DropIndex(Step):
    """Delete one index, and wait until it is deleted."""

    kind: ClassVar[str] = "drop-index"
    stacks: ClassVar[tuple[str, ...]] = (VIEW,)
    destroys: ClassVar[bool] = True

    index: str

    @property
    def title(self) -> str:
        return f"drop index {self.index}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepStep(Step):
    """Delete rows that no item derives any more."""

    kind: ClassVar[str] = "sweep"

    sources: tuple[str, ...]

    @property
    def title(self) -> str:
        return f"sweep the rows of {_listed(self.sources)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DropSources(Step):
    """Remove the tables of dropped sources from the Sources stack."""

    kind: ClassVar[str] = "drop-sources"
    stacks: ClassVar[tuple[str, ...]] = (SOURCES,)
    destroys: ClassVar[bool] = True

    names: tuple[str, ...]

    @property
    def title(self) -> str:
        return f"remove the tables of {_listed(self.names)} from their stack"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)


def _short(names: Sequence[str]) -> str:
    if len(names) <= MANY:
        return _listed(names)
    return f"{_listed(names[:3])} and {len(names) - 3} more"


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
