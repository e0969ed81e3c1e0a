"""A plan, its steps, and the rollout phase that a step deploys with."""

import json
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
class Step:
    """One step of a plan. It is complete before the next one starts."""

    kind: ClassVar[str]
    wording: ClassVar[str]  # of the title, with the names of fields in braces
    stacks: ClassVar[tuple[str, ...]] = ()  # to deploy
    destroys: ClassVar[bool] = False  # something that a later step cannot bring back

    reason: str
    phase: Phase = field(default_factory=Phase)

    @property
    def title(self) -> str:
        """What the step does, as users read it."""
        texts = {field.name: getattr(self, field.name) for field in fields(self)}
        lists = {name: _listed(text) for name, text in texts.items() if isinstance(text, tuple)}
        return self.wording.format(**texts | lists)

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
    kind: ClassVar[str] = "add-sources"
    wording: ClassVar[str] = "create the tables of {names}"
    stacks: ClassVar[tuple[str, ...]] = (SOURCES,)

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateView(Step):
    kind: ClassVar[str] = "create-view"
    wording: ClassVar[str] = "create the view table with all its indexes"
    stacks: ClassVar[tuple[str, ...]] = (VIEW,)


@dataclass(frozen=True, slots=True, kw_only=True)
class AddStream(Step):
    kind: ClassVar[str] = "add-stream"
    wording: ClassVar[str] = "turn on the stream of the view table"
    stacks: ClassVar[tuple[str, ...]] = (VIEW,)


@dataclass(frozen=True, slots=True, kw_only=True)
class AddTotals(Step):
    kind: ClassVar[str] = "add-totals"
    wording: ClassVar[str] = "create the totals table and the totals function"
    stacks: ClassVar[tuple[str, ...]] = (TOTALS,)


@dataclass(frozen=True, slots=True, kw_only=True)
class DropStream(Step):
    kind: ClassVar[str] = "drop-stream"
    wording: ClassVar[str] = "turn off the stream of the view table"
    stacks: ClassVar[tuple[str, ...]] = (VIEW,)
    destroys: ClassVar[bool] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateIndex(Step):
    kind: ClassVar[str] = "create-index"
    wording: ClassVar[str] = "create index {index}, and wait until it is active"
    stacks: ClassVar[tuple[str, ...]] = (VIEW,)

    index: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AwaitIndex(Step):
    kind: ClassVar[str] = "await-index"

    index: str
    status: str

    @property
    def title(self) -> str:
        state = "deleted" if self.status == DELETING else "active"
        return f"wait until index {self.index} is {state}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmUp(Step):
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
    wording: ClassVar[str] = "deploy the views: the sync function and the repair functions"
    stacks: ClassVar[tuple[str, ...]] = (SYNC, RECOVERY)

    unbuilt: tuple[str, ...] = ()  # sources whose rows must be backfilled
    leftovers: tuple[str, ...] = ()  # sources that may have stale rows
    attributes: tuple[str, ...] = ()  # index attributes that stale rows may have


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployWatch(Step):
    kind: ClassVar[str] = "deploy-watch"
    wording: ClassVar[str] = "deploy the alarms and the dashboard"
    stacks: ClassVar[tuple[str, ...]] = (WATCH,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait(Step):
    kind: ClassVar[str] = "wait"
    wording: ClassVar[str] = "wait {seconds:.0f} seconds"

    deadline: float
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillStep(Step):
    kind: ClassVar[str] = "backfill"
    wording: ClassVar[str] = "backfill {source}"

    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DropIndex(Step):
    kind: ClassVar[str] = "drop-index"
    wording: ClassVar[str] = "drop index {index}"
    stacks: ClassVar[tuple[str, ...]] = (VIEW,)
    destroys: ClassVar[bool] = True

    index: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepStep(Step):
    """Delete rows that no item derives any more."""

    kind: ClassVar[str] = "sweep"
    wording: ClassVar[str] = "sweep the rows of {sources}"

    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DropSources(Step):
    kind: ClassVar[str] = "drop-sources"
    wording: ClassVar[str] = "remove the tables of {names} from their stack"
    stacks: ClassVar[tuple[str, ...]] = (SOURCES,)
    destroys: ClassVar[bool] = True

    names: tuple[str, ...]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)


def _short(names: Sequence[str]) -> str:
    if len(names) <= MANY:
        return _listed(names)
    return f"{_listed(names[:3])} and {len(names) - 3} more"


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
