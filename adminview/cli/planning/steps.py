"""The steps that there are: what each does, and to what."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from adminview.aws.table_description import DELETING
from adminview.cli.deployment.stacks import API, RECOVERY, SOURCES, SYNC, VIEW, WATCH
from adminview.cli.planning.step import Step

MANY = 5  # names in a title, at most


@dataclass(frozen=True, slots=True, kw_only=True)
class AddSources(Step):
    """Create tables of sources, with their streams."""

    kind: ClassVar[str] = "add-sources"
    stacks: ClassVar[tuple[str, ...]] = (SOURCES,)

    names: tuple[str, ...]

    @property
    def title(self) -> str:
        """Say what is done."""
        return f"create the tables of {_listed(self.names)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateView(Step):
    """Create the view's table with all its indexes."""

    kind: ClassVar[str] = "create-view"
    stacks: ClassVar[tuple[str, ...]] = (VIEW,)

    @property
    def title(self) -> str:
        """Say what is done."""
        return "create the view's table with all its indexes"


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateIndex(Step):
    """Create one index beside the others, and wait until it is active."""

    kind: ClassVar[str] = "create-index"
    stacks: ClassVar[tuple[str, ...]] = (VIEW,)

    index: str

    @property
    def title(self) -> str:
        """Say what is done."""
        return f"create index {self.index}, and wait until it is active"


@dataclass(frozen=True, slots=True, kw_only=True)
class AwaitIndex(Step):
    """Wait until an index is there, or is gone."""

    kind: ClassVar[str] = "await-index"

    index: str
    status: str

    @property
    def title(self) -> str:
        """Say what is done."""
        becomes = "gone" if self.status == DELETING else "active"
        return f"wait until index {self.index} is {becomes}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployQuestions(Step):
    """Put the declared questions behind the API; those that its wave names are being built."""

    kind: ClassVar[str] = "deploy-questions"
    stacks: ClassVar[tuple[str, ...]] = (API,)

    dropped: tuple[str, ...] = ()  # questions that end with it
    on: tuple[str, ...] = ()  # questions that are switched on with it

    @property
    def title(self) -> str:
        """Say what is done."""
        refused = [
            name for name, fallback_index in self.phase.pending.items() if fallback_index is None
        ]
        moving = [f"{name} on {index}" for name, index in self.phase.pending.items() if index]
        said = [
            f"switch on {_short(self.on)}" if self.on else "",
            f"refuse {_short(refused)} as being built" if refused else "",
            f"leave {_short(moving)} meanwhile" if moving else "",
            f"end {_short(self.dropped)}" if self.dropped else "",
        ]
        return f"deploy the API: {'; '.join(filter(None, said)) or 'the questions as declared'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployCode(Step):
    """Put the declared views behind every function that writes rows."""

    kind: ClassVar[str] = "deploy-code"
    stacks: ClassVar[tuple[str, ...]] = (SYNC, RECOVERY)

    unbuilt: tuple[str, ...] = ()  # sources whose rows are from now on of two kinds
    leftovers: tuple[str, ...] = ()  # sources that may have rows nobody derives any more
    attributes: tuple[str, ...] = ()  # that such rows may have in indexes

    @property
    def title(self) -> str:
        """Say what is done."""
        return "deploy the views: the sync function, and those that repair"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployWatch(Step):
    """Put alarms and a dashboard on all that is declared."""

    kind: ClassVar[str] = "deploy-watch"
    stacks: ClassVar[tuple[str, ...]] = (WATCH,)

    @property
    def title(self) -> str:
        """Say what is done."""
        return "deploy the alarms and the dashboard"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait(Step):
    """Let a moment pass."""

    kind: ClassVar[str] = "wait"

    deadline: float
    seconds: float

    @property
    def title(self) -> str:
        """Say what is done."""
        return f"wait {self.seconds:.0f} seconds"


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillStep(Step):
    """Derive all rows of a source anew."""

    kind: ClassVar[str] = "backfill"

    source: str

    @property
    def title(self) -> str:
        """Say what is done."""
        return f"backfill {self.source}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DropIndex(Step):
    """Delete one index, and wait until it is gone."""

    kind: ClassVar[str] = "drop-index"
    stacks: ClassVar[tuple[str, ...]] = (VIEW,)
    destroys: ClassVar[bool] = True

    index: str

    @property
    def title(self) -> str:
        """Say what is done."""
        return f"drop index {self.index}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepStep(Step):
    """Remove rows that no item derives any more."""

    kind: ClassVar[str] = "sweep"

    sources: tuple[str, ...]

    @property
    def title(self) -> str:
        """Say what is done."""
        return f"sweep the rows of {_listed(self.sources)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DropSources(Step):
    """Take the tables of sources out of their stack."""

    kind: ClassVar[str] = "drop-sources"
    stacks: ClassVar[tuple[str, ...]] = (SOURCES,)
    destroys: ClassVar[bool] = True

    names: tuple[str, ...]

    @property
    def title(self) -> str:
        """Say what is done."""
        return f"let go of the tables of {_listed(self.names)}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)


def _short(names: Sequence[str]) -> str:
    """List names; if they are many, the first ones."""
    return (
        _listed(names) if len(names) <= MANY else f"{_listed(names[:3])} and {len(names) - 3} more"
    )
