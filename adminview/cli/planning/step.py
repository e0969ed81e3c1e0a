"""What a step of a plan is, and a plan: what each does, why, and as plain data."""

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar

from adminview.cli.planning.phases import Phase


@dataclass(frozen=True, slots=True, kw_only=True)
class Step(ABC):
    """One thing to be done, whole, before the next is begun."""

    kind: ClassVar[str]
    stacks: ClassVar[tuple[str, ...]] = ()  # that are deployed
    destroys: ClassVar[bool] = False  # something that a later step cannot bring back

    reason: str
    phase: Phase = field(default_factory=Phase)

    @property
    @abstractmethod
    def title(self) -> str:
        """Say what is done."""

    def data(self) -> dict[str, Any]:
        """Write the step as plain data."""
        own = {
            one.name: _plain(getattr(self, one.name))
            for one in fields(self)
            if one.name not in ("reason", "phase")
        }
        deployed = {"stacks": list(self.stacks), "phase": self.phase.data()} if self.stacks else {}
        return {"step": self.kind, "title": self.title, "reason": self.reason, **own, **deployed}


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done, in order; or why it cannot be."""

    steps: tuple[Step, ...] = ()
    refusals: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def destroyed(self) -> frozenset[str]:
        """Say what it does that cannot be undone."""
        return frozenset(step.title for step in self.steps if step.destroys)

    def data(self) -> dict[str, Any]:
        """Write the plan as plain data."""
        return asdict(self) | {"steps": [step.data() for step in self.steps]}


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
