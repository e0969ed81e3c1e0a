"""The calls of a process to AWS: at each, it may pause, fail or die."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn, TypeVar

from botocore.exceptions import ClientError, ConnectTimeoutError, ReadTimeoutError

from adminview.aws.deadline import LONGEST_CALL, READ_SECONDS
from tests.simulator.choices import Choices
from tests.simulator.faults import COMMON, LATE, Fault, Faults
from tests.simulator.fibers import START, Fibers
from tests.support.fakes import refusal

Response = TypeVar("Response")

CALL_SECONDS = 0.02
STALLS = (4.0, 35.0, 100.0)  # seconds, of one call or of many that failed
HANGS = (4.0, 35.0, 200.0)  # seconds that a worker hangs after a call
OWN_SHARE = 4  # an operation's own faults are this much more frequent than the others
ENDPOINT = "http://127.0.0.1"
LATE_BY = (0.0, 1.0, 20.0, 100.0, 250.0)  # seconds between the timeout of a call and its effect
SIGNED_SECONDS = 300.0  # AWS refuses a request whose signature is older
# A process may be killed before it has sent its in-doubt dead letters. If neither a dead letter nor
# an intent record survives it, nothing reports the call: DESIGN.md states that limit.
FORGETFUL = ("sync", "operator")
LEASED = "bulk"  # prefix of the fibers whose calls take effect soon or never


class Calls:
    """All calls of a history, one by one."""

    forgets = True  # late calls of a killed function never arrive: see FORGETFUL

    def __init__(self, fibers: Fibers, choices: Choices, faults: Faults) -> None:
        self.fibers = fibers
        self.choices = choices
        self.faults = faults
        self.count = 0
        self.trace: list[str] | None = None

    def make(
        self,
        name: str,
        effect: Callable[[Fault | None], Response],
        *more: Fault,
    ) -> Response:
        """Make a call to AWS; *effect* is called with the faults that only it can simulate."""
        return self._make(name, effect, (*COMMON, *more * OWN_SHARE))

    def step(self, name: str, effect: Callable[[Fault | None], Response]) -> Response:
        """Run a step that cannot fail by itself; its process can still be stalled or killed."""
        return self._make(name, effect, (Fault.SLOW, Fault.KILLED, Fault.KILLED_AFTER))

    def _make(
        self, name: str, effect: Callable[[Fault | None], Response], possible: tuple[Fault, ...]
    ) -> Response:
        begun = self.fibers.now
        self.fibers.pause()
        self.count += 1
        self.fibers.now += CALL_SECONDS
        fault = self.faults.draw(self.fibers.current.name, possible)
        if fault is not None:
            self.log_event(f"{name}: {fault}")
            if fault in LATE:
                self._arrive_late(name, effect, fault)
            self._fail_before(fault, name)
        self._lose_if_late(begun, name)
        answer = effect(fault)
        if fault in (None, Fault.SLOW):
            self.log_event(f"{name}{' at last' * (fault is Fault.SLOW)}{_shown(answer)}")
        if fault is not None:
            self._fail_after(fault)
        return answer

    def _arrive_late(
        self, name: str, effect: Callable[[Fault | None], object], fault: Fault
    ) -> NoReturn:
        """Let a call time out, or its caller die, and take effect later."""
        caller = self.fibers.current
        root, invocation, sent = caller.root, caller.root.invocations, self.fibers.now

        def arrive() -> None:
            self.fibers.sleep(later)
            if self.fibers.now > sent + SIGNED_SECONDS:
                return
            if self.forgets and invocation in root.killed and caller.name.startswith(FORGETFUL):
                return
            self.log_event(f"{name} arrives")
            with suppress(ClientError):
                effect(None)

        later = READ_SECONDS + self.choices.pick(LATE_BY)
        self.fibers.spawn("network", arrive)
        if fault is Fault.ABANDONED:
            self.fibers.kill()
        self.fibers.sleep(READ_SECONDS)
        raise ReadTimeoutError(endpoint_url=ENDPOINT)

    def log_event(self, event: str) -> None:
        """Add a line to the trace, if there is one."""
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
            case Fault.SLOW if self._leased:  # the worker is suspended, and continues later
                self.fibers.sleep(self.choices.pick(HANGS))
            case Fault.KILLED_AFTER:
                self.fibers.kill()

    @property
    def _leased(self) -> bool:
        return self.fibers.current.name.startswith(LEASED)

    def _lose_if_late(self, begun: float, name: str) -> None:
        if self._leased and self.fibers.now - begun > LONGEST_CALL:
            self.log_event(f"{name}: given up, it took too long")
            raise ReadTimeoutError(endpoint_url=ENDPOINT)


def _shown(answer: Any) -> str:
    return f" -> {answer['shown']}" if isinstance(answer, dict) and answer.get("shown") else ""
