"""The way from a process to AWS: where it may pause, fail or die."""

from collections.abc import Callable
from typing import Any, TypeVar

from botocore.exceptions import ConnectTimeoutError, ReadTimeoutError

from lambdas.aws.runtime import LONGEST_CALL
from tests.fakes import refusal
from tests.simulator.choices import Choices
from tests.simulator.faults import COMMON, Fault, Faults
from tests.simulator.fibers import START, Fibers

Answer = TypeVar("Answer")

CALL_SECONDS = 0.02
STALLS = (4.0, 35.0, 100.0)  # seconds, of one call or of what stands for many that failed
HANGS = (4.0, 35.0, 200.0)  # seconds, of a worker after a call
OWN_SHARE = 4  # a call's own faults come as often as so many others
ENDPOINT = "http://127.0.0.1"
LEASED = "bulk"  # how the names of those begin whose calls are known to take effect soon or never


class Calls:
    """All calls of a history, one by one."""

    def __init__(self, fibers: Fibers, choices: Choices, faults: Faults) -> None:
        self.fibers = fibers
        self.choices = choices
        self.faults = faults
        self.made = 0
        self.trace: list[str] | None = None

    def make(
        self,
        name: str,
        effect: Callable[[Fault | None], Answer],
        *more: Fault,
    ) -> Answer:
        """Make a call to AWS; *effect* is told of those faults that only it can play."""
        return self._make(name, effect, (*COMMON, *more * OWN_SHARE))

    def step(self, name: str, effect: Callable[[Fault | None], Answer]) -> Answer:
        """Do what cannot fail by itself; whoever does it can still be stalled or killed."""
        return self._make(name, effect, (Fault.SLOW, Fault.KILLED, Fault.KILLED_AFTER))

    def _make(
        self, name: str, effect: Callable[[Fault | None], Answer], possible: tuple[Fault, ...]
    ) -> Answer:
        begun = self.fibers.now
        self.fibers.pause()
        self.made += 1
        self.fibers.now += CALL_SECONDS
        fault = self.faults.draw(self.fibers.current.name, possible)
        if fault is not None:
            self.tell(f"{name}: {fault}")
            self._fail_before(fault, name)
        self._lose_if_late(begun, name)
        answer = effect(fault)
        if fault in (None, Fault.SLOW):
            self.tell(f"{name}{' at last' * (fault is Fault.SLOW)}{_shown(answer)}")
        if fault is not None:
            self._fail_after(fault)
        return answer

    def tell(self, event: str) -> None:
        """Keep a line of the history, if anybody will read it."""
        if self.trace is not None:
            passed = self.fibers.now - START
            self.trace.append(f"{passed:8.2f}  {self.fibers.current.name:<12} {event}")

    def _fail_before(self, fault: Fault, name: str) -> None:
        operation = name.partition(" ")[0]
        match fault:
            case Fault.THROTTLED:
                raise refusal("ThrottlingException", operation)
            case Fault.BROKEN:
                raise refusal("InternalServerError", operation, 500)
            case Fault.DENIED:
                raise refusal("AccessDeniedException", operation)
            case Fault.UNREACHED:
                raise ConnectTimeoutError(endpoint_url=ENDPOINT)
            case Fault.SLOW:
                self.fibers.sleep(STALLS[0] if self._leased else self.choices.pick(STALLS))
            case Fault.KILLED:
                self.fibers.kill()

    def _fail_after(self, fault: Fault) -> None:
        match fault:
            case Fault.UNANSWERED:
                raise ReadTimeoutError(endpoint_url=ENDPOINT)
            case Fault.SLOW if self._leased:  # who made it is suspended, and then goes on
                self.fibers.sleep(self.choices.pick(HANGS))
            case Fault.KILLED_AFTER:
                self.fibers.kill()

    @property
    def _leased(self) -> bool:
        return self.fibers.current.name.startswith(LEASED)

    def _lose_if_late(self, begun: float, name: str) -> None:
        if self._leased and self.fibers.now - begun > LONGEST_CALL:
            self.tell(f"{name}: given up, it took too long")
            raise ReadTimeoutError(endpoint_url=ENDPOINT)


def _shown(answer: Any) -> str:
    return f" -> {answer['shown']}" if isinstance(answer, dict) and answer.get("shown") else ""
